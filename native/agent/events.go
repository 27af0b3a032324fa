// SPDX-License-Identifier: Apache-2.0
//
// Events about pods and the node. Whoever tells one tells it once, so that client-go's recorder, which counts repetitions
// and needs every type of the core API for it, is not worth its 4 MB. Nothing waits for an Event.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var events = schema.GroupVersionResource{Version: "v1", Resource: "events"}

const (
	longestEvent = 1024 // what the API server takes
	eventsQueued = 32   // for an API that does not answer; more are dropped
	eventTries   = 5
)

// recorder writes Events one after another, in its own time.
type recorder struct {
	client dynamic.Interface
	host   string
	retry  time.Duration
	say    *sayer
	queue  chan *unstructured.Unstructured
}

func newRecorder(client dynamic.Interface, host string, retry time.Duration, log *log.Logger) *recorder {
	return &recorder{client: client, host: host, retry: retry, say: &sayer{log: log}, queue: make(chan *unstructured.Unstructured, eventsQueued)}
}

// tell records an Event; kind is Pod or Node, eventType Normal or Warning.
func (r *recorder) tell(kind string, about *seen, eventType, reason, message string) {
	select {
	case r.queue <- r.event(kind, about, eventType, reason, message):
	default:
		r.say.problem("too many Events are waiting for the API; the newest are lost")
	}
}

func (r *recorder) event(kind string, about *seen, eventType, reason, message string) *unstructured.Unstructured {
	message = strings.ToValidUTF8(message, "?")
	if len(message) > longestEvent {
		message = strings.ToValidUTF8(message[:longestEvent-3], "") + "..."
	}
	now := time.Now()
	stamp := now.UTC().Format(time.RFC3339)
	event := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event", "type": eventType, "reason": reason, "message": message,
		"involvedObject": map[string]any{"apiVersion": "v1", "kind": kind, "namespace": about.Namespace, "name": about.Name, "uid": string(about.UID)},
		"source":         map[string]any{"component": "gpu-sim-agent", "host": r.host},
		"firstTimestamp": stamp, "lastTimestamp": stamp, "count": int64(1),
	}}
	event.SetName(fmt.Sprintf("%s.%x", about.Name, now.UnixNano()))
	// Where the Events of objects without a namespace go.
	event.SetNamespace(metav1.NamespaceDefault)
	if about.Namespace != "" {
		event.SetNamespace(about.Namespace)
	}
	return event
}

func (r *recorder) follow(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case event := <-r.queue:
			r.write(ctx, event)
		}
	}
}

func (r *recorder) write(ctx context.Context, event *unstructured.Unstructured) {
	wait := r.retry
	for try := 0; try < eventTries && ctx.Err() == nil; try++ {
		_, err := r.client.Resource(events).Namespace(event.GetNamespace()).Create(ctx, event, metav1.CreateOptions{})
		if err == nil {
			r.say.fine()
			return
		}
		r.say.problem(fmt.Sprintf("Events cannot be written: %v", err))
		pause(ctx, wait, nil)
		wait *= 3
	}
}
