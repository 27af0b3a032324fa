// SPDX-License-Identifier: Apache-2.0
package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func labelled(name string) *unstructured.Unstructured {
	o := object("v1", "Node", "", name, name)
	o.SetLabels(map[string]string{"gpu-sim": "true", "pool": "b"})
	return o
}

func rollout(generation, observed, wanted, updated, ready int64) *unstructured.Unstructured {
	o := aDaemonSet("1")
	o.SetGeneration(generation)
	o.Object["status"] = map[string]any{
		"observedGeneration": observed, "desiredNumberScheduled": wanted, "updatedNumberScheduled": updated, "numberReady": ready,
	}
	return o
}

func check(selector string, limit time.Duration, objects ...runtime.Object) (string, error) {
	var out bytes.Buffer
	err := checkNodes(context.Background(), api(objects...), selector, "gpus", "mock", limit, time.Millisecond, &out)
	return out.String(), err
}

func TestReadyOnAllNodes(t *testing.T) {
	out, err := check("gpu-sim=true", 0, labelled("a"), labelled("b"), labelled("c"), rollout(2, 2, 3, 3, 3))
	if err != nil || !strings.Contains(out, "ready on 3 of 3 nodes with gpu-sim=true") {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestNoNodeHasTheLabel(t *testing.T) {
	_, err := check("gpu-sim=true,pool=c", 0, labelled("a"), rollout(1, 1, 0, 0, 0))
	wantError(t, err, "no node has the label gpu-sim=true,pool=c", "kubectl label node <node> gpu-sim=true pool=c")
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	for problem, status := range map[string]*unstructured.Unstructured{
		"ready on 1 of 2 nodes":                      rollout(5, 5, 2, 2, 1),
		"updated on 1 of 2 nodes":                    rollout(5, 5, 2, 1, 2),
		"runs on 1 nodes, expected the 2":            rollout(5, 5, 1, 1, 1),
		"newest version has not been acted upon yet": rollout(5, 4, 2, 2, 2),
	} {
		_, err := check("gpu-sim=true", 10*time.Millisecond, labelled("a"), labelled("b"), status)
		wantError(t, err, "DaemonSet gpus/mock", problem, "after 10ms")
	}
}

func TestDaemonSetMissing(t *testing.T) {
	_, err := check("gpu-sim=true", 0, labelled("a"))
	wantError(t, err, "DaemonSet gpus/mock cannot be read", "not found")
}

func TestReadinessIsWaitedFor(t *testing.T) {
	client := api(labelled("a"), rollout(1, 1, 1, 1, 0))
	time.AfterFunc(50*time.Millisecond, func() {
		_ = client.Tracker().Update(daemonSets, rollout(1, 1, 1, 1, 1), "gpus")
	})
	if err := checkNodes(context.Background(), client, "pool=b", "gpus", "mock", 5*time.Second, time.Millisecond, io.Discard); err != nil {
		t.Error(err)
	}
}

// complete is what the first release's chart gives.
var complete = []string{"run", "--root=/x", "--release=r", "--namespace=s", "--node=n", "--daemonset=d", "--daemonset-namespace=e", "--kubeconfig=/nowhere"}

func TestCommandLine(t *testing.T) {
	termination := filepath.Join(t.TempDir(), "termination-log")
	if err := os.WriteFile(termination, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{nil, 2, []string{"no command", "usage:"}},
		{[]string{"hold"}, 2, []string{`unknown command, got "hold"`}},
		{[]string{"run", "--root", "/x"}, 2, []string{"--release: must be given", "--node: must be given", "--daemonset: must be given"}},
		{[]string{"check-nodes", "--namespace=n", "--daemonset=d", "--selector=a=b", "extra"}, 2, []string{`unexpected arguments, got ["extra"]`}},
		{[]string{"check-nodes", "--namespace=n", "--daemonset=d", "--selector=a b"}, 2, []string{`--selector: not a label selector, got "a b"`}},
		{[]string{"check-nodes", "--namespace=n", "--daemonset=d", "--selector=a=b", "--kubeconfig=/nowhere"}, 1, []string{"no access to the Kubernetes API", "--kubeconfig"}},
		{append(complete, "--allocation-memory=half", "--allocation-utilization=80-20", "--fault= ", "--fault=a\nb", "--node-selector=a in (b)"), 2, []string{
			`--allocation-memory: must be none, whole or 0% to 100%, got "half"`, `--allocation-utilization: must be none`, `got "80-20"`,
			`--fault: must be one line, got " "`, `--fault: must be one line, got "a\nb"`, `--node-selector: must be key=value,…, got "a in (b)"`}},
		{append(complete, "--allocation-memory=whole", "--allocation-utilization=7", "--fault=xid --gpu 3 79", "--fault=lost --gpu 1",
			"--node-selector=a=b,c=d", "--pod-resources=/p/kubelet.sock", "--pod=p-1", "--kubeconfig=/nowhere"), 1, []string{"no access to the Kubernetes API"}},
		{complete, 1, []string{"no access to the Kubernetes API"}},
		{[]string{"run", "-h"}, 0, []string{"-daemonset-namespace"}},
	} {
		var out bytes.Buffer
		code := report(command(context.Background(), c.args, &out), &out, termination)
		if code != c.code {
			t.Errorf("%q: exit code %d, expected %d", c.args, code, c.code)
		}
		logged, _ := os.ReadFile(termination)
		for _, part := range c.says {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%q: output lacks %q: %s", c.args, part, out.String())
			}
			if c.code != 0 && !strings.Contains(string(logged), part) {
				t.Errorf("%q: the termination log lacks %q: %s", c.args, part, logged)
			}
		}
	}
}
