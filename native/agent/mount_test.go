// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestAMountThatStaysReadOnlyIsTold(t *testing.T) {
	const (
		other = "40 1 0:40 / /host rw - tmpfs x ro\n"
		good  = "43 40 0:41 / /host/gpu-sim rw,relatime shared:1 - ext4 /dev/a rw,discard\n"
		stuck = "43 40 0:41 / /host/gpu-sim ro,relatime - ext4 /dev/a rw,discard\n"
		disk  = "43 40 0:41 / /host/gpu-sim ro,relatime - ext4 /dev/a ro,discard\n"
	)
	for text, expected := range map[string]bool{
		"": false, other: false, other + good: false, other + stuck: true,
		other + disk:         false, // an error of the disk: a new container would be no better
		other + stuck + good: false, // the last one is what is seen
		"nonsense\n" + stuck: true,
	} {
		if got := readOnlyHere(text, "/host/gpu-sim"); got != expected {
			t.Errorf("%q: got %t", text, got)
		}
	}
	if readOnlyHere(ownMounts(), "/proc") {
		t.Error("this machine's /proc is said to be stuck")
	}
}

func TestTheAgentEndsToGetANewMount(t *testing.T) {
	ctx, end := context.WithCancelCause(context.Background())
	looks := 0
	watchMount(ctx, "/r", time.Millisecond, end, func() string {
		if looks++; looks < 3 {
			return "1 1 0:1 / /r rw - t x rw\n"
		}
		return "1 1 0:1 / /r ro - t x rw\n"
	})
	if looks != 3 || !errors.Is(context.Cause(ctx), errReadOnlyHere) {
		t.Errorf("after %d looks: %v", looks, context.Cause(ctx))
	}
}
