// SPDX-License-Identifier: Apache-2.0
package main

import (
	"strings"
	"testing"
)

func TestPolicies(t *testing.T) {
	for text, good := range map[string]bool{
		"none": true, "whole": true, "0%": true, "35%": true, "100%": true,
		"": false, "101%": false, "50": false, "-5%": false, "half": false, "20000MiB": false, "5 %": false,
	} {
		if err := memoryPolicy(text); (err == nil) != good {
			t.Errorf("memory %q: %v", text, err)
		} else if err != nil {
			wantError(t, err, "must be none, whole or 0% to 100%, got", text)
		}
	}
	for text, good := range map[string]bool{
		"none": true, "0": true, "35": true, "100": true, "20-80": true, "7-7": true,
		"": false, "101": false, "80-20": false, "20-": false, "-20": false, "20-101": false, "20%": false, "1-2-3": false,
	} {
		if err := utilizationPolicy(text); (err == nil) != good {
			t.Errorf("utilization %q: %v", text, err)
		} else if err != nil {
			wantError(t, err, "must be none, a percentage such as 30, or a range such as 10-30", text)
		}
	}
}

func TestAnnotationsComeBeforeThePolicy(t *testing.T) {
	policy := usageOfGPU{"35%", "7-9"}
	for _, c := range []struct {
		memory, utilization string
		expected            usageOfGPU
	}{
		{"", "", policy},
		{"20000", "", usageOfGPU{"20000MiB", "7-9"}},
		{"00123", "10-30", usageOfGPU{"123MiB", "10-30"}},
		{"", "55", usageOfGPU{"35%", "55"}},
		{"16777216", "100", usageOfGPU{"16777216MiB", "100"}},
		{"0", "none", usageOfGPU{"0MiB", "none"}},
	} {
		annotations := map[string]string{}
		if c.memory != "" {
			annotations["gpu-sim.io/memory-mib"] = c.memory
		}
		if c.utilization != "" {
			annotations["gpu-sim.io/utilization"] = c.utilization
		}
		if got, problems := policy.of(annotations); got != c.expected || len(problems) != 0 {
			t.Errorf("%v: got %v, %q, expected %v", annotations, got, problems, c.expected)
		}
	}
}

func TestWrongAnnotationsAreAllNamedAndChangeNothing(t *testing.T) {
	policy := usageOfGPU{"whole", "3"}
	for _, memory := range []string{"20G", "", "-1", "1.5", "9999999999", "16777217"} {
		got, problems := policy.of(map[string]string{"gpu-sim.io/memory-mib": memory, "gpu-sim.io/utilization": "30-10"})
		if got != policy || len(problems) != 2 {
			t.Fatalf("%q: got %v, %q", memory, got, problems)
		}
		for i, parts := range [][]string{
			{"metadata.annotations[gpu-sim.io/memory-mib]: must be a whole number of MiB such as 20000, at most 16777216, got \"" + memory + "\"", "policy (whole) is used"},
			{`metadata.annotations[gpu-sim.io/utilization]: must be`, `got "30-10"`, "policy (3) is used"},
		} {
			for _, part := range parts {
				if !strings.Contains(problems[i], part) {
					t.Errorf("lacks %q: %s", part, problems[i])
				}
			}
		}
	}
}
