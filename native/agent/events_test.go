// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	clienttesting "k8s.io/client-go/testing"
)

func TestWrongAnnotationIsAnEventOnThePodOnce(t *testing.T) {
	client := api(aNode(), aPod("b", "y", "u-1", "Running", map[string]string{memoryAnnotation: "20G", utilizationAnnotation: "55"}))
	k := aKubelet(t, granted("b", "y", container("c", gpus("GPU-3", "GPU-5"))))
	r := allocating(t, k, client)
	r.becomes(t, "GPU-3 b/y c pid=* memory=35% utilization=55", "GPU-5 b/y c pid=* memory=35% utilization=55")
	event := theEvents(t, client, "b", 1)[0]
	wantEvent(t, event, "Warning", "GpuSimAnnotation", "Pod b/y u-1",
		`metadata.annotations[gpu-sim.io/memory-mib]: must be a whole number of MiB such as 20000, at most 16777216, got "20G"; the node's policy (35%) is used instead`)
	before := r.called("allocate")
	waitUntil(t, "more reconciliations", func() bool { return r.called("allocate") > before+1 })
	theEvents(t, client, "b", 1)
	_ = client.Tracker().Update(pods, aPod("b", "y", "u-1", "Running", map[string]string{memoryAnnotation: "-7"}), "b")
	wantEvent(t, theEvents(t, client, "b", 2)[1], "Warning", "GpuSimAnnotation", "Pod b/y u-1", `got "-7"`)
}

func theEvents(t *testing.T, client dynamic.Interface, namespace string, count int) []unstructured.Unstructured {
	t.Helper()
	var items []unstructured.Unstructured
	waitUntil(t, fmt.Sprintf("%d events", count), func() bool {
		list, err := client.Resource(events).Namespace(namespace).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		items = list.Items
		slices.SortFunc(items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
		return len(items) >= count
	})
	if len(items) != count {
		t.Fatalf("%d events, expected %d: %v", len(items), count, items)
	}
	return items
}

func wantEvent(t *testing.T, event unstructured.Unstructured, eventType, reason, about string, parts ...string) {
	t.Helper()
	get := func(path ...string) string {
		text, _, _ := unstructured.NestedString(event.Object, path...)
		return text
	}
	object := get("involvedObject", "namespace") + "/" + get("involvedObject", "name")
	got := []string{get("type"), get("reason"), get("involvedObject", "kind") + " " + strings.TrimPrefix(object, "/") + " " + get("involvedObject", "uid")}
	if fmt.Sprint(got) != fmt.Sprint([]string{eventType, reason, about}) {
		t.Errorf("got %v, expected %s, %s, %s", got, eventType, reason, about)
	}
	for _, part := range parts {
		if !strings.Contains(get("message"), part) {
			t.Errorf("message lacks %q: %q", part, get("message"))
		}
	}
	if get("source", "component") != "gpu-sim-agent" || get("firstTimestamp") == "" {
		t.Errorf("incomplete: %v", event.Object)
	}
}

func about() *seen {
	return &seen{ObjectMeta: metav1.ObjectMeta{Name: "n7", UID: "70"}}
}

func TestLongMessageIsCutWhereTheAPIServerWould(t *testing.T) {
	r := newRecorder(api(), "n7", time.Millisecond, silent)
	event := r.event("Node", about(), "Normal", "FaultsApplied", strings.Repeat("ä", 2000))
	message, _, _ := unstructured.NestedString(event.Object, "message")
	if len(message) > 1024 || len(message) < 1000 || strings.Trim(message, "ä") != "..." {
		t.Errorf("%d bytes: …%s", len(message), message[len(message)-9:])
	}
}

func TestEventIsTriedAgainAndNobodyWaits(t *testing.T) {
	client, said := api(), &words{}
	refusals := 2
	client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		refusals--
		return refusals >= 0, nil, errors.New("connection refused")
	})
	r := newRecorder(client, "n7", time.Millisecond, logTo(said))
	// More than the queue takes, while nobody writes.
	for range 2 * eventsQueued {
		r.tell("Node", about(), "Warning", "FaultsRefused", "no GPU 9")
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go r.follow(ctx)
	for _, event := range theEvents(t, client, "default", eventsQueued) {
		wantEvent(t, event, "Warning", "FaultsRefused", "Node n7 70", "no GPU 9")
	}
	for _, part := range []string{"too many Events are waiting", "Events cannot be written: connection refused"} {
		if strings.Count(said.String(), part) != 1 {
			t.Errorf("%q should be said once: %q", part, said)
		}
	}
}
