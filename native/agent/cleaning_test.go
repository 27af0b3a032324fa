// SPDX-License-Identifier: Apache-2.0
package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestFilesGoAfterThePluginsSocket(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "s") // a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket, err := net.Listen("unix", filepath.Join(dir, "nvidia-gpu.sock"))
	if err != nil {
		t.Fatal(err)
	}
	early := make(chan string, 1)
	r := start(t, api(), func(o *options) { o.pluginDir = dir })
	time.AfterFunc(100*time.Millisecond, func() { early <- r.cleanings(); _ = socket.Close() })
	begun := time.Now()
	if err := r.terminate(); err != nil {
		t.Fatal(err)
	}
	if got := <-early; got != "" {
		t.Errorf("cleaned while the plugin answered: %s", got)
	}
	if took := time.Since(begun); took < 100*time.Millisecond || strings.Contains(r.said.String(), "still accepts") {
		t.Errorf("did not wait for the socket (%s): %s", took, r.said)
	}
	if !strings.Contains(r.cleanings(), "--plugin-dir "+dir) {
		t.Errorf("was not cleaned: %q", r.cleanings())
	}
}

func TestPluginThatDoesNotEndDelaysCleaningOnlySoLong(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket, err := net.Listen("unix", filepath.Join(dir, "nvidia-gpu.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	// One that nobody listens on any more does not count.
	dead, err := net.Listen("unix", filepath.Join(dir, "nvidia-mig.sock"))
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = dead.Close()
	r := start(t, api(), func(o *options) { o.pluginDir = dir })
	if err := r.terminate(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.said.String(), "nvidia-gpu.sock still accepts connections") || r.cleanings() == "" {
		t.Errorf("expected a warning and a clean node, got %q, %q", r.said, r.cleanings())
	}
}

func TestFailedCleaningNamesTheRemedy(t *testing.T) {
	r := start(t, api(), func(o *options) {
		_ = os.WriteFile(o.program, []byte("#!/bin/sh\necho disk is read-only >&2\nexit 3\n"), 0o755)
	})
	wantError(t, r.terminate(), "node n7 could not be cleaned", "exit code 3", "gpu-sim clean-node --force")
	if !strings.Contains(r.said.String(), "disk is read-only") {
		t.Errorf("the node program's words are lost: %q", r.said)
	}
}

// unheld is an agent that does not hold its node; owner says why.
func unheld(t *testing.T, owner string, change ...func(*options)) *running {
	t.Helper()
	return begin(t, api(), append([]func(*options){func(o *options) {
		path := filepath.Join(o.root, "owner")
		_ = os.Remove(path)
		if owner != "none" {
			_ = os.WriteFile(path, []byte(owner), 0o644)
		}
		o.pod = "mock-z9z"
	}}, change...)...)
}

func TestNodeThatWasNeverInstalledNeedsNoCleaning(t *testing.T) {
	for owner, why := range map[string]string{
		"none":                              "it has no owner",
		"release=first\nnamespace=team-b\n": "node n7 is owned by release first in namespace team-b",
		"release=feat-a\nnamespace=other\n": "node n7 is owned by release feat-a in namespace other",
	} {
		r := unheld(t, owner)
		if err := r.terminate(); err != nil {
			t.Error(err)
		}
		if got := r.said.String(); r.cleanings() != "" || !strings.Contains(got, "nothing to clean on node n7: "+why) {
			t.Errorf("%q: cleaned with %q, said %q", owner, r.cleanings(), got)
		}
	}
}

// Its installer may be anywhere: before its name is in the file, or an earlier pod left the node to it.
func TestRemainsOfTheReleaseAreCleanedThoughTheNodeWasNotHeld(t *testing.T) {
	unheld(t, "").mustClean(t, "DaemonSet gpus/mock ")
	unheld(t, "release=feat-a\nnamespace=team\npod=mock-x2x\n").mustClean(t, "DaemonSet gpus/mock ")
}

func TestNodeThatWasNotHeldIsKeptWhenTheReleaseStays(t *testing.T) {
	kept := begin(t, api(aDaemonSet("1"), aNode()), func(o *options) { _ = os.Remove(filepath.Join(o.root, "owner")) })
	kept.mustKeep(t, "the DaemonSet is there")
}

func TestClaimThatIsJustBeingReleasedIsWaitedFor(t *testing.T) {
	var installer *os.File
	r := unheld(t, "release=feat-a\nnamespace=team\npod=mock-x2x\n", func(o *options) { installer = lockOwner(t, o.root) })
	early := make(chan string, 1)
	time.AfterFunc(100*time.Millisecond, func() { early <- r.cleanings(); _ = installer.Close() })
	r.mustClean(t, "DaemonSet gpus/mock ")
	if got := <-early; got != "" {
		t.Errorf("cleaned while the installer was at work: %s", got)
	}
}

func TestClaimThatIsNotReleased(t *testing.T) {
	for pod, says := range map[string]string{
		"mock-x2x": "nothing to clean on node n7: pod mock-x2x of this release holds it",
		"mock-z9z": "the installer of this pod is still at work on node n7 after 300ms; cleaning all the same",
	} {
		r := unheld(t, "release=feat-a\nnamespace=team\npod="+pod+"\n", func(o *options) {
			installer := lockOwner(t, o.root)
			t.Cleanup(func() { _ = installer.Close() })
		})
		_ = r.terminate()
		if !strings.Contains(r.said.String(), says) || (r.cleanings() != "") != (pod == "mock-z9z") {
			t.Errorf("%s: cleaned with %q, said %q", pod, r.cleanings(), r.said)
		}
	}
}

func TestRootThatWasEmptiedIsHeldAgainOnceItIsInstalled(t *testing.T) {
	r := start(t, api(aNode()))
	old, err := os.Open(filepath.Join(r.root, "owner"))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := os.Remove(filepath.Join(r.root, "owner")); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the loss is seen", func() bool {
		return strings.Contains(r.said.String(), "owner was replaced or removed; the node is no longer held")
	})
	waitUntil(t, "the old file is given up", func() bool { return syscall.Flock(int(old.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil })
	calls := r.given("calls")
	time.Sleep(30 * time.Millisecond)
	if now := r.given("calls"); now != calls {
		t.Errorf("worked on a node that it does not hold: %q", strings.TrimPrefix(now, calls))
	}
	writeOwner(t, r.root, "feat-a", "team")
	waitUntil(t, "the node is held again", func() bool { return isLocked(t, r.root) })
	before := r.called("ctl declare")
	waitUntil(t, "it works again", func() bool { return r.called("ctl declare") > before || before > 1 })
}

// A change of the node that is under way at SIGTERM must not come after the cleaning.
func TestCleaningWaitsForTheNodeProgram(t *testing.T) {
	r := start(t, api(broken("xid --gpu 3 79")), func(o *options) {
		// Its child outlives it, and with it the wait for its output.
		_ = os.WriteFile(o.program, []byte(strings.Replace(read(o.program), "\n", "\n[ $1 != ctl ] || { echo x >>$0.begun; sleep 5; }\n", 1)), 0o755)
	})
	waitUntil(t, "a call is under way", func() bool { return read(r.program+".begun") != "" })
	begun := time.Now()
	r.mustClean(t, "DaemonSet gpus/mock ")
	if took := time.Since(begun); took < 900*time.Millisecond {
		t.Errorf("cleaned after %s, while the node program was still at work", took)
	}
}
