// SPDX-License-Identifier: Apache-2.0
//
// Gives the node back when the release has left it. The pod may be told to end at any moment: before its installer ran,
// while that writes, or after; only what is the release's own is removed, and only once nobody else is at it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// errNothing says why a node that is not held needs no cleaning.
type errNothing struct{ error }

// claimRemains locks a node that this pod did not hold yet, to clean what its installer may have left. The installer ends
// at the same signal, so its lock is waited for; one that outlives the wait is cut short together with this pod.
func claimRemains(o options, limit, poll time.Duration) (*os.File, error) {
	path := filepath.Join(o.root, "owner")
	for deadline := time.Now().Add(limit); ; time.Sleep(poll) {
		text, err := os.ReadFile(path)
		who := parseOwner(string(text))
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil, errNothing{errors.New("it has no owner")}
		case err != nil:
			return nil, err
		case who.Release != "" && !who.is(o.release, o.namespace):
			return nil, errNothing{who.taken(o.node)}
		}
		file, err := lockFile(path)
		if err == nil {
			return file, nil
		}
		if time.Now().After(deadline) {
			if !who.mine(o) || who.Release == "" {
				return nil, errNothing{fmt.Errorf("pod %s of this release holds it", who.Pod)}
			}
			return nil, nil
		}
	}
}

// clean runs the node program, which knows what was put where.
func clean(ctx context.Context, o options, limit time.Duration, log *log.Logger) error {
	args := []string{"clean-node", "--root", o.root, "--release", o.release, "--namespace", o.namespace}
	if o.pluginDir != "" {
		args = append(args, "--plugin-dir", o.pluginDir)
	}
	if o.cdiDir != "" {
		args = append(args, "--cdi-dir", o.cdiDir)
	}
	done := call(ctx, limit, o.program, "", args...)
	for line := range strings.Lines(done.words) {
		log.Print(strings.TrimSpace(line))
	}
	if done.code != exitFine {
		return fmt.Errorf("node %s could not be cleaned: %s %s: exit code %d; clean it by hand (gpu-sim clean-node --force)",
			o.node, o.program, strings.Join(args, " "), done.code)
	}
	return nil
}

// waitForPlugin waits until no socket of the device plugin answers and gives the one that still does at the end.
func waitForPlugin(dir string, limit, poll time.Duration) string {
	if dir == "" {
		return ""
	}
	for deadline := time.Now().Add(limit); ; time.Sleep(poll) {
		if socket := answering(dir); socket == "" || time.Now().After(deadline) {
			return socket
		}
	}
}
