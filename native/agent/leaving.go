// SPDX-License-Identifier: Apache-2.0
//
// The question of SIGTERM: has the release left this node for good? It has when its DaemonSet or their namespace is gone
// or going, or when the DaemonSet no longer wants this node. A rollout, an eviction, a reboot and an API that does not
// answer are none of these.
package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// patience bounds the questions asked when the pod is told to end.
type patience struct{ answer, news time.Duration }

// leftForGood answers the question of SIGTERM: has the release left, and how is that known. When the watch has
// said nothing yet the API is asked; when it refuses, the watch gets a moment more, since the news of a deletion
// may be on its way while the permissions are gone already.
func (d *daemonSet) leftForGood(ctx context.Context, wait patience, node string, wanted labels.Set) (bool, string) {
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
		} else if why := d.unwanted(answer, node, wanted); why != "" && !d.left() {
			return true, why
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

// ask gets the DaemonSet and its namespace: deleting a namespace ends the pods, and takes the role that shows the
// DaemonSet, while that is still there. A refusal to show the namespace only costs that one case.
func (d *daemonSet) ask(ctx context.Context) error {
	object, refused := d.client.Resource(daemonSets).Namespace(d.namespace).Get(ctx, d.name, metav1.GetOptions{})
	switch {
	case refused == nil:
		d.saw(object)
	case isAbsence(refused, d.name):
		d.gone("does not exist")
		return nil
	}
	namespace, err := d.client.Resource(namespaces).Get(ctx, d.namespace, metav1.GetOptions{})
	switch {
	case err == nil && namespace.GetDeletionTimestamp() != nil:
		d.gone("is in a namespace that is being deleted")
		return nil
	case refused != nil && err != nil && isAbsence(err, d.namespace):
		d.gone("was in a namespace that does not exist any more")
		return nil
	}
	return refused
}

// unwanted says why the DaemonSet does not want the node, or nothing. Its newest selector counts, which an upgrade may
// have changed; the one that this pod was started with is for when none was seen.
func (d *daemonSet) unwanted(ctx context.Context, name string, wanted labels.Set) string {
	d.mutex.Lock()
	if d.nodes != nil {
		wanted = d.nodes
	}
	d.mutex.Unlock()
	node, err := d.client.Resource(nodes).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		if isAbsence(err, name) {
			return fmt.Sprintf("node %s does not exist any more", name)
		}
		return ""
	}
	if !wanted.AsSelector().Matches(labels.Set(node.GetLabels())) {
		return fmt.Sprintf("node %s does not have the labels %s", name, wanted)
	}
	return ""
}
