// SPDX-License-Identifier: Apache-2.0
//
// `gpu-sim-agent run`: hold the node until SIGTERM, then clean it if, and only if, the release has left. The
// device plugin's container is told to end at the same moment, so its socket is waited for before files go.
// All waits together stay well below a pod's default grace period of 30 seconds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
)

// options are the command line of run.
type options struct {
	root, pluginDir, cdiDir       string
	release, namespace, node      string
	daemonSet, daemonSetNamespace string
	program, kubeconfig           string
}

// limits are the waits; tests shorten them.
type limits struct {
	poll, retry  time.Duration
	ask          patience
	socket, tidy time.Duration
}

var normalLimits = limits{
	poll:   250 * time.Millisecond,
	retry:  time.Second,
	ask:    patience{answer: 4 * time.Second, news: 2 * time.Second},
	socket: 6 * time.Second,
	tidy:   10 * time.Second,
}

func runCommand(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.root, "root", "", "gpu-sim's directory on the node, as mounted here")
	flags.StringVar(&o.pluginDir, "plugin-dir", "", "the kubelet's device-plugins directory, as mounted here")
	flags.StringVar(&o.cdiDir, "cdi-dir", "", "the directory of CDI specs, as mounted here")
	flags.StringVar(&o.release, "release", "", "Helm release that the node belongs to")
	flags.StringVar(&o.namespace, "namespace", "", "namespace of that release")
	flags.StringVar(&o.node, "node", "", "name of this node")
	flags.StringVar(&o.daemonSet, "daemonset", "", "DaemonSet that this pod belongs to")
	flags.StringVar(&o.daemonSetNamespace, "daemonset-namespace", "", "namespace of the DaemonSet")
	flags.StringVar(&o.program, "program", "/gpu-sim", "the node program, which does the cleaning")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file (default: the pod's service account)")
	if err := parse(flags, args, "root", "release", "namespace", "node", "daemonset", "daemonset-namespace"); err != nil {
		return err
	}
	client, err := connect(o.kubeconfig)
	if err != nil {
		return err
	}
	return run(ctx, o, normalLimits, client, log.New(out, "gpu-sim-agent: ", 0))
}

// run returns nil when the agent was told to end and did what that asks for.
func run(ctx context.Context, o options, limit limits, client dynamic.Interface, log *log.Logger) error {
	// The watch starts before the lock is had: an uninstall may come while an earlier pod still holds the node.
	// It outlives ctx, since the news it brings is wanted most after SIGTERM.
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	own := newDaemonSet(client, o.daemonSetNamespace, o.daemonSet, limit.retry, log)
	go own.follow(following)

	lock, err := holdNode(ctx, o, limit.poll, log)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	// Kept through the cleaning, so that nobody installs into files that are on their way out.
	defer lock.Close()
	log.Printf("node %s is held for release %s in namespace %s", o.node, o.release, o.namespace)

	<-ctx.Done()
	gone, why := own.leftForGood(following, limit.ask)
	if !gone {
		log.Printf("told to end, node %s is kept: %s", o.node, why)
		return nil
	}
	log.Printf("told to end, node %s is cleaned: %s", o.node, why)
	if socket := waitForPlugin(o.pluginDir, limit.socket, limit.poll); socket != "" {
		log.Printf("%s still accepts connections after %s; cleaning all the same", socket, limit.socket)
	}
	return clean(following, o, limit.tidy, log)
}

// clean runs the node program, which knows what was put where.
func clean(ctx context.Context, o options, limit time.Duration, log *log.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := []string{"clean-node", "--root", o.root, "--release", o.release, "--namespace", o.namespace}
	if o.pluginDir != "" {
		args = append(args, "--plugin-dir", o.pluginDir)
	}
	if o.cdiDir != "" {
		args = append(args, "--cdi-dir", o.cdiDir)
	}
	text, err := exec.CommandContext(ctx, o.program, args...).CombinedOutput()
	for line := range strings.Lines(string(text)) {
		log.Print(strings.TrimSpace(line))
	}
	if err != nil {
		return fmt.Errorf("node %s could not be cleaned: %s %s: %w; clean it by hand (gpu-sim clean-node --force)",
			o.node, o.program, strings.Join(args, " "), err)
	}
	return nil
}

// waitForPlugin waits until no socket of the device plugin answers and gives the one that still does at the end.
func waitForPlugin(dir string, limit, poll time.Duration) string {
	if dir == "" {
		return ""
	}
	for deadline := time.Now().Add(limit); ; time.Sleep(poll) {
		answering := ""
		sockets, _ := filepath.Glob(filepath.Join(dir, "nvidia*.sock"))
		for _, socket := range sockets {
			if connection, err := net.DialTimeout("unix", socket, poll); err == nil {
				_ = connection.Close()
				answering = socket
			}
		}
		if answering == "" || time.Now().After(deadline) {
			return answering
		}
	}
}
