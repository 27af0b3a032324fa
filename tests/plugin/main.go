// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for NVIDIA's device plugin v0.20.0, for embedded test clusters on machines that cannot reach its image.
// It is written from the plugin's behaviour, on the libraries that the plugin itself uses: same options, sockets,
// registration, calls into NVML, allocation and health. It must never pass for the real one: see banner.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/urfave/cli/v2"
	"k8s.io/klog/v2"
)

const banner = "### GPU-SIM STAND-IN, NOT NVIDIA'S DEVICE PLUGIN ### it behaves like v0.20.0; for tests only"

// retryAfter is the time to the next try when a plugin could not be started.
const retryAfter = 30 * time.Second

func main() {
	klog.Info(banner)
	app := cli.NewApp()
	app.Name = "NVIDIA Device Plugin (gpu-sim stand-in)"
	app.Usage = "behaves like NVIDIA's device plugin for Kubernetes"
	app.Version = "v0.20.0-gpu-sim-stand-in"
	app.Flags = flags()
	app.Action = serve
	if err := app.Run(os.Args); err != nil {
		klog.Error(err)
		os.Exit(1)
	}
}

// serve runs until a signal ends it. A new kubelet socket, SIGHUP and a failed start all begin again from the
// configuration file: devices are enumerated anew, and all are healthy.
func serve(c *cli.Context) error {
	klog.InfoS("Starting "+c.App.Name, "version", c.App.Version)
	kubelet := c.String("kubelet-socket")
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		err = watcher.Add(filepath.Dir(kubelet))
	}
	if err != nil {
		return fmt.Errorf("failed to create FS watcher for %s: %v", filepath.Dir(kubelet), err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)

	for {
		klog.Info("Starting Plugins.")
		running, complete, err := start(c.Context, c)
		if err != nil {
			return fmt.Errorf("error starting plugins: %v", err)
		}
		var retry <-chan time.Time
		if !complete {
			klog.Infof("Failed to start one or more plugins. Retrying in %v...", retryAfter)
			retry = time.After(retryAfter)
		}
		again := waitForReason(watcher, kubelet, signals, retry)
		klog.Info("Stopping plugins.")
		var problems error
		for _, p := range running {
			problems = errors.Join(problems, p.stop())
		}
		if problems != nil {
			return fmt.Errorf("error stopping plugins: %v", problems)
		}
		if !again {
			return nil
		}
	}
}

// waitForReason returns true when everything has to start again, false when it has to end.
func waitForReason(watcher *fsnotify.Watcher, kubelet string, signals <-chan os.Signal, retry <-chan time.Time) bool {
	for {
		select {
		case <-retry:
			return true
		case event := <-watcher.Events:
			if kubelet != "" && event.Name == kubelet && event.Has(fsnotify.Create) {
				klog.Infof("inotify: %s created, restarting.", kubelet)
				return true
			}
		case err := <-watcher.Errors:
			klog.Infof("inotify: %s", err)
		case s := <-signals:
			if s == syscall.SIGHUP {
				klog.Info("Received SIGHUP, restarting.")
				return true
			}
			klog.Infof("Received signal %q, shutting down.", s)
			return false
		}
	}
}

// start reads the configuration, enumerates, writes the CDI specification and serves what there is to serve.
// The second result is false when a plugin could not be started and all should be tried again.
func start(ctx context.Context, c *cli.Context) ([]*plugin, bool, error) {
	klog.Info("Loading configuration.")
	set, err := load(c)
	if err != nil {
		return nil, false, fmt.Errorf("unable to load config: %v", err)
	}
	libraries := open(set.containerDriverRoot)
	if err := set.validate(libraries); err != nil {
		return nil, false, fmt.Errorf("unable to validate flags: %v", err)
	}
	klog.Infof("\nRunning with config:\n%s", set)

	klog.Info("Retrieving plugins.")
	libraries.resolvePlatform(set.deviceDiscoveryStrategy)
	cdi, err := newCDI(libraries, set)
	if err != nil {
		return nil, false, fmt.Errorf("error getting plugins: unable to create cdi handler: %v", err)
	}
	plugins, err := newPlugins(libraries, set, cdi)
	if err != nil {
		return nil, false, fmt.Errorf("error getting plugins: unable to create plugins: %v", err)
	}
	if err := cdi.write(); err != nil {
		return nil, false, fmt.Errorf("error getting plugins: unable to create cdi spec file: %v", err)
	}
	for _, p := range plugins {
		if err := p.start(ctx, set.kubeletSocket); err != nil {
			klog.Errorf("Failed to start plugin: %v", err)
			return plugins, false, nil
		}
	}
	if len(plugins) == 0 {
		klog.Info("No devices found. Waiting indefinitely.")
	}
	return plugins, true, nil
}
