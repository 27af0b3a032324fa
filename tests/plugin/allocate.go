// SPDX-License-Identifier: Apache-2.0
//
// What the kubelet asks when a pod is admitted: which devices it should take, and what their container needs.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/NVIDIA/go-gpuallocator/gpuallocator"
	"github.com/google/uuid"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	cdiapi "tags.cncf.io/container-device-interface/pkg/cdi"
)

const (
	visibleDevices = "NVIDIA_VISIBLE_DEVICES"
	mountedDevices = "/var/run/nvidia-container-devices"
)

// controlNodes go with every GPU where the plugin's own container has them.
var controlNodes = []string{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"}

// GetPreferredAllocation uses NVIDIA's allocator, which asks NVML for the links between all pairs of GPUs each time.
// One failing pair rejects the pod.
func (p *plugin) GetPreferredAllocation(_ context.Context, r *pluginapi.PreferredAllocationRequest) (*pluginapi.PreferredAllocationResponse, error) {
	response := &pluginapi.PreferredAllocationResponse{}
	for _, request := range r.ContainerRequests {
		ids, err := p.prefer(request.AvailableDeviceIDs, request.MustIncludeDeviceIDs, int(request.AllocationSize))
		if err != nil {
			return nil, fmt.Errorf("error getting list of preferred allocation devices: %v", err)
		}
		response.ContainerResponses = append(response.ContainerResponses, &pluginapi.ContainerPreferredAllocationResponse{DeviceIDs: ids})
	}
	return response, nil
}

func (p *plugin) prefer(available, required []string, size int) ([]string, error) {
	linked, err := gpuallocator.NewDevices(gpuallocator.WithNvmlLib(p.libraries.nvml))
	if err != nil {
		return nil, fmt.Errorf("unable to get device link information: %w", err)
	}
	free, err := linked.Filter(available)
	if err != nil {
		return nil, fmt.Errorf("unable to retrieve list of available devices: %v", err)
	}
	fixed, err := linked.Filter(required)
	if err != nil {
		return nil, fmt.Errorf("unable to retrieve list of required devices: %v", err)
	}
	var ids []string
	for _, chosen := range gpuallocator.NewBestEffortPolicy().Allocate(free, fixed, size) {
		ids = append(ids, chosen.UUID)
	}
	return ids, nil
}

func (p *plugin) Allocate(_ context.Context, r *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	response := &pluginapi.AllocateResponse{}
	for _, request := range r.ContainerRequests {
		for _, id := range request.DevicesIds {
			if p.devices[id] == nil {
				return nil, fmt.Errorf("invalid allocation request for %q: invalid request: unknown device: %s", resource, id)
			}
		}
		one, err := p.container(request.DevicesIds)
		if err != nil {
			return nil, fmt.Errorf("failed to get allocate response: %v", err)
		}
		response.ContainerResponses = append(response.ContainerResponses, one)
	}
	return response, nil
}

// container is the answer for one container, by every strategy in force.
func (p *plugin) container(uuids []string) (*pluginapi.ContainerAllocateResponse, error) {
	s, answer := p.settings, &pluginapi.ContainerAllocateResponse{Envs: map[string]string{}}
	ids := slices.Clone(uuids)
	if s.deviceIDStrategy == "index" {
		for i, id := range uuids {
			ids[i] = p.devices[id].index
		}
	}
	if s.cdiEnabled() {
		if err := p.addCDI(answer, ids); err != nil {
			return nil, fmt.Errorf("failed to get allocate response for CDI: %v", err)
		}
	}
	for _, extra := range []struct {
		name    string
		enabled bool
	}{{"GDRCOPY", s.gdrcopy}, {"GDS", s.gds}, {"MOFED", s.mofed}} {
		if extra.enabled {
			answer.Envs["NVIDIA_"+extra.name] = "enabled"
		}
	}
	if s.onlyCDI() {
		return answer, nil
	}
	if slices.Contains(s.strategies, "envvar") {
		answer.Envs[visibleDevices] = strings.Join(ids, ",")
	}
	if slices.Contains(s.strategies, "volume-mounts") {
		answer.Envs[visibleDevices] = mountedDevices
		for _, id := range ids {
			answer.Mounts = append(answer.Mounts, &pluginapi.Mount{HostPath: "/dev/null", ContainerPath: filepath.Join(mountedDevices, id)})
		}
	}
	if s.passDeviceSpecs {
		answer.Devices = p.nodes(uuids)
	}
	return answer, nil
}

func (p *plugin) addCDI(answer *pluginapi.ContainerAllocateResponse, ids []string) error {
	names := p.cdi.names(ids)
	if len(names) == 0 {
		return nil
	}
	if slices.Contains(p.settings.strategies, "cdi-annotations") {
		annotations, err := cdiapi.UpdateAnnotations(map[string]string{}, "nvidia-device-plugin", uuid.NewString(), names)
		if err != nil {
			return fmt.Errorf("failed to add CDI annotations: %v", err)
		}
		answer.Annotations = map[string]string{}
		for key, value := range annotations {
			answer.Annotations[p.settings.cdiAnnotationPrefix+strings.TrimPrefix(key, cdiapi.AnnotationPrefix)] = value
		}
	}
	if slices.Contains(p.settings.strategies, "cdi-cri") {
		for _, name := range names {
			answer.CdiDevices = append(answer.CdiDevices, &pluginapi.CDIDevice{Name: name})
		}
	}
	return nil
}

func (p *plugin) nodes(uuids []string) []*pluginapi.DeviceSpec {
	var specs []*pluginapi.DeviceSpec
	add := func(path string) {
		specs = append(specs, &pluginapi.DeviceSpec{ContainerPath: path, HostPath: filepath.Join(p.settings.devRoot, path), Permissions: "rw"})
	}
	for _, path := range controlNodes {
		if _, err := os.Stat(path); err == nil {
			add(path)
		}
	}
	for _, id := range uuids {
		add(p.devices[id].path)
	}
	return specs
}
