// SPDX-License-Identifier: Apache-2.0
//
// Whether the agent's own DaemonSet is there, gone or going. It is watched from the start, because an uninstall
// takes the agent's permissions away right after the DaemonSet: what was seen on an open watch is known, what
// would be asked later is refused. Only an answer counts; silence never means "gone".
package main

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

var (
	daemonSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	nodes      = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// daemonSet follows one DaemonSet. leaving is closed, once, when the API said that it is gone or going.
type daemonSet struct {
	client          dynamic.Interface
	namespace, name string
	log             *log.Logger
	retry           time.Duration

	mutex   sync.Mutex
	uid     types.UID
	nodes   map[string]string // its newest node selector
	why     string
	leaving chan struct{}
}

func newDaemonSet(client dynamic.Interface, namespace, name string, retry time.Duration, log *log.Logger) *daemonSet {
	return &daemonSet{client: client, namespace: namespace, name: name, retry: retry, log: log, leaving: make(chan struct{})}
}

// follow watches until ctx ends, listing again after every break: what was missed in between shows there.
func (d *daemonSet) follow(ctx context.Context) {
	said := ""
	for ctx.Err() == nil {
		err := d.watchOnce(ctx)
		if text := fmt.Sprint(err); err != nil && ctx.Err() == nil && text != said {
			d.log.Printf("DaemonSet %s/%s: cannot be watched: %v; trying again", d.namespace, d.name, err)
			said = text
		}
		select {
		case <-ctx.Done():
		case <-time.After(d.retry):
		}
	}
}

func (d *daemonSet) watchOnce(ctx context.Context) error {
	// The field selector is what makes a role limited to this one name sufficient for list and watch.
	mine := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", d.name).String()}
	resource := d.client.Resource(daemonSets).Namespace(d.namespace)
	list, err := resource.List(ctx, mine)
	if err != nil {
		return err
	}
	found := false
	for i := range list.Items {
		found = d.saw(&list.Items[i]) || found
	}
	if !found {
		d.gone("is not in the list of the API server")
	}
	mine.ResourceVersion = list.GetResourceVersion()
	events, err := resource.Watch(ctx, mine)
	if err != nil {
		return err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		switch {
		case event.Type == watch.Error:
			return apierrors.FromObject(event.Object)
		case !ok || object.GetName() != d.name:
		case event.Type == watch.Deleted:
			d.gone("was deleted")
		default:
			d.saw(object)
		}
	}
	return nil
}

// saw takes in one version of an object and tells whether it is the DaemonSet. One of the same name with another
// UID is a new installation: the one this pod belongs to is gone.
func (d *daemonSet) saw(object *unstructured.Unstructured) bool {
	if object.GetName() != d.name {
		return false
	}
	d.mutex.Lock()
	if d.uid == "" {
		d.uid = object.GetUID()
	}
	if selector, found, _ := unstructured.NestedStringMap(object.Object, "spec", "template", "spec", "nodeSelector"); found {
		d.nodes = selector
	}
	replaced := d.uid != object.GetUID()
	d.mutex.Unlock()
	switch {
	case replaced:
		d.gone("was replaced by a new one of the same name")
	case object.GetDeletionTimestamp() != nil:
		d.gone("is being deleted")
	}
	return true
}

func (d *daemonSet) gone(why string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.why == "" {
		d.why = why
		close(d.leaving)
	}
}

// isAbsence tells an API server's "this object does not exist" from any other 404 (a proxy's page, a server that
// does not know the resource): only the former names the object.
func isAbsence(err error, name string) bool {
	status, ok := err.(apierrors.APIStatus)
	return ok && apierrors.IsNotFound(err) && status.Status().Details != nil && status.Status().Details.Name == name
}
