// SPDX-License-Identifier: Apache-2.0
//
// `gpu-sim-agent run`, a sidecar that starts before the installer and ends last. It holds the node for the release, keeps
// allocation and declared faults as the kubelet and the API say, and gives the node back when the release leaves it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"

	"k8s.io/client-go/dynamic"
)

// run returns nil when the agent was told to end and did what that asks for.
func run(ctx context.Context, o options, limit limits, client dynamic.Interface, log *log.Logger) error {
	// The watch starts before the lock is had: an uninstall may come while an earlier pod still holds the node.
	// It outlives ctx, since the news it brings is wanted most after SIGTERM.
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	own := newDaemonSet(client, o.daemonSetNamespace, o.daemonSet, limit.retry, log)
	go own.follow(following)
	work := newWork(following, o, limit, client, log)
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go watchMount(ctx, o.root, limit.reconcile, fail, ownMounts)

	var lock *os.File
	for ctx.Err() == nil {
		held, err := holdNode(ctx, o, limit.poll, log)
		if err != nil {
			break
		}
		log.Printf("node %s is held for release %s in namespace %s", o.node, o.release, o.namespace)
		if work.whileHeld(ctx, held, o, limit); ctx.Err() != nil {
			// Kept through the cleaning, so that nobody installs into files that are on their way out.
			lock = held
			defer lock.Close()
			break
		}
		log.Printf("%s/owner was replaced or removed; the node is no longer held", o.root)
		_ = held.Close()
	}
	if cause := context.Cause(ctx); errors.Is(cause, errReadOnlyHere) {
		return cause
	}
	return end(following, o, limit, own, lock, log)
}

// end cleans the node if the release has left it. lock is nil where the node is not held.
func end(ctx context.Context, o options, limit limits, own *daemonSet, lock *os.File, log *log.Logger) error {
	gone, why := own.leftForGood(ctx, limit.ask, o.node, o.nodeSelector)
	if !gone {
		log.Printf("told to end, node %s is kept: %s", o.node, why)
		return nil
	}
	if lock == nil {
		claimed, err := claimRemains(o, limit.claim, limit.poll)
		var nothing errNothing
		if errors.As(err, &nothing) {
			log.Printf("told to end, nothing to clean on node %s: %v", o.node, err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("node %s could not be cleaned: %w; clean it by hand (gpu-sim clean-node --force)", o.node, err)
		}
		if claimed == nil {
			log.Printf("the installer of this pod is still at work on node %s after %s; cleaning all the same", o.node, limit.claim)
		} else {
			defer claimed.Close()
		}
	}
	log.Printf("told to end, node %s is cleaned: %s", o.node, why)
	if socket := waitForPlugin(o.pluginDir, limit.socket, limit.poll); socket != "" {
		log.Printf("%s still accepts connections after %s; cleaning all the same", socket, limit.socket)
	}
	return clean(ctx, o, limit.tidy, log)
}

// work is what is done while the node is held.
type work struct {
	allocation *allocator
	faults     *declarer
}

func newWork(ctx context.Context, o options, limit limits, client dynamic.Interface, log *log.Logger) work {
	api := newMirror(client, o.node, log)
	api.follow(ctx)
	events := newRecorder(client, o.node, limit.retry, log)
	go events.follow(ctx)
	w := work{faults: newDeclarer(o, limit, api, events, log)}
	if o.podResources != "" {
		w.allocation = newAllocator(o, limit, api, events, log)
	}
	return w
}

// whileHeld works until ctx ends or the lock is lost.
func (w work) whileHeld(ctx context.Context, lock *os.File, o options, limit limits) {
	ctx, stop := context.WithCancel(ctx)
	var working sync.WaitGroup
	defer working.Wait()
	defer stop()
	if w.allocation != nil {
		working.Go(func() { w.allocation.follow(ctx) })
	}
	working.Go(func() { w.faults.follow(ctx) })
	for ctx.Err() == nil && stillHeld(lock, o) {
		pause(ctx, limit.reconcile, nil)
	}
}
