// SPDX-License-Identifier: Apache-2.0
package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

func broken(annotation string) *unstructured.Unstructured {
	o := aNode()
	o.SetAnnotations(map[string]string{"gpu-sim.io/faults": annotation})
	return o
}

// declares waits for the full set of faults.
func (r *running) declares(t *testing.T, expected string) {
	t.Helper()
	waitUntil(t, "declared "+expected, func() bool { return r.called("ctl declare") > 0 && r.given("faults") == expected })
}

func TestFaultsOfTheValuesAndOfTheAnnotationAreOneSet(t *testing.T) {
	client := api(broken(" lost --gpu 2 ;\nthrottle --gpu 1 thermal;; \r\nxid --gpu 0 13"))
	r := start(t, client, func(o *options) { o.faults = lines{"xid --gpu 3 79", " nvlink-down --gpu 4 --link all"} })
	r.declares(t, "xid --gpu 3 79\nnvlink-down --gpu 4 --link all\nlost --gpu 2\nthrottle --gpu 1 thermal\nxid --gpu 0 13\n")
	if calls := r.given("calls"); !strings.Contains(calls, "ctl declare --root "+r.root+"\n") {
		t.Errorf("called with %q", calls)
	}
	wantEvent(t, theEvents(t, client, "default", 1)[0], "Normal", "FaultsApplied", "Node n7 70",
		"xid --gpu 3 79; nvlink-down --gpu 4 --link all; lost --gpu 2; throttle --gpu 1 thermal; xid --gpu 0 13")
	// A plugin that was started again has forgotten its GPUs' health.
	before := r.called("ctl declare")
	waitUntil(t, "declared again", func() bool { return r.called("ctl declare") > before+2 })
	theEvents(t, client, "default", 1)
}

func TestAnnotationThatChangesOrGoes(t *testing.T) {
	client := api(broken("xid --gpu 3 79"))
	r := start(t, client)
	r.declares(t, "xid --gpu 3 79\n")
	theEvents(t, client, "default", 1)
	_ = client.Tracker().Update(nodes, broken("xid --gpu 5 48"), "")
	r.declares(t, "xid --gpu 5 48\n")
	wantEvent(t, theEvents(t, client, "default", 2)[1], "Normal", "FaultsApplied", "Node n7 70", "xid --gpu 5 48")
	_ = client.Tracker().Update(nodes, aNode(), "")
	r.declares(t, "")
	wantEvent(t, theEvents(t, client, "default", 3)[2], "Normal", "FaultsApplied", "Node n7 70", "no faults are declared any more")
	calls := r.called("ctl declare")
	time.Sleep(50 * time.Millisecond)
	if again := r.called("ctl declare"); again != calls {
		t.Errorf("an empty set was declared %d times more", again-calls)
	}
}

// What was declared before this agent started goes as well; that there is nothing is no news.
func TestNothingDeclaredIsDeclaredOnceAndQuietly(t *testing.T) {
	client := api(aNode())
	r := start(t, client)
	r.declares(t, "")
	time.Sleep(50 * time.Millisecond)
	if calls := r.called("ctl declare"); calls != 1 {
		t.Errorf("%d calls", calls)
	}
	theEvents(t, client, "default", 0)
}

func TestRefusalIsAnEventWithTheNodeProgramsWords(t *testing.T) {
	client := api(broken("xid --gpu 9 79"))
	r := start(t, client, func(o *options) {
		_ = os.WriteFile(o.program, []byte(strings.Replace(read(o.program), "\n", "\n[ $2 != declare ] || { echo 'gpu-sim: stdin:1: no GPU 9; have 0 to 7' >&2; echo \"$@\" >>$0.calls; exit 1; }\n", 1)), 0o755)
	})
	wantEvent(t, theEvents(t, client, "default", 1)[0], "Warning", "FaultsRefused", "Node n7 70", "line 1: no GPU 9; have 0 to 7; refused with it: xid --gpu 9 79; what was declared before stays")
	tries := func() int { return strings.Count(read(r.program+".calls"), "\n") }
	first := tries()
	time.Sleep(quick.again / 2)
	if now := tries(); now > first+1 {
		t.Errorf("a refused set was tried %d times within %s", now-first, quick.again/2)
	}
	waitUntil(t, "a refused set is tried again", func() bool { return tries() > first+1 })
	theEvents(t, client, "default", 1)
}

func TestNodeProgramThatFailsIsTriedAgainWithoutAnEvent(t *testing.T) {
	client := api(broken("xid --gpu 3 79"))
	r := start(t, client, func(o *options) {
		o.faults = lines{"lost --gpu 1"}
		_ = os.WriteFile(filepath.Join(filepath.Dir(o.program), "broken"), nil, 0o644)
		_ = os.WriteFile(o.program, []byte(strings.Replace(read(o.program), "\n", "\n[ $2 != declare -o ! -e ${0%/*}/broken ] || { echo x >>$0.tries; echo no inventory >&2; exit 3; }\n", 1)), 0o755)
	})
	// More than fit into the time if each waited for quick.again.
	waitUntil(t, "many tries", func() bool { return strings.Count(read(r.program+".tries"), "x") > 10 })
	theEvents(t, client, "default", 0)
	_ = os.Remove(filepath.Join(filepath.Dir(r.program), "broken"))
	r.declares(t, "lost --gpu 1\nxid --gpu 3 79\n")
	theEvents(t, client, "default", 1)
	if got := r.said.String(); strings.Count(got, "ctl declare: exit code 3; trying again") != 1 {
		t.Errorf("should be said once: %q", got)
	}
}

// What is declared in an annotation must not be cleared by an agent that cannot read it.
func TestNothingIsDeclaredBeforeTheAnnotationIsKnown(t *testing.T) {
	client := api(broken("xid --gpu 3 79"))
	answers := make(chan struct{})
	client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		select {
		case <-answers:
			return false, nil, nil
		default:
			return true, nil, forbidden
		}
	})
	r := start(t, client, func(o *options) { o.faults = lines{"lost --gpu 1"} })
	waitUntil(t, "the refusal is named", func() bool { return strings.Contains(r.said.String(), "node n7: cannot be watched") })
	if calls := r.called("ctl declare"); calls != 0 {
		t.Errorf("declared %q", r.given("faults"))
	}
	close(answers)
	r.declares(t, "lost --gpu 1\nxid --gpu 3 79\n")
}

func TestFaultsAreDeclaredAfterThePluginRegistered(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	r := start(t, api(broken("xid --gpu 3 79")), func(o *options) { o.pluginDir = dir })
	time.Sleep(50 * time.Millisecond)
	if r.called("ctl declare")+r.called("ready") != 0 {
		t.Errorf("without a plugin: %q", r.given("calls"))
	}
	r.failing(t, "ready", "exit 1")
	socket, err := net.Listen("unix", filepath.Join(dir, "nvidia-gpu.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	waitUntil(t, "readiness is asked for", func() bool {
		return r.called("ready --root "+r.root+" --checkpoint "+dir+"/kubelet_internal_checkpoint") > 1
	})
	if r.called("ctl declare") != 0 {
		t.Errorf("before the kubelet knows the GPUs: %q", r.given("calls"))
	}
	r.failing(t, "ready", "")
	r.declares(t, "xid --gpu 3 79\n")
	if !strings.Contains(r.given("calls"), "ctl declare --root "+r.root+" --plugin-dir "+dir+"\n") || strings.Contains(r.said.String(), "has not registered") {
		t.Errorf("called with %q, said %q", r.given("calls"), r.said)
	}
	_ = socket.Close()
}

func TestPluginThatNeverRegistersDelaysFaultsOnlySoLong(t *testing.T) {
	r := start(t, api(broken("xid --gpu 3 79")), func(o *options) { o.pluginDir = t.TempDir() })
	r.declares(t, "xid --gpu 3 79\n")
	if !strings.Contains(r.said.String(), "the device plugin has not registered within 300ms") {
		t.Errorf("said %q", r.said)
	}
}
