// SPDX-License-Identifier: Apache-2.0
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
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

var quick = limits{
	poll: time.Millisecond, retry: 5 * time.Millisecond,
	ask:   patience{answer: 200 * time.Millisecond, news: 300 * time.Millisecond},
	claim: 300 * time.Millisecond, socket: 300 * time.Millisecond, tidy: 5 * time.Second,
	reconcile: 10 * time.Millisecond, gap: time.Millisecond, again: 200 * time.Millisecond,
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

// refuse makes the API answer every request of these verbs with err.
func refuse(client *fake.FakeDynamicClient, err error, verbs ...string) {
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

// running is an agent with a node program that records its arguments and removes the root's owner file.
type running struct {
	options
	said      *words
	calls     string
	terminate func() error
}

func start(t *testing.T, client dynamic.Interface, change ...func(*options)) *running {
	t.Helper()
	r := &running{options: node(t, "feat-a", "team"), said: &words{}}
	r.calls = filepath.Join(t.TempDir(), "calls")
	r.program = filepath.Join(t.TempDir(), "gpu-sim")
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = clean-node ] || exit 0\necho \"$@\" >>%s\necho cleaned by the test\n", r.calls)
	if err := os.WriteFile(r.program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&r.options)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx, r.options, quick, client, log.New(r.said, "", 0)) }()
	r.terminate = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = r.terminate() })
	waitUntil(t, "the node is held", func() bool { return isLocked(t, r.root) })
	return r
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

func TestNodeIsKeptWhileTheDaemonSetIsThere(t *testing.T) {
	r := start(t, api(aDaemonSet("1"), aNode()))
	r.mustKeep(t, "the DaemonSet is there")
	if isLocked(t, r.root) {
		t.Error("the lock outlived the agent")
	}
}

// The order of an uninstall: DaemonSet deleted, permissions gone, pod told to end.
func TestDeletionThatWasWatchedIsKnownWhenTheAPIRefusesLater(t *testing.T) {
	client := api(aDaemonSet("1"))
	r := start(t, client)
	waitUntil(t, "the watch is open", watched(client))
	if err := client.Resource(daemonSets).Namespace("gpus").Delete(context.Background(), "mock", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	refuse(client, forbidden, "get", "list", "watch")
	r.mustClean(t, "DaemonSet gpus/mock was deleted")
}

func TestDeletionInProgressCounts(t *testing.T) {
	start(t, api(leaving(aDaemonSet("1")))).mustClean(t, "is being deleted")
}

func TestDaemonSetThatIsNotThereCounts(t *testing.T) {
	client := api()
	refuse(client, forbidden, "list", "watch")
	start(t, client).mustClean(t, "does not exist")
}

func TestReinstallationUnderTheSameNameCounts(t *testing.T) {
	client := api(aDaemonSet("1"))
	r := start(t, client)
	waitUntil(t, "the watch is open", watched(client))
	refuse(client, forbidden, "list", "watch")
	if err := client.Tracker().Update(daemonSets, aDaemonSet("2"), "gpus"); err != nil {
		t.Fatal(err)
	}
	r.mustClean(t, "was replaced by a new one of the same name")
}

func TestNamespaceInDeletionCounts(t *testing.T) {
	client := api(aDaemonSet("1"), leaving(object("v1", "Namespace", "", "gpus", "9")))
	start(t, client).mustClean(t, "in a namespace that is being deleted")
}

func TestNoAnswerKeepsTheNode(t *testing.T) {
	elsewhere := apierrors.NewGenericServerResponse(404, "get", daemonSets.GroupResource(), "", "404 page not found", 0, true)
	for name, err := range map[string]error{
		"connection refused": errors.New("connection refused"),
		"no role":            forbidden,
		"token expired":      apierrors.NewUnauthorized("token expired"),
		"404":                elsewhere,
	} {
		client := api(aDaemonSet("1"))
		refuse(client, err, "get", "list", "watch")
		t.Run(name, func(t *testing.T) { start(t, client).mustKeep(t, "no answer from the API") })
	}
}

func TestNewsThatComesWhileTheAPIRefusesIsWaitedFor(t *testing.T) {
	client := api(aDaemonSet("1"))
	r := start(t, client)
	waitUntil(t, "the watch is open", watched(client))
	client.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		go func() {
			time.Sleep(30 * time.Millisecond)
			_ = client.Tracker().Delete(daemonSets, "gpus", "mock")
		}()
		return true, nil, forbidden
	})
	r.mustClean(t, "was deleted")
}

// A watch that breaks is opened again, and the listing in between shows what was missed.
func TestDeletionDuringABrokenWatchIsSeen(t *testing.T) {
	client := api(aDaemonSet("1"))
	broken := make(chan struct{})
	client.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
		select {
		case <-broken:
			return false, nil, nil
		default:
			return true, nil, errors.New("connection reset")
		}
	})
	r := start(t, client)
	waitUntil(t, "the watch was tried", watched(client))
	if err := client.Tracker().Delete(daemonSets, "gpus", "mock"); err != nil {
		t.Fatal(err)
	}
	close(broken)
	refuse(client, forbidden, "get")
	r.mustClean(t, "is not in the list of the API server")
}

func TestFilesGoAfterThePluginsSocket(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "s") // a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket, err := net.Listen("unix", filepath.Join(dir, "nvidia-gpu.sock"))
	if err != nil {
		t.Fatal(err)
	}
	early := make(chan string, 1)
	r := start(t, api(), func(o *options) { o.pluginDir = dir })
	time.AfterFunc(100*time.Millisecond, func() { early <- r.cleanings(); _ = socket.Close() })
	begun := time.Now()
	if err := r.terminate(); err != nil {
		t.Fatal(err)
	}
	if got := <-early; got != "" {
		t.Errorf("cleaned while the plugin answered: %s", got)
	}
	if took := time.Since(begun); took < 100*time.Millisecond || strings.Contains(r.said.String(), "still accepts") {
		t.Errorf("did not wait for the socket (%s): %s", took, r.said)
	}
	if !strings.Contains(r.cleanings(), "--plugin-dir "+dir) {
		t.Errorf("was not cleaned: %q", r.cleanings())
	}
}

func TestPluginThatDoesNotEndDelaysCleaningOnlySoLong(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket, err := net.Listen("unix", filepath.Join(dir, "nvidia-gpu.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	// One that nobody listens on any more does not count.
	dead, err := net.Listen("unix", filepath.Join(dir, "nvidia-mig.sock"))
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = dead.Close()
	r := start(t, api(), func(o *options) { o.pluginDir = dir })
	if err := r.terminate(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.said.String(), "nvidia-gpu.sock still accepts connections") || r.cleanings() == "" {
		t.Errorf("expected a warning and a clean node, got %q, %q", r.said, r.cleanings())
	}
}

func TestFailedCleaningNamesTheRemedy(t *testing.T) {
	r := start(t, api(), func(o *options) {
		_ = os.WriteFile(o.program, []byte("#!/bin/sh\necho disk is read-only >&2\nexit 3\n"), 0o755)
	})
	wantError(t, r.terminate(), "node n7 could not be cleaned", "exit code 3", "gpu-sim clean-node --force")
	if !strings.Contains(r.said.String(), "disk is read-only") {
		t.Errorf("the node program's words are lost: %q", r.said)
	}
}
