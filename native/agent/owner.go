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

// mine tells whether the node was installed for the release by this very pod. An earlier pod's name in the file means
// that the installer of this pod has yet to run, and it must find the lock free.
func (o owner) mine(wanted options) bool {
	return o.is(wanted.release, wanted.namespace) && (o.Pod == wanted.pod || o.Pod == "" || wanted.pod == "")
}

// holdNode locks the owner file once it is this pod's, and returns it open; closing it gives the node up. It waits for
// as long as the installer has not run, an earlier pod of the release still ends or the node is another release's: the
// installer, which starts after the agent, ends with an error that says so.
func holdNode(ctx context.Context, o options, poll time.Duration, log *log.Logger) (*os.File, error) {
	path := filepath.Join(o.root, "owner")
	say := sayer{log: log}
	for ctx.Err() == nil {
		text, err := os.ReadFile(path)
		who := parseOwner(string(text))
		switch {
		case errors.Is(err, os.ErrNotExist) || err == nil && who.Release == "":
			say.problem(fmt.Sprintf("node %s has no owner yet; waiting for the installer", o.node))
		case err != nil:
			say.problem(fmt.Sprintf("%s: cannot be read, got %v; trying again", path, err))
		case !who.is(o.release, o.namespace):
			say.problem(who.taken(o.node).Error())
		case !who.mine(o):
			say.problem(fmt.Sprintf("node %s was installed by pod %s of this release; waiting for this pod's installer", o.node, who.Pod))
		default:
			file, err := lockFile(path)
			if err == nil {
				return file, nil
			}
			say.problem(fmt.Sprintf("%s: cannot be locked yet, got %v; waiting", path, err))
		}
		pause(ctx, poll, nil)
	}
	return nil, ctx.Err()
}

// lockFile never waits.
func lockFile(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := lockOpened(file, path); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// lockOpened fails on a file that has lost its name since it was opened, too.
func lockOpened(file *os.File, path string) error {
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	if !sameFile(file, path) {
		return errors.New("it was replaced")
	}
	return nil
}

// stillHeld tells whether a lock had before is still worth something: somebody may have emptied the root by hand.
func stillHeld(file *os.File, o options) bool {
	path := filepath.Join(o.root, "owner")
	text, err := os.ReadFile(path)
	return err == nil && parseOwner(string(text)).mine(o) && sameFile(file, path)
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
