// SPDX-License-Identifier: Apache-2.0
//
// Faults that are declared rather than raised: those of the values and those of the node's annotation. The full set goes
// to `gpu-sim ctl declare`, which says what is wrong with it; that, or that it was applied, becomes an Event on the Node.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	faultsAnnotation = "gpu-sim.io/faults"
	dialLimit        = time.Second
)

// declarer keeps the declared faults of the node equal to what is asked for.
type declarer struct {
	options
	limit   limits
	api     *mirror
	events  *recorder
	log     *log.Logger
	program *sayer

	registered bool      // the plugin was there, or was waited for long enough
	tried      time.Time // the last call; zero: not yet
	text       string    // what that call was given
	applied    bool      // and whether it took it
	told       string    // the last Event
}

func newDeclarer(o options, limit limits, api *mirror, events *recorder, log *log.Logger) *declarer {
	return &declarer{options: o, limit: limit, api: api, events: events, log: log, program: &sayer{log: log}}
}

func (d *declarer) follow(ctx context.Context) {
	d.tried = time.Time{}
	for ctx.Err() == nil {
		// Until the API has told of the node, its annotation is not known, and what it declares must not be cleared.
		if node := d.api.thisNode(); node != nil {
			d.reconcile(ctx, node)
		}
		pause(ctx, d.limit.gap, nil)
		pause(ctx, d.limit.reconcile-d.limit.gap, d.api.nodeChanged)
	}
}

func (d *declarer) reconcile(ctx context.Context, node *seen) {
	text := declared(d.faults, node.Annotations[faultsAnnotation])
	fresh := d.tried.IsZero() || text != d.text
	// An empty set that was taken stays taken; one that was refused may be right after an upgrade, but not at once.
	if !fresh && (text == "" && d.applied || !d.applied && time.Since(d.tried) < d.limit.again) {
		return
	}
	if text != "" {
		d.waitForPlugin(ctx)
	}
	args := []string{"ctl", "declare", "--root", d.root}
	if d.pluginDir != "" {
		args = append(args, "--plugin-dir", d.pluginDir)
	}
	done := call(ctx, d.limit.declare, d.options.program, text, args...)
	if ctx.Err() != nil {
		return
	}
	if done.code != exitFine && done.code != exitInput && done.code != exitUsage {
		d.program.problem(fmt.Sprintf("%s ctl declare: exit code %d; trying again\n%s", d.options.program, done.code, done.words))
		d.tried = time.Time{}
		return
	}
	d.program.fine()
	d.tried, d.text, d.applied = time.Now(), text, done.code == exitFine
	d.acknowledge(node, text, done)
}

// acknowledge tells once of each outcome. A set that holds is declared again and again, in which the node program may
// find new words; those are of no interest, while a new reason for a refusal is.
func (d *declarer) acknowledge(node *seen, text string, done result) {
	set := strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")
	eventType, reason, outcome := "Normal", "FaultsApplied", set
	if done.code != exitFine {
		eventType, reason, outcome = "Warning", "FaultsRefused", set+"\n"+done.words
	}
	outcome = reason + "\n" + outcome
	first := d.told == ""
	if outcome == d.told {
		return
	}
	d.told = outcome
	if text == "" && reason == "FaultsApplied" {
		if !first {
			d.events.tell("Node", node, eventType, reason, "no faults are declared any more")
		}
		return
	}
	// The node program's own name on each line says nothing here; and lists of events show one line.
	words := strings.TrimSpace(strings.ReplaceAll("\n"+done.words, "\ngpu-sim: ", "\n"))
	words = strings.ReplaceAll(words, "\n", "; ")
	message := strings.Trim(set+": "+words, ": ")
	if reason == "FaultsRefused" {
		message = strings.ReplaceAll(words, "stdin:", "line ") + "; refused with it: " + set + "; what was declared before stays"
	}
	d.log.Printf("%s: %s", reason, message)
	d.events.tell("Node", node, eventType, reason, message)
}

// declared is the set for the node program: one fault on a line.
func declared(values []string, annotation string) string {
	var text strings.Builder
	for _, line := range append(append([]string{}, values...), strings.FieldsFunc(annotation, func(r rune) bool {
		return r == '\n' || r == '\r' || r == ';'
	})...) {
		if line = strings.TrimSpace(line); line != "" {
			text.WriteString(line + "\n")
		}
	}
	return text.String()
}

// waitForPlugin waits, once, until the device plugin has registered: an Xid is an event, and one that nobody listens to
// is lost; and the plugin does not start on a node with a lost GPU.
func (d *declarer) waitForPlugin(ctx context.Context) {
	if d.registered || d.pluginDir == "" {
		return
	}
	for deadline := time.Now().Add(d.limit.plugin); ctx.Err() == nil; pause(ctx, d.limit.poll*4, nil) {
		checkpoint := filepath.Join(d.pluginDir, "kubelet_internal_checkpoint")
		if answering(d.pluginDir) != "" &&
			call(ctx, d.limit.program, d.options.program, "", "ready", "--root", d.root, "--checkpoint", checkpoint).code == exitFine {
			break
		}
		if time.Now().After(deadline) {
			d.log.Printf("the device plugin has not registered within %s; its faults are declared all the same", d.limit.plugin)
			break
		}
	}
	d.registered = true
}

// answering gives a socket of the device plugin that accepts connections, or nothing. Only a refusal means that nobody
// listens: a plugin may be slow.
func answering(dir string) string {
	found := ""
	sockets, _ := filepath.Glob(filepath.Join(dir, "nvidia*.sock"))
	for _, socket := range sockets {
		connection, err := net.DialTimeout("unix", socket, dialLimit)
		if err == nil {
			_ = connection.Close()
		}
		if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, os.ErrNotExist) {
			found = socket
		}
	}
	return found
}
