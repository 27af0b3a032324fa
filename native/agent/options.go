// SPDX-License-Identifier: Apache-2.0
//
// The command line of `gpu-sim-agent run`. What came after the first release is optional: without it, the agent only
// holds and cleans the node.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

type options struct {
	root, pluginDir, cdiDir       string
	release, namespace, node, pod string
	daemonSet, daemonSetNamespace string
	program, kubeconfig           string
	podResources                  string
	policy                        usageOfGPU
	faults                        lines
	nodeSelector                  labels.Set
}

// lines is an option that may be given more than once.
type lines []string

func (l *lines) String() string { return strings.Join(*l, "\n") }

func (l *lines) Set(line string) error { *l = append(*l, line); return nil }

// limits are the waits; tests shorten them.
type limits struct {
	poll, retry         time.Duration
	ask                 patience
	claim, socket, tidy time.Duration

	reconcile, gap, again time.Duration // between looks; at least; though nothing changed
	sync, kubelet, grace  time.Duration // for the API's first answer; the kubelet's; for pods that it does not know yet
	program               time.Duration // for one call of the node program
	plugin, declare       time.Duration // for the plugin to register; for declaring, which may wait for it to register anew
}

// What may follow SIGTERM adds up to less than the pod's 30 s.
var normalLimits = limits{
	poll:  250 * time.Millisecond,
	retry: time.Second,
	ask:   patience{answer: 4 * time.Second, news: 2 * time.Second},
	claim: 5 * time.Second, socket: 6 * time.Second, tidy: 10 * time.Second,

	reconcile: 3 * time.Second, gap: 500 * time.Millisecond, again: 30 * time.Second,
	sync: 3 * time.Second, kubelet: 5 * time.Second, grace: 15 * time.Second,
	program: 15 * time.Second,
	plugin:  time.Minute, declare: 90 * time.Second,
}

func runCommand(ctx context.Context, args []string, out io.Writer) error {
	var o options
	var selector string
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.root, "root", "", "gpu-sim's directory on the node, as mounted here")
	flags.StringVar(&o.pluginDir, "plugin-dir", "", "the kubelet's device-plugins directory, as mounted here")
	flags.StringVar(&o.cdiDir, "cdi-dir", "", "the directory of CDI specs, as mounted here")
	flags.StringVar(&o.podResources, "pod-resources", "", "the kubelet's pod-resources socket, in a mounted directory; without it no allocation is shown")
	flags.StringVar(&o.policy.memory, "allocation-memory", "50%", "memory used on a GPU that a pod holds: none, whole or N%")
	flags.StringVar(&o.policy.utilization, "allocation-utilization", "20-80", "utilization of such a GPU in percent: none, N or LOW-HIGH")
	flags.Var(&o.faults, "fault", "a fault that this node has from the start, as `gpu-sim ctl declare` takes it; may be given more than once")
	flags.StringVar(&selector, "node-selector", "", "labels that make this node the release's: key=value,…")
	flags.StringVar(&o.release, "release", "", "Helm release that the node belongs to")
	flags.StringVar(&o.namespace, "namespace", "", "namespace of that release")
	flags.StringVar(&o.node, "node", "", "name of this node")
	flags.StringVar(&o.pod, "pod", hostname(), "name of this pod")
	flags.StringVar(&o.daemonSet, "daemonset", "", "DaemonSet that this pod belongs to")
	flags.StringVar(&o.daemonSetNamespace, "daemonset-namespace", "", "namespace of the DaemonSet")
	flags.StringVar(&o.program, "program", "/gpu-sim", "the node program, which makes every change of the node")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file (default: the pod's service account)")
	if err := parse(flags, args, "root", "release", "namespace", "node", "daemonset", "daemonset-namespace"); err != nil {
		return err
	}
	if err := o.check(selector); err != nil {
		return err
	}
	client, err := connect(o.kubeconfig)
	if err != nil {
		return err
	}
	return run(ctx, o, normalLimits, client, log.New(out, "gpu-sim-agent: ", 0))
}

// check takes in what is more than text, and reports all that is wrong.
func (o *options) check(selector string) error {
	problems := []string{}
	wrong := func(name string, err error) {
		if err != nil {
			problems = append(problems, fmt.Sprintf("--%s: %v", name, err))
		}
	}
	wrong("allocation-memory", memoryPolicy(o.policy.memory))
	wrong("allocation-utilization", utilizationPolicy(o.policy.utilization))
	for _, line := range o.faults {
		if strings.ContainsAny(line, "\r\n") || strings.TrimSpace(line) == "" {
			wrong("fault", fmt.Errorf("must be one line, got %q", line))
		}
	}
	var err error
	if o.nodeSelector, err = labels.ConvertSelectorToLabelsMap(selector); err != nil {
		wrong("node-selector", fmt.Errorf("must be key=value,…, got %q: %w", selector, err))
	}
	if len(problems) > 0 {
		return usageError{errors.New(strings.Join(problems, "\ngpu-sim-agent: "))}
	}
	return nil
}

// hostname is the pod's name, where the kubelet did not have to shorten it.
func hostname() string {
	name, _ := os.Hostname()
	return name
}
