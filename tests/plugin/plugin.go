// SPDX-License-Identifier: Apache-2.0
//
// The gRPC server for one resource: its socket beside the kubelet's, its registration, its list of devices.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const resource = "nvidia.com/gpu"

// patience is for the two connections of a start: to its own socket and to the kubelet's.
const patience = 5 * time.Second

type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	libraries *libraries
	settings  *settings
	cdi       *cdi
	devices   devices
	socket    string

	server    *grpc.Server
	ended     chan struct{}
	unhealthy chan *gpu
}

// newPlugins gives one plugin, or none where there are no devices.
func newPlugins(l *libraries, s *settings, c *cdi) ([]*plugin, error) {
	found, err := l.enumerate(s.failOnInitError)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	// The folder is a constant of the real plugin; no option moves it.
	socket := filepath.Join(pluginapi.DevicePluginPath, "nvidia-gpu.sock")
	return []*plugin{{libraries: l, settings: s, cdi: c, devices: found, socket: socket}}, nil
}

// start serves, registers and begins the health check. A second plugin on the node takes the socket over.
func (p *plugin) start(ctx context.Context, kubelet string) error {
	p.server, p.ended, p.unhealthy = grpc.NewServer(), make(chan struct{}), make(chan *gpu)
	_ = os.Remove(p.socket)
	listener, err := net.Listen("unix", p.socket)
	if err != nil {
		klog.Errorf("Could not start device plugin for '%s': %s", resource, err)
		return err
	}
	pluginapi.RegisterDevicePluginServer(p.server, p)
	go func() {
		klog.Infof("Starting GRPC server for '%s'", resource)
		if err := p.server.Serve(listener); err != nil {
			klog.Fatalf("GRPC server for '%s' crashed with error: %v", resource, err)
		}
	}()
	own, err := dial(ctx, p.socket)
	if err != nil {
		return errors.Join(err, p.stop())
	}
	_ = own.Close()
	klog.Infof("Starting to serve '%s' on %s", resource, p.socket)

	if err := p.register(ctx, kubelet); err != nil {
		klog.Errorf("Could not register device plugin: %s", err)
		return errors.Join(err, p.stop())
	}
	klog.Infof("Registered device plugin for '%s' with Kubelet", resource)
	go func() {
		if err := p.checkHealth(); err != nil {
			klog.Errorf("Failed to start health check: %v; continuing with health checks disabled", err)
		}
	}()
	return nil
}

func (p *plugin) stop() error {
	if p.server == nil {
		return nil
	}
	klog.Infof("Stopping to serve '%s' on %s", resource, p.socket)
	p.server.Stop()
	p.server = nil
	close(p.ended)
	if err := os.Remove(p.socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// dial connects to a socket, or gives up after a while.
func dial(ctx context.Context, socket string) (*grpc.ClientConn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	connection.Connect()
	for state := connection.GetState(); state != connectivity.Ready; state = connection.GetState() {
		if !connection.WaitForStateChange(ctx, state) {
			_ = connection.Close()
			return nil, fmt.Errorf("%s: no connection within %s: %w", socket, patience, ctx.Err())
		}
	}
	return connection, nil
}

func (p *plugin) register(ctx context.Context, kubelet string) error {
	if kubelet == "" {
		klog.Info("Skipping registration with Kubelet")
		return nil
	}
	connection, err := dial(ctx, kubelet)
	if err != nil {
		return err
	}
	defer connection.Close()
	_, err = pluginapi.NewRegistrationClient(connection).Register(ctx, &pluginapi.RegisterRequest{
		Version: pluginapi.Version, Endpoint: filepath.Base(p.socket), ResourceName: resource, Options: options(),
	})
	return err
}

func options() *pluginapi.DevicePluginOptions {
	return &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: true}
}

func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return options(), nil
}

func (p *plugin) PreStartContainer(context.Context, *pluginapi.PreStartContainerRequest) (*pluginapi.PreStartContainerResponse, error) {
	return &pluginapi.PreStartContainerResponse{}, nil
}

// ListAndWatch sends the list at once and again whenever a device becomes unhealthy. None becomes healthy again.
func (p *plugin) ListAndWatch(_ *pluginapi.Empty, stream pluginapi.DevicePlugin_ListAndWatchServer) error {
	for {
		list := &pluginapi.ListAndWatchResponse{}
		for _, one := range p.devices {
			list.Devices = append(list.Devices, &one.Device)
		}
		if err := stream.Send(list); err != nil {
			return err
		}
		select {
		case <-p.ended:
			return nil
		case one := <-p.unhealthy:
			one.Health = pluginapi.Unhealthy
			klog.Infof("'%s' device marked unhealthy: %s", resource, one.ID)
		}
	}
}
