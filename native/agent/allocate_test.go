// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	clienttesting "k8s.io/client-go/testing"
)

func aPod(namespace, name, uid, phase string, annotations map[string]string) *unstructured.Unstructured {
	o := object("v1", "Pod", namespace, name, uid)
	o.SetAnnotations(annotations)
	o.Object["spec"] = map[string]any{"nodeName": "n7"}
	o.Object["status"] = map[string]any{"phase": phase}
	return o
}

// allocating is an agent on the given kubelet.
func allocating(t *testing.T, k *kubelet, client dynamic.Interface, change ...func(*options)) *running {
	t.Helper()
	all := []func(*options){func(o *options) {
		o.podResources, o.policy = k.socket, usageOfGPU{"35%", "7-9"}
	}}
	return start(t, client, append(all, change...)...)
}

// becomes waits for a text, in which pid=* stands for any.
func (r *running) becomes(t *testing.T, expected ...string) {
	t.Helper()
	got := ""
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		lines := strings.Split(strings.TrimSuffix(r.given("allocation"), "\n"), "\n")
		for i, line := range lines {
			words := strings.Fields(line)
			if len(words) == 6 {
				words[3] = "pid=*"
			}
			lines[i] = strings.Join(words, " ")
		}
		got = strings.Join(lines, "\n")
		if got == strings.Join(expected, "\n") && r.called("allocate") > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %q, expected %q; log: %s", got, expected, r.said)
		}
	}
}

func TestAllocationIsTheKubeletsWithPolicyAndAnnotations(t *testing.T) {
	k := aKubelet(t,
		granted("b", "y", container("c", gpus("GPU-3"))),
		granted("a", "x", container("main", gpus("GPU-2", "GPU-1"))))
	r := allocating(t, k, api(aNode(), aDaemonSet("1"), aPod("b", "y", "u-1", "Running", nil),
		aPod("a", "x", "u-2", "Running", map[string]string{memoryAnnotation: "20000", utilizationAnnotation: "10-30"})))
	r.becomes(t, "GPU-1 a/x main pid=* memory=20000MiB utilization=10-30",
		"GPU-2 a/x main pid=* memory=20000MiB utilization=10-30", "GPU-3 b/y c pid=* memory=35% utilization=7-9")
	if calls := r.given("calls"); !strings.Contains(calls, "allocate --root "+r.root+"\n") {
		t.Errorf("called with %q", calls)
	}
	// A process is one on all GPUs of its container, and another one when the pod's name comes back.
	if got := r.given("allocation"); strings.Count(got, fmt.Sprintf(" pid=%d ", pid("u-2", "main"))) != 2 {
		t.Errorf("pid of u-2: %q", got)
	}
}

func TestAllocationIsGivenWhenItChangedAndNowAndThen(t *testing.T) {
	k := aKubelet(t, granted("b", "y", container("c", gpus("GPU-3"))))
	r := allocating(t, k, api(aNode()))
	r.becomes(t, "GPU-3 b/y c pid=* memory=35% utilization=7-9")
	before, looks := r.called("allocate"), k.questions()
	waitUntil(t, "a rewrite though nothing changed", func() bool { return r.called("allocate") > before })
	waitUntil(t, "many looks", func() bool { return k.questions() > looks+50 })
	if calls := r.called("allocate") - before; calls > 25 {
		t.Errorf("given %d times in %d looks though nothing changed", calls, k.questions()-looks)
	}
	k.says()
	r.becomes(t, "")
}

func TestNodeThatHoldsNothingIsToldOnce(t *testing.T) {
	r := allocating(t, aKubelet(t), api(aNode()))
	r.becomes(t, "")
	if calls := r.called("allocate"); calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

func TestPodThatEndedIsFreedThoughTheKubeletListsIt(t *testing.T) {
	for _, phase := range []string{"Succeeded", "Failed"} {
		k := aKubelet(t, granted("b", "y", container("c", gpus("GPU-3"))), granted("a", "x", container("c", gpus("GPU-4"))))
		client := api(aNode(), aPod("b", "y", "u-1", "Running", nil))
		r := allocating(t, k, client)
		r.becomes(t, "GPU-3 b/y c pid=* memory=35% utilization=7-9", "GPU-4 a/x c pid=* memory=35% utilization=7-9")
		_ = client.Tracker().Update(pods, aPod("b", "y", "u-1", phase, nil), "b")
		r.becomes(t, "GPU-4 a/x c pid=* memory=35% utilization=7-9")
	}
}

// A kubelet that has just started answers before it knows its pods.
func TestPodsThatAreMissingForAMomentStay(t *testing.T) {
	a := &allocator{limit: quick, api: newMirror(api(aPod("b", "y", "u-1", "Running", nil)), "n7", silent)}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	a.api.follow(ctx)
	waitUntil(t, "the pods are known", a.api.pods.HasSynced)
	now := time.Now()
	y, x := hold{"GPU-3", "b", "y", "c"}, hold{"GPU-4", "a", "x", "c"}
	for _, c := range []struct {
		after    time.Duration
		list     []hold
		expected string
	}{
		{0, []hold{y, x}, "[y x]"},
		{quick.grace / 2, nil, "[y]"}, // the API knows nothing of x
		{quick.grace + 1, nil, "[]"},
		{quick.grace + 2, []hold{y}, "[y]"},
	} {
		got := []string{}
		for _, h := range a.standing(c.list, now.Add(c.after)) {
			got = append(got, h.pod)
		}
		if fmt.Sprint(got) != c.expected {
			t.Errorf("after %s: got %v, expected %s", c.after, got, c.expected)
		}
	}
}

func TestKubeletThatComesBackWithANewSocket(t *testing.T) {
	k := aKubelet(t, granted("b", "y", container("c", gpus("GPU-3"))))
	r := allocating(t, k, api(aNode()))
	r.becomes(t, "GPU-3 b/y c pid=* memory=35% utilization=7-9")
	k.server.Stop()
	waitUntil(t, "the kubelet is missed", func() bool { return strings.Contains(r.said.String(), "the kubelet does not tell who holds which GPU") })
	k.says(granted("b", "z", container("c", gpus("GPU-3"))))
	time.Sleep(50 * time.Millisecond) // several looks, which must not be several lines
	k.start(t)
	r.becomes(t, "GPU-3 b/z c pid=* memory=35% utilization=7-9")
	if got := r.said.String(); strings.Count(got, "does not tell") != 1 || strings.Count(got, "the kubelet answers again") != 1 {
		t.Errorf("said %q", got)
	}
}

func TestWithoutTheAPIAllocationGoesOn(t *testing.T) {
	client := api(aNode(), aPod("b", "y", "u-1", "Running", map[string]string{memoryAnnotation: "20000"}))
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	r := allocating(t, aKubelet(t, granted("b", "y", container("c", gpus("GPU-3")))), client)
	r.becomes(t, "GPU-3 b/y c pid=* memory=35% utilization=7-9")
	for _, part := range []string{"no answer from the API about this node's pods", "pods of node n7: cannot be watched, their annotations are not seen: "} {
		if strings.Count(r.said.String(), part) != 1 {
			t.Errorf("%q should be said once: %q", part, r.said)
		}
	}
}

func TestOnlyThePodsOfTheNodeAreAskedFor(t *testing.T) {
	client := api(aNode())
	asked := make(chan string, 100)
	for _, kind := range []string{"pods", "nodes"} {
		client.PrependReactor("list", kind, func(action clienttesting.Action) (bool, runtime.Object, error) {
			asked <- kind + " " + action.(clienttesting.ListAction).GetListRestrictions().Fields.String()
			return false, nil, nil
		})
	}
	allocating(t, aKubelet(t), client).becomes(t, "")
	got := <-asked + ", " + <-asked
	if got != "pods spec.nodeName=n7, nodes metadata.name=n7" && got != "nodes metadata.name=n7, pods spec.nodeName=n7" {
		t.Errorf("asked for %s", got)
	}
}

func TestProcessIdsAreStableAndInRange(t *testing.T) {
	seenBefore := map[uint64]bool{}
	for i := range 10000 {
		number := pid(fmt.Sprint("uid-", i), "c")
		if number < 100000 || number > 4000000 {
			t.Fatalf("pid %d", number)
		}
		if number != pid(fmt.Sprint("uid-", i), "c") || number == pid(fmt.Sprint("uid-", i), "d") {
			t.Fatalf("pid %d is not the container's own", number)
		}
		seenBefore[number] = true
	}
	if len(seenBefore) < 9900 {
		t.Errorf("10000 containers have only %d different pids", len(seenBefore))
	}
}
