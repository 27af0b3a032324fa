// SPDX-License-Identifier: Apache-2.0
//
// What the API says of this node and its pods, kept by informers: they list and watch, and try again by themselves.
// Of each object only what is used is kept. While the API is down the last known stays.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// seen is what is kept of a pod or of the node: its identity, the annotations that are ours, a pod's phase.
type seen struct {
	metav1.ObjectMeta
	phase string
}

func (s *seen) ended() bool { return s.phase == "Succeeded" || s.phase == "Failed" }

func (s *seen) same(other *seen) bool {
	return s.UID == other.UID && s.phase == other.phase && maps.Equal(s.Annotations, other.Annotations)
}

// mirror has one informer for each kind and a channel that tells of changes.
type mirror struct {
	node, pods               cache.SharedInformer
	nodeChanged, podsChanged chan struct{}
	nodeName                 string
}

func newMirror(client dynamic.Interface, node string, log *log.Logger) *mirror {
	m := &mirror{nodeName: node, nodeChanged: make(chan struct{}, 1), podsChanged: make(chan struct{}, 1)}
	m.node = informer(client.Resource(nodes), fields.OneTermEqualSelector("metadata.name", node),
		m.nodeChanged, &sayer{log: log}, fmt.Sprintf("node %s: cannot be watched", node), faultsAnnotation)
	m.pods = informer(client.Resource(pods), fields.OneTermEqualSelector("spec.nodeName", node),
		m.podsChanged, &sayer{log: log}, fmt.Sprintf("pods of node %s: cannot be watched, their annotations are not seen", node),
		memoryAnnotation, utilizationAnnotation)
	return m
}

func (m *mirror) follow(ctx context.Context) {
	// Without a log of their own: what fails comes to the error handler, once.
	quiet := klog.NewContext(ctx, klog.Logger{})
	go m.node.RunWithContext(quiet)
	go m.pods.RunWithContext(quiet)
}

// thisNode is nil until the API has told of it.
func (m *mirror) thisNode() *seen { return get(m.node, m.nodeName) }

// pod is nil where the API does not know it, or nothing is known yet.
func (m *mirror) pod(namespace, name string) *seen { return get(m.pods, namespace+"/"+name) }

func get(from cache.SharedInformer, key string) *seen {
	object, there, err := from.GetStore().GetByKey(key)
	if err != nil || !there {
		return nil
	}
	found, _ := object.(*seen)
	return found
}

func informer(resource dynamic.ResourceInterface, which fields.Selector, changed chan struct{}, say *sayer, problem string, annotations ...string) cache.SharedInformer {
	mine := func(o metav1.ListOptions) metav1.ListOptions { o.FieldSelector = which.String(); return o }
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, mine(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, mine(o))
		},
	}
	informer := cache.NewSharedInformer(source, &unstructured.Unstructured{}, 0)
	// Both fail only on an informer that runs already.
	_ = informer.SetTransform(func(object any) (any, error) { return keep(object, annotations), nil })
	_ = informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		// These end every watch sooner or later.
		if !errors.Is(err, io.EOF) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			say.problem(fmt.Sprintf("%s: %v; trying again", problem, err))
		}
	})
	tell := func() {
		say.fine()
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { tell() },
		UpdateFunc: func(before, after any) {
			a, known := before.(*seen)
			b, good := after.(*seen)
			if !known || !good || !a.same(b) {
				tell()
			}
		},
		DeleteFunc: func(any) { tell() },
	})
	return informer
}

// keep is called again on what it gave, and on the marks of objects whose deletion was missed.
func keep(object any, annotations []string) any {
	full, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object
	}
	kept := &seen{ObjectMeta: metav1.ObjectMeta{Namespace: full.GetNamespace(), Name: full.GetName(),
		UID: full.GetUID(), ResourceVersion: full.GetResourceVersion(), Annotations: map[string]string{}}}
	for _, key := range annotations {
		if text, there := full.GetAnnotations()[key]; there {
			kept.Annotations[key] = text
		}
	}
	kept.phase, _, _ = unstructured.NestedString(full.Object, "status", "phase")
	return kept
}
