// SPDX-License-Identifier: Apache-2.0
//
// How much of a GPU a pod that holds it is seen to use: by the node's policy, or by what the pod says of itself in
// annotations. A wrong annotation costs the pod an Event and nothing else.
package main

import (
	"fmt"
	"regexp"
	"strconv"
)

const (
	memoryAnnotation      = "gpu-sim.io/memory-mib"
	utilizationAnnotation = "gpu-sim.io/utilization"
)

// mostMemory, in MiB, is what the node program takes at most; one pod's word must not spoil the text of all.
const mostMemory = 16777216

// usageOfGPU is in the words of `gpu-sim allocate`: memory none, whole, N% or NMiB; utilization none, N or LOW-HIGH.
type usageOfGPU struct{ memory, utilization string }

var (
	percentShape = regexp.MustCompile(`^([0-9]{1,3})%$`)
	numberShape  = regexp.MustCompile(`^[0-9]{1,9}$`)
	rangeShape   = regexp.MustCompile(`^([0-9]{1,3})(?:-([0-9]{1,3}))?$`)
)

func memoryPolicy(text string) error {
	if text == "none" || text == "whole" {
		return nil
	}
	if part := percentShape.FindStringSubmatch(text); part != nil && percent(part[1]) <= 100 {
		return nil
	}
	return fmt.Errorf("must be none, whole or 0%% to 100%%, got %q", text)
}

func utilizationPolicy(text string) error {
	if text == "none" {
		return nil
	}
	if ends := rangeShape.FindStringSubmatch(text); ends != nil {
		low, high := percent(ends[1]), percent(ends[1])
		if ends[2] != "" {
			high = percent(ends[2])
		}
		if low <= high && high <= 100 {
			return nil
		}
	}
	return fmt.Errorf("must be none, a percentage such as 30, or a range such as 10-30 within 0 and 100, got %q", text)
}

func percent(digits string) int {
	number, _ := strconv.Atoi(digits)
	return number
}

// of gives the usage of a pod's GPUs, and what is wrong with its annotations.
func (policy usageOfGPU) of(annotations map[string]string) (usageOfGPU, []string) {
	problems := []string{}
	wrong := func(key, text, instead string) {
		problems = append(problems, fmt.Sprintf("metadata.annotations[%s]: %s; the node's policy (%s) is used instead", key, text, instead))
	}
	got := policy
	if text, there := annotations[memoryAnnotation]; there {
		if number, _ := strconv.Atoi(text); numberShape.MatchString(text) && number <= mostMemory {
			got.memory = fmt.Sprintf("%dMiB", number)
		} else {
			wrong(memoryAnnotation, fmt.Sprintf("must be a whole number of MiB such as 20000, at most %d, got %q", mostMemory, text), policy.memory)
		}
	}
	if text, there := annotations[utilizationAnnotation]; there {
		if err := utilizationPolicy(text); err == nil {
			got.utilization = text
		} else {
			wrong(utilizationAnnotation, err.Error(), policy.utilization)
		}
	}
	return got, problems
}
