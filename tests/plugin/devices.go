// SPDX-License-Identifier: Apache-2.0
//
// The node's GPUs as devices of nvidia.com/gpu. Any error but that of the memory fails the start: a node with half
// its GPUs would be worse than one that says what is wrong.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// gpu is one device; its Health is changed by the health check.
type gpu struct {
	pluginapi.Device
	index, path string
}

// devices are keyed by UUID.
type devices map[string]*gpu

// enumerate lists the GPUs. NVML is initialised twice, since the real plugin's two layers do so.
func (l *libraries) enumerate(failOnInitError bool) (devices, error) {
	if ret := l.nvml.Init(); ret != nvml.SUCCESS {
		klog.Errorf("Failed to initialize NVML: %v.", ret)
		if failOnInitError {
			return nil, fmt.Errorf("failed to construct resource managers: nvml init failed: %v", ret)
		}
		klog.Warningf("nvml init failed: %v", ret)
		return nil, nil
	}
	defer l.shutdown()
	if ret := l.nvml.Init(); ret != nvml.SUCCESS {
		return nil, fmt.Errorf("failed to construct resource managers: failed to initialize NVML: %v", ret)
	}
	defer l.shutdown()
	l.info.ResolvePlatform()

	found := devices{}
	err := l.device.VisitDevices(func(i int, d device.Device) error {
		if _, ret := d.GetName(); ret != nvml.SUCCESS {
			return fmt.Errorf("error getting product name for GPU: %v", ret)
		}
		if _, err := d.IsMigEnabled(); err != nil {
			return fmt.Errorf("error checking if MIG is enabled on GPU: %v", err)
		}
		one, err := describe(i, d)
		if err == nil {
			found[one.ID] = one
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("failed to construct resource managers: error building device map: %v", err)
	}
	return found, nil
}

func (l *libraries) shutdown() {
	if ret := l.nvml.Shutdown(); ret != nvml.SUCCESS {
		klog.Infof("Error shutting down NVML: %v", ret)
	}
}

func describe(i int, d device.Device) (*gpu, error) {
	uuid, ret := d.GetUUID()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("error getting UUID device: %v", ret)
	}
	minor, ret := d.GetMinorNumber()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("error getting device paths: error getting GPU device minor number: %v", ret)
	}
	topology, err := numaNode(d)
	if err != nil {
		return nil, fmt.Errorf("error getting device NUMA node: %v", err)
	}
	if _, ret := d.GetMemoryInfo(); ret != nvml.SUCCESS {
		klog.Warningf("Ignoring error getting device memory: %v", ret)
	}
	if _, _, ret := d.GetCudaComputeCapability(); ret != nvml.SUCCESS {
		return nil, fmt.Errorf("error getting device compute capability: %v", ret)
	}
	one := &gpu{index: strconv.Itoa(i), path: fmt.Sprintf("/dev/nvidia%d", minor)}
	one.ID, one.Health, one.Topology = uuid, pluginapi.Healthy, topology
	return one, nil
}

// numaNode reads sysfs under the address without its four leading zeros; no file and a negative node mean none.
func numaNode(d device.Device) (*pluginapi.TopologyInfo, error) {
	pci, ret := d.GetPciInfo()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("error getting PCI Bus Info of device: %v", ret)
	}
	address := make([]byte, 0, len(pci.BusId))
	for _, c := range pci.BusId {
		if c == 0 {
			break
		}
		address = append(address, byte(c))
	}
	id := strings.ToLower(strings.TrimPrefix(string(address), "0000"))
	text, err := os.ReadFile("/sys/bus/pci/devices/" + id + "/numa_node")
	if err != nil {
		return nil, nil
	}
	node, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("error parsing value for NUMA node: %v", err)
	}
	if node < 0 {
		return nil, nil
	}
	return &pluginapi.TopologyInfo{Nodes: []*pluginapi.NUMANode{{ID: node}}}, nil
}
