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

// holding starts an agent's wait for the lock and gives what it said and, once it has ended, what came of it.
func holding(t *testing.T, o options) (*words, chan *os.File) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	said, held := &words{}, make(chan *os.File, 1)
	go func() {
		file, _ := holdNode(ctx, o, time.Millisecond, log.New(said, "", 0))
		held <- file
	}()
	return said, held
}

// saysOnce waits for a line and makes sure that it is not said again with every look.
func saysOnce(t *testing.T, said *words, parts ...string) {
	t.Helper()
	for _, part := range parts {
		waitUntil(t, "the agent says "+part, func() bool { return strings.Contains(said.String(), part) })
	}
	time.Sleep(20 * time.Millisecond)
	if lines := strings.Count(said.String(), parts[0]); lines != 1 {
		t.Errorf("%q was said %d times: %q", parts[0], lines, said)
	}
}

// A sidecar that ended here would be started again later and later, when the node may long be its own.
func TestNodeOfAnotherReleaseIsNamedAndWaitedFor(t *testing.T) {
	for _, mine := range []options{{release: "second", namespace: "team-b"}, {release: "first", namespace: "default"}} {
		o := node(t, "first", "team-b")
		mine.root, mine.node = o.root, o.node
		said, held := holding(t, mine)
		saysOnce(t, said, "node n7 is owned by release first in namespace team-b since 2031-02-03T04:05:06Z",
			"helm uninstall first -n team-b", "label another node")
		// Not even for a moment: an installer measures how long a lock stays free.
		if isLocked(t, o.root) {
			t.Error("the lock of another release was taken")
		}
		writeOwner(t, o.root, mine.release, mine.namespace)
		file := <-held
		if file == nil || !isLocked(t, o.root) {
			t.Error("the node was not held after it had become the release's own")
		}
		_ = file.Close()
	}
}

func TestInstallerIsWaitedFor(t *testing.T) {
	for name, before := range map[string]func(path string) error{
		"no file": os.Remove,
		"empty":   func(path string) error { return os.WriteFile(path, nil, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			o := node(t, "feat-a", "team")
			if err := before(filepath.Join(o.root, "owner")); err != nil {
				t.Fatal(err)
			}
			said, held := holding(t, o)
			saysOnce(t, said, "node n7 has no owner yet; waiting for the installer")
			writeOwner(t, o.root, "feat-a", "team")
			file := <-held
			if file == nil || !isLocked(t, o.root) {
				t.Error("not held once it was installed")
			}
			_ = file.Close()
		})
	}
}

// The agent of a new pod starts before its installer, which has to find the lock free.
func TestAnEarlierPodsOwnerFileIsLeftToTheInstaller(t *testing.T) {
	o := node(t, "feat-a", "team")
	o.pod = "mock-y3y"
	said, held := holding(t, o)
	saysOnce(t, said, "was installed by pod mock-x2x of this release; waiting for this pod's installer")
	if isLocked(t, o.root) {
		t.Error("the lock was taken before the installer")
	}
	text, _ := os.ReadFile(filepath.Join(o.root, "owner"))
	if err := os.WriteFile(filepath.Join(o.root, "owner"), []byte(strings.Replace(string(text), "x2x", "y3y", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if file := <-held; file == nil {
		t.Error("not held after its own installer")
	}
}

func TestAgentWaitsForAnEarlierPodOfItsRelease(t *testing.T) {
	o := node(t, "feat-a", "team")
	earlier := lockOwner(t, o.root)
	said, held := holding(t, o)
	saysOnce(t, said, filepath.Join(o.root, "owner")+": cannot be locked yet")
	select {
	case <-held:
		t.Fatal("did not wait")
	default:
	}
	_ = earlier.Close()
	if file := <-held; file == nil {
		t.Error("not held after the earlier pod")
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
	wantError(t, lockOpened(held, path), "it was replaced")
}
