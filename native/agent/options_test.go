// SPDX-License-Identifier: Apache-2.0
package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// An agent that is cut short leaves a half-cleaned node that nobody cleans any more.
func TestWhatFollowsSIGTERMFitsIntoThePodsGracePeriod(t *testing.T) {
	const template = "../../charts/gpu-sim/templates/daemonset.yaml"
	text, err := os.ReadFile(template)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^ +terminationGracePeriodSeconds: (\d+)$`).FindAllSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("%s: terminationGracePeriodSeconds must stand there once, as a number, got %q", template, found)
	}
	seconds, err := strconv.Atoi(string(found[0][1]))
	if err != nil {
		t.Fatal(err)
	}
	l := normalLimits
	worst := l.ask.answer + l.ask.news + l.claim + l.socket + l.tidy
	if grace := time.Duration(seconds) * time.Second; worst >= grace {
		t.Errorf("after SIGTERM the agent may take %v, the pod has %v", worst, grace)
	}
}
