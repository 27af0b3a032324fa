// SPDX-License-Identifier: Apache-2.0
//
// What the tests of `run` share: a fake API, and an agent with a recording node program.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

var quick = limits{
	poll: time.Millisecond, retry: 5 * time.Millisecond,
	ask:   patience{answer: 200 * time.Millisecond, news: 300 * time.Millisecond},
	claim: 300 * time.Millisecond, socket: 300 * time.Millisecond, tidy: 5 * time.Second,
	reconcile: 10 * time.Millisecond, gap: time.Millisecond, again: 600 * time.Millisecond,
	sync: 300 * time.Millisecond, kubelet: time.Second, grace: 300 * time.Millisecond,
	program: 5 * time.Second, plugin: 300 * time.Millisecond, declare: 5 * time.Second,
}

func object(apiVersion, kind, namespace, name, uid string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetUID(types.UID(uid))
	return o
}

func aDaemonSet(uid string) *unstructured.Unstructured {
	return object("apps/v1", "DaemonSet", "gpus", "mock", uid)
}

func aNode() *unstructured.Unstructured { return object("v1", "Node", "", "n7", "70") }

func leaving(o *unstructured.Unstructured) *unstructured.Unstructured {
	now := metav1.Now()
	o.SetDeletionTimestamp(&now)
	return o
}

func api(objects ...runtime.Object) *fake.FakeDynamicClient {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	return fake.NewSimpleDynamicClientWithCustomListKinds(scheme, map[schema.GroupVersionResource]string{
		daemonSets: "DaemonSetList", namespaces: "NamespaceList", nodes: "NodeList", pods: "PodList", events: "EventList",
	}, objects...)
}

// refuse makes the API answer every request of these verbs with err; the agent may be running.
func refuse(client *fake.FakeDynamicClient, err error, verbs ...string) {
	client.Lock()
	defer client.Unlock()
	for _, verb := range verbs {
		client.PrependReactor(verb, "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
	}
}

var forbidden = apierrors.NewForbidden(daemonSets.GroupResource(), "mock", errors.New("no role"))

// words is a log that may be read while the agent writes it.
type words struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (w *words) Write(text []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.text.Write(text)
}

func (w *words) String() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.text.String()
}

func logTo(said *words) *log.Logger { return log.New(said, "", 0) }

// running is an agent with a node program that records its arguments and removes the root's owner file.
type running struct {
	options
	said      *words
	calls     string // the arguments of clean-node
	folder    string // calls, allocation and faults, as last given; fail-<command> makes one fail
	terminate func() error
}

func start(t *testing.T, client dynamic.Interface, change ...func(*options)) *running {
	t.Helper()
	r := begin(t, client, change...)
	waitUntil(t, "the node is held", func() bool { return isLocked(t, r.root) })
	return r
}

// begin does not wait until the agent holds its node.
func begin(t *testing.T, client dynamic.Interface, change ...func(*options)) *running {
	t.Helper()
	r := &running{options: node(t, "feat-a", "team"), said: &words{}}
	r.calls = filepath.Join(t.TempDir(), "calls")
	r.folder = t.TempDir()
	record := `echo "$@" >>%[1]s/calls; [ "$1" != allocate ] || cat >%[1]s/allocation; [ "$2" != declare ] || cat >%[1]s/faults
[ ! -e %[1]s/fail-$1 ] || . %[1]s/fail-$1
if [ "$1" = clean-node ]; then echo "$@" >>%[2]s; echo cleaned by the test; fi`
	r.program = script(t, fmt.Sprintf(record, r.folder, r.calls))
	for _, f := range change {
		f(&r.options)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx, r.options, quick, client, log.New(r.said, "", 0)) }()
	r.terminate = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = r.terminate() })
	return r
}

func (r *running) given(name string) string { return read(filepath.Join(r.folder, name)) }

func read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// called counts the calls that begin with words.
func (r *running) called(words string) int { return strings.Count("\n"+r.given("calls"), "\n"+words) }

// failing makes a command of the node program run text first.
func (r *running) failing(t *testing.T, command, text string) {
	t.Helper()
	path := filepath.Join(r.folder, "fail-"+command)
	if text == "" {
		_ = os.Remove(path)
		return
	}
	if err := os.WriteFile(path+".new", []byte(text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func (r *running) cleanings() string {
	text, _ := os.ReadFile(r.calls)
	return string(text)
}

func (r *running) mustKeep(t *testing.T, why string) {
	t.Helper()
	if err := r.terminate(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if got := r.cleanings(); got != "" {
		t.Errorf("the node was cleaned: %s", got)
	}
	if !strings.Contains(r.said.String(), "is kept: ") || !strings.Contains(r.said.String(), why) {
		t.Errorf("expected the node to be kept since %q, got %q", why, r.said)
	}
}

func (r *running) mustClean(t *testing.T, why string) {
	t.Helper()
	if err := r.terminate(); err != nil {
		t.Errorf("ended with %v", err)
	}
	expected := fmt.Sprintf("clean-node --root %s --release feat-a --namespace team\n", r.root)
	if got := r.cleanings(); got != expected {
		t.Errorf("node program was called with %q, expected %q", got, expected)
	}
	for _, part := range []string{"is cleaned: ", why, "cleaned by the test"} {
		if !strings.Contains(r.said.String(), part) {
			t.Errorf("log lacks %q: %q", part, r.said)
		}
	}
}

func watched(client *fake.FakeDynamicClient) func() bool {
	return func() bool {
		for _, action := range client.Actions() {
			if action.GetVerb() == "watch" {
				return true
			}
		}
		return false
	}
}

func waitUntil(t *testing.T, what string, predicate func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !predicate(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 5 s: %s", what)
		}
	}
}
