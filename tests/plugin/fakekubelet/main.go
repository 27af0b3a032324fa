// SPDX-License-Identifier: Apache-2.0
//
// The kubelet's side of the device plugin protocol, for tests without a cluster. It serves kubelet.sock in a folder,
// prints one JSON object for each thing that happens, and reads commands, one a line:
//
//	prefer N [ID,…]    allocate ID[,…]    restart (a new kubelet.sock)    end
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type kubelet struct {
	pluginapi.UnimplementedRegistrationServer
	folder string
	server *grpc.Server

	mutex   sync.Mutex
	out     *json.Encoder
	plugin  pluginapi.DevicePluginClient
	devices []string
}

func main() {
	folder := flag.String("dir", strings.TrimRight(pluginapi.DevicePluginPath, "/"), "the device-plugins directory")
	flag.Parse()
	k := &kubelet{folder: *folder, out: json.NewEncoder(os.Stdout)}
	if err := k.listen(); err != nil {
		log.Fatal(err)
	}
	k.say("listening", nil)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		if words[0] == "end" {
			return
		}
		if err := k.obey(words[0], words[1:]); err != nil {
			k.say("error", map[string]any{"message": err.Error()})
		}
	}
}

func (k *kubelet) say(event string, fields map[string]any) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	line := map[string]any{"event": event}
	for key, value := range fields {
		line[key] = value
	}
	_ = k.out.Encode(line)
}

// listen makes a new socket; the plugin watches the folder for that.
func (k *kubelet) listen() error {
	path := filepath.Join(k.folder, "kubelet.sock")
	_ = os.Remove(path)
	socket, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	k.server = grpc.NewServer()
	pluginapi.RegisterRegistrationServer(k.server, k)
	go func(server *grpc.Server) { _ = server.Serve(socket) }(k.server)
	return nil
}

// Register answers at once and connects to the plugin after that, as the kubelet does.
func (k *kubelet) Register(_ context.Context, r *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	k.say("registered", map[string]any{
		"resource": r.ResourceName, "endpoint": r.Endpoint, "version": r.Version,
		"preferred": r.Options.GetGetPreferredAllocationAvailable(),
	})
	go k.follow(filepath.Join(k.folder, r.Endpoint))
	return &pluginapi.Empty{}, nil
}

// follow prints each list of devices until the stream ends.
func (k *kubelet) follow(socket string) {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		k.say("error", map[string]any{"message": err.Error()})
		return
	}
	defer connection.Close()
	client := pluginapi.NewDevicePluginClient(connection)
	stream, err := client.ListAndWatch(context.Background(), &pluginapi.Empty{}, grpc.WaitForReady(true))
	for err == nil {
		var list *pluginapi.ListAndWatchResponse
		if list, err = stream.Recv(); err != nil {
			break
		}
		health, numa := map[string]string{}, map[string][]int64{}
		for _, d := range list.Devices {
			health[d.ID] = d.Health
			for _, node := range d.GetTopology().GetNodes() {
				numa[d.ID] = append(numa[d.ID], node.ID)
			}
		}
		k.mutex.Lock()
		k.plugin, k.devices = client, nil
		for id := range health {
			k.devices = append(k.devices, id)
		}
		slices.Sort(k.devices)
		k.mutex.Unlock()
		k.say("devices", map[string]any{"devices": health, "numa": numa})
	}
	if !errors.Is(err, io.EOF) {
		k.say("ended", map[string]any{"message": err.Error()})
		return
	}
	k.say("ended", nil)
}

func (k *kubelet) obey(command string, arguments []string) error {
	k.mutex.Lock()
	plugin, available := k.plugin, k.devices
	k.mutex.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	switch {
	case command == "restart":
		k.server.Stop()
		return k.listen()
	case plugin == nil:
		return errors.New("no plugin has registered")
	case command == "prefer" && len(arguments) > 0:
		size, err := strconv.ParseInt(arguments[0], 10, 32)
		if err != nil {
			return err
		}
		if len(arguments) > 1 {
			available = strings.Split(arguments[1], ",")
		}
		answer, err := plugin.GetPreferredAllocation(ctx, &pluginapi.PreferredAllocationRequest{
			ContainerRequests: []*pluginapi.ContainerPreferredAllocationRequest{{AvailableDeviceIDs: available, AllocationSize: int32(size)}},
		})
		if err != nil {
			return err
		}
		k.say("preferred", map[string]any{"ids": answer.ContainerResponses[0].DeviceIDs})
		return nil
	case command == "allocate" && len(arguments) > 0:
		answer, err := plugin.Allocate(ctx, &pluginapi.AllocateRequest{
			ContainerRequests: []*pluginapi.ContainerAllocateRequest{{DevicesIds: strings.Split(arguments[0], ",")}},
		})
		if err != nil {
			return err
		}
		k.say("allocated", describe(answer.ContainerResponses[0]))
		return nil
	}
	return fmt.Errorf("not a command: %s %q", command, arguments)
}

func describe(answer *pluginapi.ContainerAllocateResponse) map[string]any {
	mounts, nodes, cdi := []string{}, []string{}, []string{}
	for _, m := range answer.Mounts {
		mounts = append(mounts, m.HostPath+":"+m.ContainerPath)
	}
	for _, d := range answer.Devices {
		nodes = append(nodes, d.HostPath+":"+d.ContainerPath+":"+d.Permissions)
	}
	for _, c := range answer.CdiDevices {
		cdi = append(cdi, c.Name)
	}
	return map[string]any{"env": answer.Envs, "annotations": answer.Annotations, "mounts": mounts, "nodes": nodes, "cdi": cdi}
}
