// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

func TestNodeIsKeptWhileTheDaemonSetIsThere(t *testing.T) {
	r := start(t, api(aDaemonSet("1"), aNode()))
	r.mustKeep(t, "the DaemonSet is there")
	if isLocked(t, r.root) {
		t.Error("the lock outlived the agent")
	}
}

// The order of an uninstall: DaemonSet deleted, permissions gone, pod told to end.
func TestDeletionThatWasWatchedIsKnownWhenTheAPIRefusesLater(t *testing.T) {
	client := api(aDaemonSet("1"))
	r := start(t, client)
	waitUntil(t, "the watch is open", watched(client))
	if err := client.Resource(daemonSets).Namespace("gpus").Delete(context.Background(), "mock", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	refuse(client, forbidden, "get", "list", "watch")
	r.mustClean(t, "DaemonSet gpus/mock was deleted")
}

func TestDeletionInProgressCounts(t *testing.T) {
	start(t, api(leaving(aDaemonSet("1")))).mustClean(t, "is being deleted")
}

func TestDaemonSetThatIsNotThereCounts(t *testing.T) {
	client := api()
	refuse(client, forbidden, "list", "watch")
	start(t, client).mustClean(t, "does not exist")
}

func TestReinstallationUnderTheSameNameCounts(t *testing.T) {
	client := api(aDaemonSet("1"))
	r := start(t, client)
	waitUntil(t, "the watch is open", watched(client))
	refuse(client, forbidden, "list", "watch")
	if err := client.Tracker().Update(daemonSets, aDaemonSet("2"), "gpus"); err != nil {
		t.Fatal(err)
	}
	r.mustClean(t, "was replaced by a new one of the same name")
}

func TestNamespaceInDeletionCounts(t *testing.T) {
	client := api(aDaemonSet("1"), leaving(object("v1", "Namespace", "", "gpus", "9")))
	start(t, client).mustClean(t, "in a namespace that is being deleted")
}

func TestNoAnswerKeepsTheNode(t *testing.T) {
	elsewhere := apierrors.NewGenericServerResponse(404, "get", daemonSets.GroupResource(), "", "404 page not found", 0, true)
	for name, err := range map[string]error{
		"connection refused": errors.New("connection refused"),
		"no role":            forbidden,
		"token expired":      apierrors.NewUnauthorized("token expired"),
		"404":                elsewhere,
	} {
		client := api(aDaemonSet("1"))
		refuse(client, err, "get", "list", "watch")
		t.Run(name, func(t *testing.T) { start(t, client).mustKeep(t, "no answer from the API") })
	}
}

func TestNewsThatComesWhileTheAPIRefusesIsWaitedFor(t *testing.T) {
	client := api(aDaemonSet("1"))
	r := start(t, client)
	waitUntil(t, "the watch is open", watched(client))
	client.Lock()
	client.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		go func() {
			time.Sleep(30 * time.Millisecond)
			_ = client.Tracker().Delete(daemonSets, "gpus", "mock")
		}()
		return true, nil, forbidden
	})
	client.Unlock()
	r.mustClean(t, "was deleted")
}

// A watch that breaks is opened again, and the listing in between shows what was missed.
func TestDeletionDuringABrokenWatchIsSeen(t *testing.T) {
	client := api(aDaemonSet("1"))
	broken := make(chan struct{})
	client.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
		select {
		case <-broken:
			return false, nil, nil
		default:
			return true, nil, errors.New("connection reset")
		}
	})
	r := start(t, client)
	waitUntil(t, "the watch was tried", watched(client))
	if err := client.Tracker().Delete(daemonSets, "gpus", "mock"); err != nil {
		t.Fatal(err)
	}
	close(broken)
	refuse(client, forbidden, "get")
	r.mustClean(t, "is not in the list of the API server")
}

func labelledNode(labels map[string]string) *unstructured.Unstructured {
	o := aNode()
	o.SetLabels(labels)
	return o
}

func selecting(selector map[string]any) *unstructured.Unstructured {
	o := aDaemonSet("1")
	_ = unstructured.SetNestedMap(o.Object, selector, "spec", "template", "spec", "nodeSelector")
	return o
}

func TestNodeThatLostItsLabelsIsCleaned(t *testing.T) {
	wanted := func(o *options) { o.nodeSelector = labels.Set{"gpu-sim": "true", "pool": "b"} }
	has := labelledNode(map[string]string{"gpu-sim": "true", "pool": "b", "zone": "c"})
	start(t, api(aDaemonSet("1"), has), wanted).mustKeep(t, "the DaemonSet is there")
	for _, lost := range []map[string]string{nil, {"gpu-sim": "true"}, {"gpu-sim": "true", "pool": "c"}} {
		start(t, api(aDaemonSet("1"), labelledNode(lost)), wanted).mustClean(t, "node n7 does not have the labels gpu-sim=true,pool=b")
	}
	start(t, api(aDaemonSet("1")), wanted).mustClean(t, "node n7 does not exist any more")
}

// An upgrade may change the selector: the pod that it ends was started with the old one.
func TestNewestSelectorOfTheDaemonSetCounts(t *testing.T) {
	old := func(o *options) { o.nodeSelector = labels.Set{"pool": "b"} }
	start(t, api(selecting(map[string]any{"pool": "c"}), labelledNode(map[string]string{"pool": "b"})), old).
		mustClean(t, "node n7 does not have the labels pool=c")
	start(t, api(selecting(map[string]any{"pool": "c"}), labelledNode(map[string]string{"pool": "c"})), old).
		mustKeep(t, "the DaemonSet is there")
}

func TestNodeThatIsNotShownIsKept(t *testing.T) {
	client := api(aDaemonSet("1"))
	client.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
	start(t, client, func(o *options) { o.nodeSelector = labels.Set{"pool": "b"} }).mustKeep(t, "the DaemonSet is there")
}

// Deleting a namespace may take the role that shows the DaemonSet first.
func TestNamespaceInDeletionCountsThoughTheDaemonSetIsNotShown(t *testing.T) {
	client := api(aDaemonSet("1"), leaving(object("v1", "Namespace", "", "gpus", "9")))
	for _, verb := range []string{"get", "list", "watch"} {
		client.PrependReactor(verb, "daemonsets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
	}
	start(t, client).mustClean(t, "in a namespace that is being deleted")
}
