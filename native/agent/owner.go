// SPDX-License-Identifier: Apache-2.0
//
// The node's owner file: which release the node belongs to. The installer writes it; the agent holds a lock on
// it for as long as the release lives on the node, which is how a second release learns that the node is taken.
// The lock dies with its process, so a killed agent never blocks a node.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// owner is the content of the file, one key=value on a line.
type owner struct {
	Release, Namespace, Pod, Time string
}

func parseOwner(text string) owner {
	var who owner
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "release":
			who.Release = value
		case "namespace":
			who.Namespace = value
		case "pod":
			who.Pod = value
		case "time":
			who.Time = value
		}
	}
	return who
}

func (o owner) is(release, namespace string) bool {
	return o.Release == release && o.Namespace == namespace
}

// taken is the refusal; the installer words it in the same way.
func (o owner) taken(node string) error {
	return fmt.Errorf("node %s is owned by release %s in namespace %s since %s; uninstall it first (helm uninstall %s -n %s) or label another node",
		node, o.Release, o.Namespace, o.Time, o.Release, o.Namespace)
}

// holdNode locks the owner file for the release and returns it open; closing it gives the node up. While an
// earlier pod of the same release still ends, it waits; a node of another release is an error.
func holdNode(ctx context.Context, o options, poll time.Duration, log *log.Logger) (*os.File, error) {
	path := filepath.Join(o.root, "owner")
	for waiting := false; ; waiting = true {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%s: the node has no owner, got %w; the installer must run first", path, err)
		}
		locked := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if locked != nil && !errors.Is(locked, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("%s: cannot be locked, got %w", path, locked)
		}
		text, err := os.ReadFile(path)
		who := parseOwner(string(text))
		current := err == nil && sameFile(file, path)
		switch {
		case current && !who.is(o.release, o.namespace):
			_ = file.Close()
			return nil, who.taken(o.node)
		case current && locked == nil:
			return file, nil
		}
		_ = file.Close()
		if !waiting {
			log.Printf("node %s is still held by pod %s of this release; waiting for it to end", o.node, who.Pod)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(poll):
		}
	}
}

// sameFile tells whether path still names the open file: a lock on a file that was removed or replaced since it
// was opened is worth nothing.
func sameFile(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(opened, named)
}
