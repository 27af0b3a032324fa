// SPDX-License-Identifier: Apache-2.0
//
// Which container holds which GPU, as the kubelet's pod-resources service tells. Asked over a new connection each
// time: the kubelet makes its socket anew at every start, and a connection to the old one would wait for ever.
package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/kubelet/pkg/apis/podresources/v1"
)

// resourcePrefix is what the names of a GPU's resources begin with: nvidia.com/gpu, nvidia.com/gpu.shared, ….
const resourcePrefix = "nvidia.com/"

// answerSize is the kubelet's own limit for this service; gRPC's default is too small for a node full of pods.
const answerSize = 16 << 20

// hold is one GPU in the hands of one container.
type hold struct{ uuid, namespace, pod, container string }

func compareHolds(a, b hold) int {
	return cmp.Or(cmp.Compare(a.uuid, b.uuid), cmp.Compare(a.namespace, b.namespace),
		cmp.Compare(a.pod, b.pod), cmp.Compare(a.container, b.container))
}

func listHolds(ctx context.Context, socket string, limit time.Duration) ([]hold, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(answerSize)), grpc.WithNoProxy())
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	answer, err := v1.NewPodResourcesListerClient(connection).List(ctx, &v1.ListPodResourcesRequest{})
	if err != nil {
		return nil, err
	}
	return holds(answer), nil
}

// holds is sorted and without doubles: the kubelet tells a container's devices in parts, one for each NUMA node, and
// a container may have two shares of one GPU.
func holds(answer *v1.ListPodResourcesResponse) []hold {
	all := []hold{}
	for _, pod := range answer.GetPodResources() {
		for _, container := range pod.GetContainers() {
			for _, devices := range container.GetDevices() {
				if !strings.HasPrefix(devices.GetResourceName(), resourcePrefix) {
					continue
				}
				for _, id := range devices.GetDeviceIds() {
					// A share of a GPU is registered as <uuid>::<number>.
					uuid, _, _ := strings.Cut(id, "::")
					all = append(all, hold{uuid, pod.GetNamespace(), pod.GetName(), container.GetName()})
				}
			}
		}
	}
	slices.SortFunc(all, compareHolds)
	return slices.Compact(all)
}

func sorted(set map[hold]time.Time) []hold {
	return slices.SortedFunc(maps.Keys(set), compareHolds)
}
