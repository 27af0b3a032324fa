// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"k8s.io/kubelet/pkg/apis/podresources/v1"
)

// kubelet is a pod-resources service whose answer may change.
type kubelet struct {
	v1.UnimplementedPodResourcesListerServer
	socket string
	server *grpc.Server

	mutex  sync.Mutex
	answer []*v1.PodResources
	asked  int
}

func (k *kubelet) List(context.Context, *v1.ListPodResourcesRequest) (*v1.ListPodResourcesResponse, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.asked++
	return &v1.ListPodResourcesResponse{PodResources: k.answer}, nil
}

func (k *kubelet) questions() int {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.asked
}

func (k *kubelet) says(answer ...*v1.PodResources) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.answer = answer
}

// start listens at the socket, which is made anew as the kubelet does.
func (k *kubelet) start(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("unix", k.socket)
	if err != nil {
		t.Fatal(err)
	}
	k.server = grpc.NewServer()
	v1.RegisterPodResourcesListerServer(k.server, k)
	server := k.server
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
}

func aKubelet(t *testing.T, answer ...*v1.PodResources) *kubelet {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "s") // a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	k := &kubelet{socket: filepath.Join(dir, "kubelet.sock"), answer: answer}
	k.start(t)
	return k
}

func container(name string, devices ...*v1.ContainerDevices) *v1.ContainerResources {
	return &v1.ContainerResources{Name: name, Devices: devices}
}

func devices(resource string, ids ...string) *v1.ContainerDevices {
	return &v1.ContainerDevices{ResourceName: resource, DeviceIds: ids}
}

func gpus(ids ...string) *v1.ContainerDevices { return devices("nvidia.com/gpu", ids...) }

func granted(namespace, name string, containers ...*v1.ContainerResources) *v1.PodResources {
	return &v1.PodResources{Namespace: namespace, Name: name, Containers: containers}
}

func TestHoldsAreSortedAndWithoutDoubles(t *testing.T) {
	k := aKubelet(t,
		granted("b", "y", container("c", gpus("GPU-3"), gpus("GPU-1"))),
		granted("a", "x", container("second", devices("nvidia.com/gpu.shared", "GPU-2::1", "GPU-2::0"), devices("other.io/x", "GPU-9")),
			container("first"), container("third", gpus("GPU-2::7"))),
	)
	got, err := listHolds(context.Background(), k.socket, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	expected := []hold{{"GPU-1", "b", "y", "c"}, {"GPU-2", "a", "x", "second"}, {"GPU-2", "a", "x", "third"}, {"GPU-3", "b", "y", "c"}}
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("got %v, expected %v", got, expected)
	}
}

// A node full of pods is more than gRPC takes by default.
func TestLongAnswer(t *testing.T) {
	long := make([]byte, 6<<20)
	for i := range long {
		long[i] = 'x'
	}
	k := aKubelet(t, granted("a", "x", container("c", gpus("GPU-5", string(long)))))
	got, err := listHolds(context.Background(), k.socket, 5*time.Second)
	if err != nil || len(got) != 2 || got[0].uuid != "GPU-5" {
		t.Errorf("got %d holds, %v", len(got), err)
	}
}

func TestKubeletThatIsNotThereOrSilent(t *testing.T) {
	_, err := listHolds(context.Background(), filepath.Join(t.TempDir(), "kubelet.sock"), time.Second)
	wantError(t, err, "kubelet.sock", "no such file")

	dir, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	silent, err := net.Listen("unix", filepath.Join(dir, "kubelet.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	begun := time.Now()
	_, err = listHolds(context.Background(), filepath.Join(dir, "kubelet.sock"), 100*time.Millisecond)
	wantError(t, err, "DeadlineExceeded")
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("waited %s for a silent kubelet", took)
	}
}
