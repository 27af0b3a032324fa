// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"k8s.io/kubelet/pkg/apis/podresources/v1"
)

type kubelet struct {
	v1.UnimplementedPodResourcesListerServer
	answer *v1.ListPodResourcesResponse
}

func (k kubelet) List(context.Context, *v1.ListPodResourcesRequest) (*v1.ListPodResourcesResponse, error) {
	return k.answer, nil
}

func container(name string, devices ...*v1.ContainerDevices) *v1.ContainerResources {
	return &v1.ContainerResources{Name: name, Devices: devices}
}

func gpus(ids ...string) *v1.ContainerDevices {
	return &v1.ContainerDevices{ResourceName: "nvidia.com/gpu", DeviceIds: ids}
}

func TestListOverTheSocket(t *testing.T) {
	folder, err := os.MkdirTemp("/tmp", "s") // a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "kubelet.sock")
	socket, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	v1.RegisterPodResourcesListerServer(server, kubelet{answer: &v1.ListPodResourcesResponse{PodResources: []*v1.PodResources{
		{Namespace: "b", Name: "y", Containers: []*v1.ContainerResources{container("c", gpus("GPU-3"))}},
		{Namespace: "a", Name: "x", Containers: []*v1.ContainerResources{
			container("second", gpus("GPU-2"), gpus("GPU-1"), &v1.ContainerDevices{ResourceName: "other.io/x", DeviceIds: []string{"9"}}),
			container("first"),
		}},
	}}})
	go func() { _ = server.Serve(socket) }()
	defer server.Stop()
	got, err := list(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	expected := []grant{
		{"a", "x", "second", "nvidia.com/gpu", []string{"GPU-1", "GPU-2"}},
		{"a", "x", "second", "other.io/x", []string{"9"}},
		{"b", "y", "c", "nvidia.com/gpu", []string{"GPU-3"}},
	}
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("got %v, expected %v", got, expected)
	}
}

func TestNobodyListens(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := list(ctx, filepath.Join(t.TempDir(), "kubelet.sock"))
	if err == nil || !strings.Contains(err.Error(), "kubelet.sock") {
		t.Errorf("expected an error that names the socket, got %v", err)
	}
}
