// SPDX-License-Identifier: Apache-2.0
//
// The agent with the node program as built, on a root that it installed: pytest tests/agent gives both.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shown is what is compared of one GPU in `gpu-sim ctl status --json`.
type shown struct {
	UUID        string
	Pods        []string
	Memory      int `json:"memory_used_mib"`
	Utilization int `json:"utilization_gpu_percent"`
	Xids        []int
	Declared    bool
}

func statusOf(t *testing.T, program, root string) []shown {
	t.Helper()
	output, err := exec.Command(program, "ctl", "status", "--json", "--root", root).CombinedOutput()
	answer := struct{ GPUs []shown }{}
	if err == nil {
		err = json.Unmarshal(output, &answer)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return answer.GPUs
}

func TestWithTheNodeProgram(t *testing.T) {
	program, root := os.Getenv("GPU_SIM_AGENT_PROGRAM"), os.Getenv("GPU_SIM_AGENT_ROOT")
	if program == "" {
		t.Skip("GPU_SIM_AGENT_PROGRAM and GPU_SIM_AGENT_ROOT are not given; pytest tests/agent gives them")
	}
	gpus4 := statusOf(t, program, root)
	if len(gpus4) != 4 {
		t.Fatalf("the root has %d GPUs, expected 4", len(gpus4))
	}
	first, third := gpus4[0].UUID, gpus4[2].UUID
	k := aKubelet(t, granted("a", "x", container("main", gpus(third))), granted("b", "y", container("c", gpus(first))))
	client := api(aDaemonSet("1"), broken("xid --gpu 1 79"), aPod("b", "y", "u-1", "Running", nil),
		aPod("a", "x", "u-2", "Running", map[string]string{memoryAnnotation: "20000", utilizationAnnotation: "33"}))
	r := begin(t, client, func(o *options) {
		o.program, o.root, o.podResources, o.policy = program, root, k.socket, usageOfGPU{"none", "none"}
	})
	becomes := func(what string, good func([]shown) bool) {
		t.Helper()
		defer func() {
			if t.Failed() {
				t.Logf("status: %v; log: %s", statusOf(t, program, root), r.said)
			}
		}()
		waitUntil(t, what, func() bool { return good(statusOf(t, program, root)) })
	}
	becomes("both pods are shown", func(g []shown) bool {
		return fmt.Sprint(g[2].Pods, g[0].Pods, g[1].Pods, g[3].Pods) == "[a/x] [b/y] [] []" &&
			g[2].Memory == 20000 && g[2].Utilization == 33 && g[0].Memory == 0 && g[0].Utilization == 0
	})
	becomes("the declared fault is there", func(g []shown) bool { return g[1].Declared && fmt.Sprint(g[1].Xids) == "[79]" && !g[0].Declared })
	wantEvent(t, theEvents(t, client, "default", 1)[0], "Normal", "FaultsApplied", "Node n7 70", "xid --gpu 1 79")

	_ = client.Tracker().Update(nodes, broken("xid --gpu 9 79"), "")
	wantEvent(t, theEvents(t, client, "default", 2)[1], "Warning", "FaultsRefused", "Node n7 70", "no such GPU, got 9; this node has GPUs 0,1,2,3")
	becomes("a refused set changes nothing", func(g []shown) bool { return fmt.Sprint(g[1].Xids) == "[79]" })
	_ = client.Tracker().Update(nodes, aNode(), "")
	becomes("the fault is gone", func(g []shown) bool { return !g[1].Declared && len(g[1].Xids) == 0 })

	_ = client.Tracker().Update(pods, aPod("a", "x", "u-2", "Succeeded", nil), "a")
	becomes("the ended pod's GPU is free", func(g []shown) bool { return len(g[2].Pods) == 0 && g[2].Memory == 0 && len(g[0].Pods) == 1 })

	// All that the node program had to say against what it was given.
	if got := r.said.String(); strings.Contains(got, "trying again") {
		t.Errorf("said %q", got)
	}
	if err := client.Resource(daemonSets).Namespace("gpus").Delete(context.Background(), "mock", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.terminate(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, "*")); len(left) != 0 {
		t.Errorf("left over: %q; log: %s", left, r.said)
	}
}
