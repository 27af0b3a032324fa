# SPDX-License-Identifier: Apache-2.0
"""The run's network: a bridge inside the control plane's machine, a leg of it to the host, one to each node.

Called by controlplane and node. On the host there is one interface and its connected route; both belong to a pair whose
other end lives in a machine, so they go when that machine does. Ports need no choosing: every machine has its own.
"""

from __future__ import annotations

import ipaddress
import json
import os
from dataclasses import dataclass
from pathlib import Path

from tests.harness import command
from tests.harness.runs import RunError

SLOTS = 200
PODS, SERVICES = "10.244", "10.96.0.0/16"
# A bridge without an address of its own takes the lowest of its legs': with a node's leg it would change, and who has
# the old one in mind would not reach the API for half a minute.
BRIDGE_MAC = "0a:67:70:75:00:01"
FIRST_SERVICE, DNS_SERVICE = "10.96.0.1", "10.96.0.10"


@dataclass(frozen=True)
class Net:
    """Addresses of one run; runs that are up at the same time have different slots."""

    slot: int

    @property
    def interface(self) -> str:
        return f"gpusim{self.slot}"

    @property
    def subnet(self) -> str:
        return f"10.99.{self.slot}.0/24"

    @property
    def control_plane(self) -> str:
        return f"10.99.{self.slot}.1"

    @property
    def host(self) -> str:
        return f"10.99.{self.slot}.254"

    def node(self, index: int) -> str:
        return f"10.99.{self.slot}.{10 + index}"

    @staticmethod
    def pods(index: int) -> str:
        return f"{PODS}.{index}.0/24"

    @property
    def server(self) -> str:
        return f"https://{self.control_plane}:6443"


def batch(lines: list[str], pid: int | None = None) -> None:
    """Several `ip` commands at once, on the host or in the network of a process."""
    enter = ["nsenter", "-t", pid, "-n", "--"] if pid else []
    command.run([*enter, "ip", "-batch", "-"], stdin="\n".join(lines) + "\n")


def _taken() -> list[ipaddress.IPv4Network]:
    routes = json.loads(command.run(["ip", "-j", "-4", "route", "show", "table", "all"]).out or "[]")
    nets = []
    for route in routes:
        destination = route.get("dst", "default")
        if destination != "default":
            nets.append(ipaddress.ip_network(destination, strict=False))
    return nets


def connect_host(pid: int, start_at: int = 0) -> Net:
    """Give the control plane's machine its bridge and a leg to the host. The kernel refuses an interface name that
    exists, so two runs that try the same slot at once end up in different ones."""
    batch(["link set lo up", f"link add br0 address {BRIDGE_MAC} type bridge", "link set br0 up"], pid)
    taken, said = _taken(), ""
    for offset in range(SLOTS):
        net = Net((start_at + offset) % SLOTS)
        if any(ipaddress.ip_network(net.subnet).overlaps(other) for other in taken):
            continue
        try:
            batch([f"link add host0 type veth peer name {net.interface} netns {os.getpid()}"], pid)
        except command.CommandError as error:
            if "File exists" not in error.output:
                raise
            said = error.output
            continue
        batch([f"addr add {net.control_plane}/24 dev br0", "link set host0 master br0 up"], pid)
        batch([f"addr add {net.host}/24 dev {net.interface}", f"link set {net.interface} up"])
        _tune(pid)
        return net
    raise RunError(
        f"10.99.0.0/16: no free /24 among {SLOTS} for the cluster's network, got {said or taken}; stop other runs"
    )


def connect_node(net: Net, control_plane: int, pid: int, index: int) -> None:
    """Give a node's machine its leg of the bridge, and the control plane the way to its pods."""
    address, leg = net.node(index), f"node{index}"
    batch(
        [
            f"link add {leg} type veth peer name eth0 netns {pid}",
            f"link set {leg} master br0 up",
        ],
        control_plane,
    )
    batch(
        [
            "link set lo up",
            f"addr add {address}/24 dev eth0",
            "link set eth0 up",
            f"route add default via {net.control_plane}",
        ],
        pid,
    )
    batch([f"route replace {net.pods(index)} via {address}"], control_plane)
    _tune(pid)


def _tune(pid: int) -> None:
    """Forward packets, and give up soon on connections whose process has gone: a network lives as long as they do, and
    their peer may be a machine that was ended a moment before."""
    settings = "cd /proc/sys/net/ipv4; echo 1 >ip_forward; echo 1 >tcp_orphan_retries; echo 2 >tcp_fin_timeout"
    command.run(["nsenter", "-t", pid, "-n", "--", "sh", "-euc", settings])


def index_of(interface: str) -> int | None:
    """The host's number of an interface; unlike a name, it is not given to another one."""
    try:
        return int(Path(f"/sys/class/net/{interface}/ifindex").read_text())
    except (FileNotFoundError, OSError):
        return None


def disconnect_host(interface: str, index: int) -> None:
    """Remove the leg if it is still that one; it goes by itself when the last user of the run's network has gone."""
    if index_of(interface) == index:
        command.run(["ip", "link", "del", interface], check=False)
