// SPDX-License-Identifier: Apache-2.0
//
// Prints what a kubelet has given to which container, as its pod-resources service tells: one JSON list of objects
// {namespace, pod, container, resource, ids}, sorted. The truth that tests compare with what pods see.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/kubelet/pkg/apis/podresources/v1"
)

type grant struct {
	Namespace string   `json:"namespace"`
	Pod       string   `json:"pod"`
	Container string   `json:"container"`
	Resource  string   `json:"resource"`
	IDs       []string `json:"ids"`
}

func main() {
	socket := flag.String("socket", "/var/lib/kubelet/pod-resources/kubelet.sock", "the kubelet's pod-resources socket")
	timeout := flag.Duration("timeout", 10*time.Second, "how long an answer may take")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	grants, err := list(ctx, *socket)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(grants)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "podresources: %s: no list of pod resources, got %v; is a kubelet running there?\n", *socket, err)
		os.Exit(1)
	}
}

func list(ctx context.Context, socket string) ([]grant, error) {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	answer, err := v1.NewPodResourcesListerClient(connection).List(ctx, &v1.ListPodResourcesRequest{})
	if err != nil {
		return nil, err
	}
	return grants(answer), nil
}

// grants makes one entry of what a container has of a resource: the kubelet may tell it in parts, one for each NUMA
// node.
func grants(answer *v1.ListPodResourcesResponse) []grant {
	all := []grant{}
	for _, pod := range answer.PodResources {
		for _, container := range pod.Containers {
			ids := map[string][]string{}
			for _, devices := range container.Devices {
				ids[devices.ResourceName] = append(ids[devices.ResourceName], devices.DeviceIds...)
			}
			for resource, list := range ids {
				slices.Sort(list)
				all = append(all, grant{pod.Namespace, pod.Name, container.Name, resource, list})
			}
		}
	}
	slices.SortFunc(all, func(a, b grant) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod),
			cmp.Compare(a.Container, b.Container), cmp.Compare(a.Resource, b.Resource))
	})
	return all
}
