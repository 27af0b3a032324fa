// SPDX-License-Identifier: Apache-2.0
//
// Calls of the node program gpu-sim, which makes every change of the node, and what is said about them: the same
// failure comes back every few seconds for as long as it lasts, and is worth one line.
package main

import (
	"context"
	"errors"
	"log"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Exit codes of the node program.
const (
	exitFine   = 0
	exitInput  = 1
	exitUsage  = 2
	exitBroken = 3
)

// result is what a call of the node program came to.
type result struct {
	code  int
	words string // both of its outputs, in lines
	notes string // what came on stderr
}

// call runs the node program with text on its standard input. Not having run, or not in time, is exitBroken.
func call(ctx context.Context, limit time.Duration, program, text string, args ...string) result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Stdin = strings.NewReader(text)
	command.WaitDelay = time.Second
	var output, problems strings.Builder
	command.Stdout, command.Stderr = &output, &problems
	err := command.Run()
	notes := strings.TrimSpace(problems.String())
	words := strings.TrimSpace(output.String() + notes)
	var ended *exec.ExitError
	switch {
	case err == nil:
		return result{exitFine, words, notes}
	case ctx.Err() == context.DeadlineExceeded:
		err = errors.New("no end within " + limit.String())
	case errors.As(err, &ended) && ended.Exited():
		return result{ended.ExitCode(), words, notes}
	}
	return result{exitBroken, strings.TrimSpace(words + "\n" + program + ": " + err.Error()), notes}
}

// mostSaid bounds what one subject has to say between two successes: texts may differ by a port or a time.
const mostSaid = 16

// sayer says each text about one subject once, until that subject was fine again.
type sayer struct {
	log   *log.Logger
	mutex sync.Mutex
	said  map[string]bool
}

func (s *sayer) problem(text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.said[text] || len(s.said) >= mostSaid {
		return
	}
	if s.said == nil {
		s.said = map[string]bool{}
	}
	s.said[text] = true
	for line := range strings.Lines(text) {
		s.log.Print(strings.TrimSpace(line))
	}
}

// fine makes every problem news again and tells whether there was one.
func (s *sayer) fine() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	had := len(s.said) > 0
	s.said = nil
	return had
}
