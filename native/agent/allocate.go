// SPDX-License-Identifier: Apache-2.0
//
// Makes a pod's GPUs look used: what the kubelet gave to whom goes, whole, to `gpu-sim allocate`, at the start and
// whenever it changed. The kubelet is the truth; the API only adds annotations, and that a pod has ended.
package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"log"
	"strings"
	"time"
)

// Process ids of simulated workloads: above the service processes of a host, below the kernel's limit.
const lowestPid, highestPid = 100000, 4000000

// allocator keeps the inventory's allocation equal to the kubelet's.
type allocator struct {
	socket, root, program string
	policy                usageOfGPU
	limit                 limits
	api                   *mirror
	events                *recorder
	kubelet, node, notes  *sayer // what was said of: pod-resources, the node program, its notes

	text      string             // last given to the node program with success
	given     time.Time          // when that was; zero: not yet
	last      map[hold]time.Time // who held what, and when the kubelet last said so
	announced map[string]string  // by UID of a pod: the Event about its annotations
}

func newAllocator(o options, limit limits, api *mirror, events *recorder, log *log.Logger) *allocator {
	return &allocator{socket: o.podResources, root: o.root, program: o.program, policy: o.policy, limit: limit, api: api,
		events: events, kubelet: &sayer{log: log}, node: &sayer{log: log}, notes: &sayer{log: log}}
}

// follow reconciles until ctx ends, early when the API has news of a pod.
func (a *allocator) follow(ctx context.Context) {
	// Without the API's answer the first text would lack annotations that are there; after a while it has to.
	a.waitForAPI(ctx)
	a.given = time.Time{}
	for ctx.Err() == nil {
		a.reconcile(ctx)
		pause(ctx, a.limit.gap, nil)
		pause(ctx, a.limit.reconcile-a.limit.gap, a.api.podsChanged)
	}
}

func (a *allocator) waitForAPI(ctx context.Context) {
	for deadline := time.Now().Add(a.limit.sync); !a.api.pods.HasSynced(); pause(ctx, a.limit.poll, nil) {
		if ctx.Err() != nil {
			return
		}
		if time.Now().After(deadline) {
			a.node.log.Print("no answer from the API about this node's pods: their annotations are not seen until it comes")
			return
		}
	}
}

func (a *allocator) reconcile(ctx context.Context) {
	now := time.Now()
	list, err := listHolds(ctx, a.socket, a.limit.kubelet)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		a.kubelet.problem(fmt.Sprintf("%s: the kubelet does not tell who holds which GPU, got %v; trying again", a.socket, err))
		return
	}
	if a.kubelet.fine() {
		a.kubelet.log.Printf("%s: the kubelet answers again", a.socket)
	}
	text := a.describe(a.standing(list, now))
	if text == a.text && !a.given.IsZero() && now.Sub(a.given) < a.limit.again {
		return
	}
	done := call(ctx, a.limit.program, a.program, text, "allocate", "--root", a.root)
	if ctx.Err() != nil {
		return
	}
	if done.code != exitFine {
		a.node.problem(fmt.Sprintf("%s allocate: exit code %d; trying again\n%s", a.program, done.code, done.words))
		a.given = time.Time{}
		return
	}
	a.node.fine()
	if done.notes == "" {
		a.notes.fine()
	} else {
		a.notes.problem(done.notes)
	}
	a.text, a.given = text, now
}

// standing leaves out pods that have ended, which a kubelet before 1.34 still lists, and keeps for a while those that
// are missing though the API says that they are alive: a kubelet that has just started knows no pods yet.
func (a *allocator) standing(list []hold, now time.Time) []hold {
	told := map[hold]time.Time{}
	for _, h := range list {
		told[h] = now
	}
	for h, when := range a.last {
		pod := a.api.pod(h.namespace, h.pod)
		if _, there := told[h]; !there && pod != nil && now.Sub(when) < a.limit.grace {
			told[h] = when
		}
	}
	for h := range told {
		if pod := a.api.pod(h.namespace, h.pod); pod != nil && pod.ended() {
			delete(told, h)
		}
	}
	a.last = told
	return sorted(told)
}

// describe is the text for `gpu-sim allocate`, and tells the pods what is wrong with their annotations.
func (a *allocator) describe(list []hold) string {
	var text strings.Builder
	announced := map[string]string{}
	for _, h := range list {
		use, uid := a.policy, h.namespace+"/"+h.pod
		if pod := a.api.pod(h.namespace, h.pod); pod != nil {
			uid = string(pod.UID)
			var problems []string
			use, problems = a.policy.of(pod.Annotations)
			if message := strings.Join(problems, "\n"); message != "" {
				if _, now := announced[uid]; !now && a.announced[uid] != message {
					a.events.tell("Pod", pod, "Warning", "GpuSimAnnotation", message)
				}
				announced[uid] = message
			}
		}
		fmt.Fprintf(&text, "%s %s/%s %s pid=%d memory=%s utilization=%s\n",
			h.uuid, h.namespace, h.pod, h.container, pid(uid, h.container), use.memory, use.utilization)
	}
	a.announced = announced
	return text.String()
}

// pid is the same for as long as the pod lives.
func pid(pod, container string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(pod + "/" + container))
	return lowestPid + sum.Sum64()%(highestPid-lowestPid+1)
}

// pause waits for a time, an early wake or the end.
func pause(ctx context.Context, wait time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}
