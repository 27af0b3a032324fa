// SPDX-License-Identifier: Apache-2.0
//
// A real client of NVML, on the libraries with which NVIDIA's own Go programs reach it. Each command prints one line
// of JSON about what it saw; an answer that these libraries do not accept is an error and exit code 1.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/NVIDIA/go-gpuallocator/gpuallocator"
	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

const usage = `usage: nvml-client [-library FILE] COMMAND

  devices       every GPU through go-nvlib, with its process lists
  links         the table of links between GPUs, as the device plugin's allocator builds it
  wait MS       register for events on every GPU and wait that long for one
  cycle N       initialise, ask, shut down, N times over
`

func main() {
	library := flag.String("library", "libnvidia-ml.so.1", "the library to open")
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flag.Parse()
	lib := nvml.New(nvml.WithLibraryPath(*library))
	seen, err := command(lib, flag.Args())
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(seen)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "nvml-client: %v\n", err)
		os.Exit(1)
	}
}

func command(lib nvml.Interface, words []string) (any, error) {
	number := 0
	if len(words) == 2 {
		var err error
		if number, err = strconv.Atoi(words[1]); err != nil {
			return nil, fmt.Errorf("not a number, got %q", words[1])
		}
	}
	switch {
	case len(words) == 1 && words[0] == "devices":
		return devices(lib)
	case len(words) == 1 && words[0] == "links":
		return links(lib)
	case len(words) == 2 && words[0] == "wait":
		return wait(lib, number)
	case len(words) == 2 && words[0] == "cycle":
		return cycle(lib, number)
	}
	return nil, fmt.Errorf("not a command, got %q\n%s", words, usage)
}

// initialised runs f between Init and Shutdown.
func initialised(lib nvml.Interface, f func() error) error {
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return fmt.Errorf("Init: %v", ret)
	}
	err := f()
	if ret := lib.Shutdown(); err == nil && ret != nvml.SUCCESS {
		err = fmt.Errorf("Shutdown: %v", ret)
	}
	return err
}

type gpu struct {
	Index             int    `json:"index"`
	UUID              string `json:"uuid"`
	Name              string `json:"name"`
	MemoryMiB         uint64 `json:"memory_mib"`
	PCIBusID          string `json:"pci_bus_id"`
	Minor             int    `json:"minor"`
	ComputeCapability string `json:"compute_capability"`
	Architecture      string `json:"architecture"`
	Brand             string `json:"brand"`
	MIGCapable        bool   `json:"mig_capable"`
	MIGEnabled        bool   `json:"mig_enabled"`
	FabricAttached    bool   `json:"fabric_attached"`
	Coherent          bool   `json:"coherent"`
	Processes         [3]int `json:"processes"` // compute, graphics, MPS
}

func devices(lib nvml.Interface) ([]gpu, error) {
	found := []gpu{}
	err := initialised(lib, func() error {
		return device.New(lib).VisitDevices(func(i int, d device.Device) error {
			one, err := describe(i, d)
			found = append(found, one)
			return err
		})
	})
	return found, err
}

// describe stops at the first answer that is not a good one.
func describe(i int, d device.Device) (gpu, error) {
	one := gpu{Index: i}
	var failed error
	note := func(what string, err error) {
		if err != nil && failed == nil {
			failed = fmt.Errorf("GPU %d: %s: %w", i, what, err)
		}
	}
	code := func(what string, ret nvml.Return) {
		if ret != nvml.SUCCESS {
			note(what, ret)
		}
	}
	var ret nvml.Return
	var err error
	one.UUID, ret = d.GetUUID()
	code("GetUUID", ret)
	one.Name, ret = d.GetName()
	code("GetName", ret)
	memory, ret := d.GetMemoryInfo()
	code("GetMemoryInfo", ret)
	one.MemoryMiB = memory.Total >> 20
	one.Minor, ret = d.GetMinorNumber()
	code("GetMinorNumber", ret)
	one.PCIBusID, err = d.GetPCIBusID()
	note("GetPCIBusID", err)
	one.ComputeCapability, err = d.GetCudaComputeCapabilityAsString()
	note("GetCudaComputeCapabilityAsString", err)
	one.Architecture, err = d.GetArchitectureAsString()
	note("GetArchitectureAsString", err)
	one.Brand, err = d.GetBrandAsString()
	note("GetBrandAsString", err)
	one.MIGCapable, err = d.IsMigCapable()
	note("IsMigCapable", err)
	one.MIGEnabled, err = d.IsMigEnabled()
	note("IsMigEnabled", err)
	one.FabricAttached, err = d.IsFabricAttached()
	note("IsFabricAttached", err)
	one.Coherent, err = d.IsCoherent()
	note("IsCoherent", err)
	for at, list := range []func() (int, nvml.Return){
		func() (int, nvml.Return) { l, r := d.GetComputeRunningProcesses(); return len(l), r },
		func() (int, nvml.Return) { l, r := d.GetGraphicsRunningProcesses(); return len(l), r },
		func() (int, nvml.Return) { l, r := d.GetMPSComputeRunningProcesses(); return len(l), r },
	} {
		one.Processes[at], ret = list()
		code(fmt.Sprintf("process list %d", at), ret)
	}
	return one, failed
}

// links are the links' types by GPU and GPU. Building the table fails as soon as one answer is wrong, which with the
// device plugin rejects every pod.
func links(lib nvml.Interface) (map[int]map[int][]string, error) {
	found, err := gpuallocator.NewDevices(gpuallocator.WithNvmlLib(lib))
	if err != nil {
		return nil, err
	}
	table := map[int]map[int][]string{}
	for _, from := range found {
		table[from.Index] = map[int][]string{}
		for to, links := range from.Links {
			for _, link := range links {
				table[from.Index][to] = append(table[from.Index][to], link.Type.String())
			}
		}
	}
	return table, nil
}

// wait tells the code of a wait for an event and how long it took.
func wait(lib nvml.Interface, milliseconds int) (map[string]any, error) {
	seen := map[string]any{}
	err := initialised(lib, func() error {
		set, ret := lib.EventSetCreate()
		if ret != nvml.SUCCESS {
			return fmt.Errorf("EventSetCreate: %w", ret)
		}
		masks := []uint64{}
		err := device.New(lib).VisitDevices(func(i int, d device.Device) error {
			supported, ret := d.GetSupportedEventTypes()
			if ret != nvml.SUCCESS {
				return fmt.Errorf("GPU %d: GetSupportedEventTypes: %w", i, ret)
			}
			masks = append(masks, supported)
			if ret := d.RegisterEvents(supported, set); ret != nvml.SUCCESS {
				return fmt.Errorf("GPU %d: RegisterEvents: %w", i, ret)
			}
			return nil
		})
		if err != nil {
			return err
		}
		begun := time.Now()
		_, ret = set.Wait(uint32(milliseconds))
		seen["waited_ms"] = time.Since(begun).Milliseconds()
		seen["code"] = int(ret)
		seen["supported"] = masks
		if ret := set.Free(); ret != nvml.SUCCESS {
			return fmt.Errorf("EventSet.Free: %w", ret)
		}
		return nil
	})
	return seen, err
}

// cycle opens and closes the library over and over, using an error text of the library while it is closed.
func cycle(lib nvml.Interface, times int) (map[string]any, error) {
	count := -1
	before, after := 0, 0
	for i := range times {
		err := initialised(lib, func() error {
			seen, ret := lib.DeviceGetCount()
			if ret != nvml.SUCCESS {
				return fmt.Errorf("round %d: DeviceGetCount: %w", i, ret)
			}
			if count >= 0 && seen != count {
				return fmt.Errorf("round %d: %d GPUs, %d before", i, seen, count)
			}
			count = seen
			return nil
		})
		if err != nil {
			return nil, err
		}
		if text := nvml.ERROR_NOT_SUPPORTED.Error(); text == "" {
			return nil, fmt.Errorf("round %d: no error text", i)
		}
		if i == times/2 {
			before = openMaps()
		}
	}
	after = openMaps()
	return map[string]any{"count": count, "rounds": times, "mappings": []int{before, after}}, nil
}

// openMaps counts the process's mappings: a library that leaks one at each opening shows here.
func openMaps() int {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return -1
	}
	lines := 0
	for _, c := range text {
		if c == '\n' {
			lines++
		}
	}
	return lines
}
