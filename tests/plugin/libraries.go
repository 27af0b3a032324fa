// SPDX-License-Identifier: Apache-2.0
//
// NVML and NVIDIA's libraries around it, bound to the driver root inside the container.
package main

import (
	"os"
	"path/filepath"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvlib/pkg/nvlib/info"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"k8s.io/klog/v2"
)

type libraries struct {
	root   string
	nvml   nvml.Interface
	device device.Interface
	info   info.Interface
}

func open(root string) *libraries {
	l := &libraries{root: root}
	l.nvml = nvml.New(nvml.WithLibraryPath(findLibrary(root)))
	l.device = device.New(l.nvml)
	l.info = info.New(info.WithRoot(root), info.WithNvmlLib(l.nvml), info.WithDeviceLib(l.device))
	return l
}

// findLibrary looks through the usual folders of a driver root, following links; the loader's own search is the
// last resort.
func findLibrary(root string) string {
	const name = "libnvidia-ml.so.1"
	if root == "" || root == "/" {
		return name
	}
	for _, folder := range []string{
		"usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu",
		"lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu",
	} {
		if found, err := filepath.EvalSymlinks(filepath.Join(root, folder, name)); err == nil {
			return found
		}
	}
	return name
}

// devRoot is where device nodes are looked for inside the container.
func (l *libraries) devRoot() string {
	if status, err := os.Stat(filepath.Join(l.root, "dev")); err == nil && status.IsDir() {
		return l.root
	}
	return "/"
}

// resolvePlatform asks NVIDIA's library what kind of machine this is. Only NVML is served here whatever it says, as
// the real plugin does on a platform that it does not know; asking is part of its sequence of NVML calls.
func (l *libraries) resolvePlatform(strategy string) {
	if strategy != "auto" {
		klog.Infof("Using requested device discovery strategy: %s", strategy)
		return
	}
	platform := l.info.ResolvePlatform()
	klog.Infof("Detected platform: %s", platform)
	if platform != info.PlatformNVML && platform != info.PlatformWSL {
		klog.Warning("Unsupported platform detected; defaulting to nvml")
	}
}
