// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var silent = log.New(io.Discard, "", 0)

// node makes gpu-sim's directory with an owner file of the given release and gives the options of its agent.
func node(t *testing.T, release, namespace string) options {
	t.Helper()
	root := t.TempDir()
	writeOwner(t, root, release, namespace)
	return options{root: root, release: release, namespace: namespace, node: "n7", daemonSet: "mock", daemonSetNamespace: "gpus"}
}

func writeOwner(t *testing.T, root, release, namespace string) {
	t.Helper()
	text := "release=" + release + "\nnamespace=" + namespace + "\npod=mock-x2x\ntime=2031-02-03T04:05:06Z\n"
	if err := os.WriteFile(filepath.Join(root, "owner"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lockOwner takes the lock as another process would: through a file opened anew.
func lockOwner(t *testing.T, root string) *os.File {
	t.Helper()
	file, err := os.Open(filepath.Join(root, "owner"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	return file
}

func isLocked(t *testing.T, root string) bool {
	t.Helper()
	file, err := os.Open(filepath.Join(root, "owner"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, expected one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error lacks %q: %v", part, err)
		}
	}
}

func TestNodeIsHeldUntilTheFileIsClosed(t *testing.T) {
	o := node(t, "feat-a", "team")
	file, err := holdNode(context.Background(), o, time.Millisecond, silent)
	if err != nil {
		t.Fatal(err)
	}
	if !isLocked(t, o.root) {
		t.Error("the owner file is not locked")
	}
	_ = file.Close()
	if isLocked(t, o.root) {
		t.Error("the owner file is still locked")
	}
}

func TestNodeOfAnotherReleaseIsRefusedByName(t *testing.T) {
	for _, held := range []bool{true, false} {
		o := node(t, "first", "team-b")
		if held {
			defer lockOwner(t, o.root).Close()
		}
		for _, mine := range []options{{release: "second", namespace: "team-b"}, {release: "first", namespace: "default"}} {
			mine.root, mine.node = o.root, o.node
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := holdNode(ctx, mine, time.Millisecond, silent)
			wantError(t, err, "node n7 is owned by release first in namespace team-b since 2031-02-03T04:05:06Z",
				"helm uninstall first -n team-b", "label another node")
		}
		if isLocked(t, o.root) != held {
			t.Error("a refused agent left or broke a lock")
		}
	}
}

func TestNodeWithoutOwnerIsAnError(t *testing.T) {
	o := node(t, "feat-a", "team")
	_ = os.Remove(filepath.Join(o.root, "owner"))
	_, err := holdNode(context.Background(), o, time.Millisecond, silent)
	wantError(t, err, filepath.Join(o.root, "owner"), "no owner", "the installer must run first")
}

func TestAgentWaitsForAnEarlierPodOfItsRelease(t *testing.T) {
	o := node(t, "feat-a", "team")
	earlier := lockOwner(t, o.root)
	var said strings.Builder
	held := make(chan error)
	go func() {
		file, err := holdNode(context.Background(), o, time.Millisecond, log.New(&said, "", 0))
		if err == nil {
			_ = file.Close()
		}
		held <- err
	}()
	select {
	case err := <-held:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	_ = earlier.Close()
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	if strings.Count(said.String(), "still held by pod mock-x2x") != 1 {
		t.Errorf("expected one line naming the earlier pod, got %q", said.String())
	}
}

// An earlier pod that cleans removes the file; a lock on the removed one would hold nothing.
func TestAgentFollowsTheFileThatHasTheName(t *testing.T) {
	o := node(t, "feat-a", "team")
	earlier := lockOwner(t, o.root)
	held := make(chan error)
	go func() {
		file, err := holdNode(context.Background(), o, time.Millisecond, silent)
		if err == nil && !sameFile(file, filepath.Join(o.root, "owner")) {
			t.Error("the lock is on a file that is gone")
		}
		held <- err
	}()
	time.Sleep(20 * time.Millisecond) // into the wait; too short a sleep only makes the test easier to pass
	fresh := filepath.Join(o.root, "fresh")
	if err := os.WriteFile(fresh, []byte("release=feat-a\nnamespace=team\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, filepath.Join(o.root, "owner")); err != nil {
		t.Fatal(err)
	}
	_ = earlier.Close()
	if err := <-held; err != nil {
		t.Fatal(err)
	}
}

func TestLockOnAFileWithoutItsNameIsWorthNothing(t *testing.T) {
	o := node(t, "feat-a", "team")
	path := filepath.Join(o.root, "owner")
	held := lockOwner(t, o.root)
	defer held.Close()
	if !sameFile(held, path) {
		t.Error("the file that has the name is not recognised")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if sameFile(held, path) {
		t.Error("a removed file counts")
	}
	writeOwner(t, o.root, "feat-a", "team")
	if sameFile(held, path) {
		t.Error("a replaced file counts")
	}
}
