// SPDX-License-Identifier: Apache-2.0
//
// The node's directory as this container has it. A container that started while the host's file system was read-only
// keeps a read-only mount when that is writable again; a new container gets a new mount.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

var errReadOnlyHere = errors.New("is mounted read-only in this container, the host's file system is writable again; ending, to be started with a new mount")

// watchMount ends ctx, with errReadOnlyHere as cause, when the directory cannot become writable in this container.
func watchMount(ctx context.Context, root string, every time.Duration, end context.CancelCauseFunc, mounts func() string) {
	for ctx.Err() == nil {
		if readOnlyHere(mounts(), root) {
			end(fmt.Errorf("%s: %w", root, errReadOnlyHere))
			return
		}
		pause(ctx, every, nil)
	}
}

func ownMounts() string {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	return string(text)
}

// readOnlyHere looks for the last mount on root: its own options say ro, its file system's do not.
func readOnlyHere(mountinfo, root string) bool {
	found := false
	for line := range strings.Lines(mountinfo) {
		own, system, ok := strings.Cut(line, " - ")
		fields, rest := strings.Fields(own), strings.Fields(system)
		if !ok || len(fields) < 6 || len(rest) < 3 || fields[4] != root {
			continue
		}
		found = slices.Contains(strings.Split(fields[5], ","), "ro") && !slices.Contains(strings.Split(rest[2], ","), "ro")
	}
	return found
}
