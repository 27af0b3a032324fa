// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gpu-sim")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestResultsOfTheNodeProgram(t *testing.T) {
	for _, c := range []struct {
		text     string
		limit    time.Duration
		expected result
	}{
		{`cat; echo "$@" >&2`, 5 * time.Second, result{0, "on its input\nallocate --root /r", "allocate --root /r"}},
		{`echo wrong; exit 1`, 5 * time.Second, result{1, "wrong", ""}},
		{`exit 2`, 5 * time.Second, result{2, "", ""}},
		{`exit 3`, 5 * time.Second, result{3, "", ""}},
	} {
		if got := call(context.Background(), c.limit, script(t, c.text), "on its input\n", "allocate", "--root", "/r"); got != c.expected {
			t.Errorf("%s: got %v, expected %v", c.text, got, c.expected)
		}
	}
	for text, expected := range map[string]string{
		"echo begun; exec sleep 30": "begun\n.*no end within 200ms",
		"kill -9 $$":                "signal: killed",
	} {
		got := call(context.Background(), 200*time.Millisecond, script(t, text), "")
		for _, part := range strings.Split(expected, "\n.*") {
			if got.code != 3 || !strings.Contains(got.words, part) {
				t.Errorf("%s: got %v, expected %q", text, got, part)
			}
		}
	}
	if got := call(context.Background(), time.Second, "/nowhere/gpu-sim", ""); got.code != 3 || !strings.Contains(got.words, "no such file") {
		t.Errorf("got %v", got)
	}
}

func TestEachProblemIsSaidOnceUntilItIsOver(t *testing.T) {
	said := &words{}
	s := &sayer{log: log.New(said, "", 0)}
	if s.fine() {
		t.Error("there was no problem")
	}
	for range 3 {
		s.problem("a\nb")
		s.problem("c")
	}
	if !s.fine() {
		t.Error("there were problems")
	}
	s.problem("c")
	if got := said.String(); got != "a\nb\nc\nc\n" {
		t.Errorf("got %q", got)
	}
}

// Texts that differ each time must not fill a log, nor the memory.
func TestProblemsAreBounded(t *testing.T) {
	said := &words{}
	s := &sayer{log: log.New(said, "", 0)}
	for i := range 1000 {
		s.problem(fmt.Sprintf("port %d", i))
	}
	if lines := strings.Count(said.String(), "\n"); lines != mostSaid || len(s.said) != mostSaid {
		t.Errorf("%d lines, %d remembered, expected %d", lines, len(s.said), mostSaid)
	}
}

func TestFailingNodeProgramIsNamedOnceAndTriedAgain(t *testing.T) {
	k := aKubelet(t)
	r := allocating(t, k, api(aNode()))
	r.becomes(t, "")
	r.failing(t, "allocate", "echo the disk is full >&2; exit 3")
	k.says(granted("b", "y", container("c", gpus("GPU-3"))))
	before := r.called("allocate")
	// More than fit into the time if each waited for quick.again.
	waitUntil(t, "many tries", func() bool { return r.called("allocate") > before+10 })
	r.failing(t, "allocate", "echo gpu-sim: cut to 5 MiB >&2; echo 1 holder")
	waitUntil(t, "its notes", func() bool { return strings.Contains(r.said.String(), "cut to 5 MiB") })
	r.terminate()
	got := r.said.String()
	for _, part := range []string{"allocate: exit code 3; trying again", "the disk is full", "cut to 5 MiB"} {
		if strings.Count(got, part) != 1 {
			t.Errorf("%q should be said once: %q", part, got)
		}
	}
	if strings.Contains(got, "1 holder") {
		t.Errorf("a success is no news: %q", got)
	}
}
