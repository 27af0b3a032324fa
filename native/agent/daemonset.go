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

// patience bounds the questions asked when the pod is told to end.
type patience struct{ answer, news time.Duration }

// leftForGood answers the question of SIGTERM: has the release left, and how is that known. When the watch has
// said nothing yet the API is asked; when it refuses, the watch gets a moment more, since the news of a deletion
// may be on its way while the permissions are gone already.
func (d *daemonSet) leftForGood(ctx context.Context, wait patience) (bool, string) {
	asked := "the DaemonSet is there"
	if !d.left() {
		answer, cancel := context.WithTimeout(ctx, wait.answer)
		defer cancel()
		if err := d.ask(answer); err != nil {
			asked = fmt.Sprintf("no answer from the API: %v", err)
			select {
			case <-d.leaving:
			case <-time.After(wait.news):
			}
		}
	}
	if !d.left() {
		return false, asked
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return true, fmt.Sprintf("DaemonSet %s/%s %s", d.namespace, d.name, d.why)
}

func (d *daemonSet) left() bool {
	select {
	case <-d.leaving:
		return true
	default:
		return false
	}
}

// ask gets the DaemonSet and, when it is there, its namespace: deleting a namespace ends the pods first and the
// DaemonSet after them. A refusal to show the namespace only costs that one case.
func (d *daemonSet) ask(ctx context.Context) error {
	object, err := d.client.Resource(daemonSets).Namespace(d.namespace).Get(ctx, d.name, metav1.GetOptions{})
	if err != nil {
		if isAbsence(err, d.name) {
			d.gone("does not exist")
			return nil
		}
		return err
	}
	d.saw(object)
	namespace, err := d.client.Resource(namespaces).Get(ctx, d.namespace, metav1.GetOptions{})
	if err == nil && namespace.GetDeletionTimestamp() != nil {
		d.gone("is in a namespace that is being deleted")
	}
	return nil
}

// isAbsence tells an API server's "this object does not exist" from any other 404 (a proxy's page, a server that
// does not know the resource): only the former names the object.
func isAbsence(err error, name string) bool {
	status, ok := err.(apierrors.APIStatus)
	return ok && apierrors.IsNotFound(err) && status.Status().Details != nil && status.Status().Details.Name == name
}
