// SPDX-License-Identifier: Apache-2.0
//
// The health check: a loop on NVML's events for as long as the plugin runs. A critical Xid that is not on the list
// of ignored ones makes its device unhealthy; a wait that fails makes all of them so, each time.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"k8s.io/klog/v2"
)

// waitMilliseconds is how long one wait for an event lasts; ending the plugin may take as long.
const waitMilliseconds = 5000

// applicationXids are faults of the program on the GPU; the GPU itself is well.
var applicationXids = []uint64{13, 31, 43, 45, 68, 109}

// xids says of single Xids, and of "all" under the key allXids, whether they are ignored.
type xids map[uint64]bool

const allXids = 0

// ignoredXids reads DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS; the latter wins, Xid by Xid.
func ignoredXids() xids {
	ignored := parseXids(os.Getenv("DP_DISABLE_HEALTHCHECKS"))
	for _, xid := range applicationXids {
		ignored[xid] = true
	}
	for xid := range parseXids(os.Getenv("DP_ENABLE_HEALTHCHECKS")) {
		ignored[xid] = false
	}
	return ignored
}

func parseXids(list string) xids {
	parsed := xids{}
	for word := range strings.SplitSeq(strings.ToLower(list), ",") {
		switch word = strings.TrimSpace(word); word {
		case "":
		case "all", "xids":
			return xids{allXids: true}
		default:
			xid, err := strconv.ParseUint(word, 10, 64)
			if err != nil {
				klog.Infof("Ignoring malformed Xid value %v: %v", word, err)
				continue
			}
			parsed[xid] = true
		}
	}
	return parsed
}

func (x xids) ignores(xid uint64) bool {
	all, saysAll := x[allXids]
	if saysAll && !all {
		return false
	}
	if ignored, named := x[xid]; named {
		return ignored
	}
	return all
}

// checkHealth returns when the plugin stops, or with what keeps health from being checked.
func (p *plugin) checkHealth() error {
	ended := p.ended
	ignored := ignoredXids()
	// All disabled means no loop at all: single Xids enabled on top of it have no effect in v0.20.0.
	if ignored[allXids] {
		return nil
	}
	if ret := p.libraries.nvml.Init(); ret != nvml.SUCCESS {
		if p.settings.failOnInitError {
			return fmt.Errorf("failed to initialize NVML: %v", ret)
		}
		return nil
	}
	defer p.libraries.shutdown()
	klog.Infof("Ignoring the following XIDs for health checks: %v", ignored)

	events, ret := p.libraries.nvml.EventSetCreate()
	if ret != nvml.SUCCESS {
		return fmt.Errorf("failed to create event set: %v", ret)
	}
	defer func() { _ = events.Free() }()
	for _, one := range p.devices {
		p.watch(events, one)
	}
	for {
		select {
		case <-ended:
			return nil
		default:
		}
		event, ret := events.Wait(waitMilliseconds)
		switch {
		case ret == nvml.ERROR_TIMEOUT:
		case ret != nvml.SUCCESS:
			klog.Infof("Error waiting for event: %v; Marking all devices as unhealthy", ret)
			p.markAll()
		case event.EventType != nvml.EventTypeXidCriticalError:
			klog.Infof("Skipping non-nvmlEventTypeXidCriticalError event: %+v", event)
		case ignored.ignores(event.EventData):
			klog.Infof("Skipping event %+v", event)
		default:
			p.act(event)
		}
	}
}

// watch asks for a device's events; a device that cannot be watched is unhealthy, unless it is merely too old.
func (p *plugin) watch(events nvml.EventSet, one *gpu) {
	handle, ret := p.libraries.nvml.DeviceGetHandleByUUID(one.ID)
	if ret != nvml.SUCCESS {
		klog.Infof("unable to get device handle from UUID: %v; marking it as unhealthy", ret)
		p.mark(one)
		return
	}
	supported, ret := handle.GetSupportedEventTypes()
	if ret != nvml.SUCCESS {
		klog.Infof("unable to determine the supported events for %v: %v; marking it as unhealthy", one.ID, ret)
		p.mark(one)
		return
	}
	wanted := uint64(nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError | nvml.EventTypeSingleBitEccError)
	switch ret := handle.RegisterEvents(wanted&supported, events); {
	case ret == nvml.ERROR_NOT_SUPPORTED:
		klog.Warningf("Device %v is too old to support healthchecking.", one.ID)
	case ret != nvml.SUCCESS:
		klog.Infof("Marking device %v as unhealthy: %v", one.ID, ret)
		p.mark(one)
	}
}

func (p *plugin) act(event nvml.EventData) {
	klog.Infof("Processing event %+v", event)
	id, ret := event.Device.GetUUID()
	if ret != nvml.SUCCESS {
		klog.Infof("Failed to determine uuid for event %v: %v; Marking all devices as unhealthy.", event, ret)
		p.markAll()
		return
	}
	one := p.devices[id]
	if one == nil {
		klog.Infof("Ignoring event for unexpected device: %v", id)
		return
	}
	klog.Infof("XidCriticalError: Xid=%d on Device=%s; marking device as unhealthy.", event.EventData, id)
	p.mark(one)
}

func (p *plugin) markAll() {
	for _, one := range p.devices {
		p.mark(one)
	}
}

// mark hands the device to ListAndWatch and waits until that has taken it.
func (p *plugin) mark(one *gpu) {
	select {
	case p.unhealthy <- one:
	case <-p.ended:
	}
}
