// SPDX-License-Identifier: Apache-2.0
//
// `gpu-sim-agent check-nodes`, part of `helm test`. A release that selects no node installs without a complaint
// and gives nobody a GPU; this is where that is said. A DaemonSet that is on its way gets some time.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
)

func checkNodesCommand(ctx context.Context, args []string, out io.Writer) error {
	var selector, namespace, name, kubeconfig string
	var limit time.Duration
	flags := flag.NewFlagSet("check-nodes", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&selector, "selector", "", "labels of the simulated nodes: key=value,…")
	flags.StringVar(&namespace, "namespace", "", "namespace of the DaemonSet")
	flags.StringVar(&name, "daemonset", "", "name of the DaemonSet")
	flags.DurationVar(&limit, "timeout", time.Minute, "how long the DaemonSet may take to be ready")
	flags.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file (default: the pod's service account)")
	if err := parse(flags, args, "selector", "namespace", "daemonset"); err != nil {
		return err
	}
	if _, err := labels.Parse(selector); err != nil {
		return usageError{fmt.Errorf("--selector: not a label selector, got %q: %w", selector, err)}
	}
	client, err := connect(kubeconfig)
	if err != nil {
		return err
	}
	return checkNodes(ctx, client, selector, namespace, name, limit, time.Second, out)
}

func checkNodes(ctx context.Context, client dynamic.Interface, selector, namespace, name string, limit, poll time.Duration, out io.Writer) error {
	deadline := time.Now().Add(limit)
	for {
		list, err := client.Resource(nodes).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return fmt.Errorf("nodes with %s cannot be listed: %w", selector, err)
		}
		if len(list.Items) == 0 {
			return fmt.Errorf("no node has the label %s, so no node has GPUs; label one: kubectl label node <node> %s", selector, labelArguments(selector))
		}
		object, err := client.Resource(daemonSets).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("DaemonSet %s/%s cannot be read: %w", namespace, name, err)
		}
		problem := notReady(object, len(list.Items))
		if problem == "" {
			fmt.Fprintf(out, "gpu-sim-agent: ready on %d of %d nodes with %s\n", len(list.Items), len(list.Items), selector)
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("DaemonSet %s/%s: %s after %s; see kubectl -n %s describe pods -l app.kubernetes.io/name=gpu-sim",
				namespace, name, problem, limit, namespace)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
}

// notReady says what keeps the DaemonSet from being ready, in its newest form, on all of the nodes.
func notReady(object *unstructured.Unstructured, nodes int) string {
	number := func(path ...string) int64 {
		value, _, _ := unstructured.NestedInt64(object.Object, path...)
		return value
	}
	wanted := number("status", "desiredNumberScheduled")
	updated := number("status", "updatedNumberScheduled")
	ready := number("status", "numberReady")
	switch {
	case number("status", "observedGeneration") < object.GetGeneration():
		return "its newest version has not been acted upon yet"
	case wanted != int64(nodes):
		return fmt.Sprintf("it runs on %d nodes, expected the %d with the label (a taint that it does not tolerate?)", wanted, nodes)
	case updated < wanted:
		return fmt.Sprintf("updated on %d of %d nodes", updated, wanted)
	case ready < wanted:
		return fmt.Sprintf("ready on %d of %d nodes", ready, wanted)
	}
	return ""
}

// labelArguments turns a selector of plain pairs into what `kubectl label` takes.
func labelArguments(selector string) string {
	set, err := labels.ConvertSelectorToLabelsMap(selector)
	if err != nil {
		return selector
	}
	return strings.ReplaceAll(set.String(), ",", " ")
}
