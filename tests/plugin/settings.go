// SPDX-License-Identifier: Apache-2.0
//
// The plugin's options. Each may come from the command line, the environment or the configuration file, in this
// order of precedence. What the stand-in does not do is refused by name rather than ignored.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"sigs.k8s.io/yaml"
	cdiapi "tags.cncf.io/container-device-interface/pkg/cdi"
)

func flags() []cli.Flag {
	text := func(name, value, env string, aliases ...string) cli.Flag {
		return &cli.StringFlag{Name: name, Value: value, Aliases: aliases, EnvVars: strings.Split(env, ",")}
	}
	list := func(name, env string, value ...string) cli.Flag {
		return &cli.StringSliceFlag{Name: name, Value: cli.NewStringSlice(value...), EnvVars: []string{env}}
	}
	yes := func(name string, value bool, env string) cli.Flag {
		return &cli.BoolFlag{Name: name, Value: value, EnvVars: []string{env}}
	}
	return []cli.Flag{
		text("mig-strategy", "none", "MIG_STRATEGY"),
		yes("fail-on-init-error", true, "FAIL_ON_INIT_ERROR"),
		text("driver-root", "/", "NVIDIA_DRIVER_ROOT", "nvidia-driver-root"),
		text("dev-root", "", "NVIDIA_DEV_ROOT", "nvidia-dev-root"),
		yes("pass-device-specs", false, "PASS_DEVICE_SPECS"),
		list("device-list-strategy", "DEVICE_LIST_STRATEGY", "envvar"),
		text("device-id-strategy", "uuid", "DEVICE_ID_STRATEGY"),
		yes("gdrcopy-enabled", false, "GDRCOPY_ENABLED"),
		yes("gds-enabled", false, "GDS_ENABLED"),
		yes("mofed-enabled", false, "MOFED_ENABLED"),
		text("cdi-annotation-prefix", cdiapi.AnnotationPrefix, "CDI_ANNOTATION_PREFIX"),
		text("nvidia-cdi-hook-path", "/usr/bin/nvidia-ctk", "NVIDIA_CDI_HOOK_PATH,NVIDIA_CTK_PATH", "nvidia-ctk-path"),
		text("driver-root-ctr-path", "/driver-root", "DRIVER_ROOT_CTR_PATH,CONTAINER_DRIVER_ROOT", "container-driver-root"),
		text("mps-root", "", "MPS_ROOT"),
		text("shared-devices-allocation-policy", "distributed", "SHARED_DEVICES_ALLOCATION_POLICY"),
		text("device-discovery-strategy", "auto", "DEVICE_DISCOVERY_STRATEGY"),
		&cli.IntSliceFlag{Name: "imex-channel-ids", EnvVars: []string{"IMEX_CHANNEL_IDS"}},
		yes("imex-required", false, "IMEX_REQUIRED"),
		text("kubelet-socket", pluginapi.KubeletSocket, "KUBELET_SOCKET"),
		text("config-file", "", "CONFIG_FILE"),
		list("cdi-feature-flags", "CDI_FEATURE_FLAGS"),
		list("cdi-disable-hooks", "CDI_DISABLE_HOOKS"),
	}
}

// settings are the values in force.
type settings struct {
	migStrategy, driverRoot, devRoot, deviceIDStrategy    string
	cdiAnnotationPrefix, hookPath, containerDriverRoot    string
	sharedDevicesPolicy, deviceDiscoveryStrategy          string
	kubeletSocket                                         string
	failOnInitError, passDeviceSpecs, gdrcopy, gds, mofed bool
	strategies, cdiFeatureFlags, cdiDisabledHooks         []string
	unsupported                                           []string
}

// stringOrList is one string or several.
type stringOrList []string

func (s *stringOrList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*s = stringOrList{one}
		return nil
	}
	var several []string
	if json.Unmarshal(data, &several) == nil {
		*s = several
		return nil
	}
	return fmt.Errorf("invalid deviceListStrategy: %s", data)
}

// file is the configuration file. As with the real plugin, keys that it does not know vanish without a word.
type file struct {
	Version string `json:"version"`
	Flags   struct {
		MigStrategy             *string `json:"migStrategy"`
		FailOnInitError         *bool   `json:"failOnInitError"`
		NvidiaDriverRoot        *string `json:"nvidiaDriverRoot"`
		NvidiaDevRoot           *string `json:"nvidiaDevRoot"`
		GDRCopyEnabled          *bool   `json:"gdrcopyEnabled"`
		GDSEnabled              *bool   `json:"gdsEnabled"`
		MOFEDEnabled            *bool   `json:"mofedEnabled"`
		DeviceDiscoveryStrategy *string `json:"deviceDiscoveryStrategy"`
		Plugin                  struct {
			PassDeviceSpecs               *bool         `json:"passDeviceSpecs"`
			DeviceListStrategy            *stringOrList `json:"deviceListStrategy"`
			DeviceIDStrategy              *string       `json:"deviceIDStrategy"`
			CDIAnnotationPrefix           *string       `json:"cdiAnnotationPrefix"`
			NvidiaCTKPath                 *string       `json:"nvidiaCTKPath"`
			ContainerDriverRoot           *string       `json:"containerDriverRoot"`
			SharedDevicesAllocationPolicy *string       `json:"sharedDevicesAllocationPolicy"`
		} `json:"plugin"`
	} `json:"flags"`
	Sharing map[string]any `json:"sharing"`
}

func readFile(path string) (*file, error) {
	content := &file{}
	if path == "" {
		return content, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("unable to parse config file: error opening config file: %v", err)
	}
	if err := yaml.Unmarshal(text, content); err != nil {
		return nil, fmt.Errorf("unable to parse config file: unmarshal error: %v", err)
	}
	if content.Version != "" && content.Version != "v1" {
		return nil, fmt.Errorf("unable to parse config file: unknown version: %v", content.Version)
	}
	return content, nil
}

func load(c *cli.Context) (*settings, error) {
	f, err := readFile(c.String("config-file"))
	if err != nil {
		return nil, fmt.Errorf("unable to finalize config: %v", err)
	}
	text := func(name string, inFile *string) string {
		if c.IsSet(name) || inFile == nil {
			return c.String(name)
		}
		return *inFile
	}
	yes := func(name string, inFile *bool) bool {
		if c.IsSet(name) || inFile == nil {
			return c.Bool(name)
		}
		return *inFile
	}
	p := &f.Flags.Plugin
	s := &settings{
		migStrategy:             text("mig-strategy", f.Flags.MigStrategy),
		failOnInitError:         yes("fail-on-init-error", f.Flags.FailOnInitError),
		driverRoot:              text("driver-root", f.Flags.NvidiaDriverRoot),
		devRoot:                 text("dev-root", f.Flags.NvidiaDevRoot),
		passDeviceSpecs:         yes("pass-device-specs", p.PassDeviceSpecs),
		deviceIDStrategy:        text("device-id-strategy", p.DeviceIDStrategy),
		gdrcopy:                 yes("gdrcopy-enabled", f.Flags.GDRCopyEnabled),
		gds:                     yes("gds-enabled", f.Flags.GDSEnabled),
		mofed:                   yes("mofed-enabled", f.Flags.MOFEDEnabled),
		cdiAnnotationPrefix:     text("cdi-annotation-prefix", p.CDIAnnotationPrefix),
		hookPath:                text("nvidia-cdi-hook-path", p.NvidiaCTKPath),
		containerDriverRoot:     text("driver-root-ctr-path", p.ContainerDriverRoot),
		sharedDevicesPolicy:     text("shared-devices-allocation-policy", p.SharedDevicesAllocationPolicy),
		deviceDiscoveryStrategy: text("device-discovery-strategy", f.Flags.DeviceDiscoveryStrategy),
		kubeletSocket:           c.String("kubelet-socket"),
		strategies:              c.StringSlice("device-list-strategy"),
		cdiFeatureFlags:         c.StringSlice("cdi-feature-flags"),
		cdiDisabledHooks:        c.StringSlice("cdi-disable-hooks"),
	}
	if !c.IsSet("device-list-strategy") && p.DeviceListStrategy != nil {
		s.strategies = *p.DeviceListStrategy
	}
	if s.devRoot == "" {
		s.devRoot = s.driverRoot
	}
	if len(f.Sharing) > 0 {
		s.unsupported = append(s.unsupported, "sharing (time-slicing, MPS)")
	}
	if len(c.IntSlice("imex-channel-ids")) > 0 {
		s.unsupported = append(s.unsupported, "IMEX channels")
	}
	return s, nil
}

func (s *settings) cdiEnabled() bool {
	return slices.ContainsFunc(s.strategies, isCDI)
}

func (s *settings) onlyCDI() bool {
	return !slices.ContainsFunc(s.strategies, func(strategy string) bool { return !isCDI(strategy) })
}

func isCDI(strategy string) bool { return strings.HasPrefix(strategy, "cdi-") }

// validate keeps the real plugin's order, since the search for the library happens in between.
func (s *settings) validate(l *libraries) error {
	for _, strategy := range s.strategies {
		if !slices.Contains([]string{"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"}, strategy) {
			return fmt.Errorf("invalid --device-list-strategy option: invalid strategy: %v", strategy)
		}
	}
	hasNVML, _ := l.info.HasNvml()
	if s.cdiEnabled() && !hasNVML {
		return errors.New("CDI --device-list-strategy options are only supported on NVML-based systems")
	}
	for _, o := range []struct {
		what, got string
		valid     []string
	}{
		{"invalid --device-id-strategy option:", s.deviceIDStrategy, []string{"uuid", "index"}},
		{"invalid --shared-devices-allocation-policy option:", s.sharedDevicesPolicy, []string{"distributed", "packed"}},
		{"invalid --device-discovery-strategy option", s.deviceDiscoveryStrategy, []string{"auto", "nvml", "tegra"}},
		{"unknown MIG strategy:", s.migStrategy, []string{"none", "single", "mixed"}},
	} {
		if !slices.Contains(o.valid, o.got) {
			return fmt.Errorf("%s %v", o.what, o.got)
		}
	}
	if s.migStrategy != "none" {
		s.unsupported = append(s.unsupported, "MIG strategy "+s.migStrategy)
	}
	if s.deviceDiscoveryStrategy == "tegra" {
		s.unsupported = append(s.unsupported, "Tegra")
	}
	if len(s.unsupported) > 0 {
		return fmt.Errorf("the stand-in does not do this: %s; use the real plugin's image", strings.Join(s.unsupported, ", "))
	}
	return nil
}

func (s *settings) String() string {
	text, err := json.MarshalIndent(map[string]any{
		"migStrategy": s.migStrategy, "failOnInitError": s.failOnInitError, "nvidiaDriverRoot": s.driverRoot,
		"nvidiaDevRoot": s.devRoot, "passDeviceSpecs": s.passDeviceSpecs, "deviceListStrategy": s.strategies,
		"deviceIDStrategy": s.deviceIDStrategy, "nvidiaCTKPath": s.hookPath, "containerDriverRoot": s.containerDriverRoot,
		"cdiAnnotationPrefix": s.cdiAnnotationPrefix, "deviceDiscoveryStrategy": s.deviceDiscoveryStrategy,
	}, "", "  ")
	if err != nil {
		klog.Errorf("configuration cannot be shown: %v", err)
	}
	return string(text)
}
