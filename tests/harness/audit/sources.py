# SPDX-License-Identifier: Apache-2.0
"""What a node itself knows: the kubelet's list of who holds what, and the inventory. One interface, two ways to it.

Called by watch. Where the node's files can be reached, both are read from below, and compared; elsewhere the agent in
the node's pod is asked by exec, and tells what it knows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Protocol

from tests.harness import command, control, go_build
from tests.harness.audit.model import Gpu, Grant, Reading
from tests.harness.audit.objects import RESOURCE
from tests.harness.cluster import Cluster
from tests.harness.kube import KubeError
from tests.harness.pods import POD_RESOURCES

ROOT = "/var/lib/gpu-sim"
# The node program under the name by which it is `gpu-sim`: on a node it lies as nvidia-smi.
STATUS = f"exec -a gpu-sim {ROOT}/driver/usr/bin/nvidia-smi ctl status --json --root {ROOT}"
ANSWER_S = 10


class Source(Protocol):
    every_s: float  # reading it more often shows nothing new

    def read(self, node: str, offered: int = 0) -> Reading:
        """`offered`: devices that the node has by the API. More than GPUs: they are shares of them, or MIG devices."""


class HostSource:
    """For nodes whose files lie on this machine."""

    every_s = 0.0

    def __init__(self, cluster: Cluster, run: Callable = command.run):
        self.cluster, self._run = cluster, run

    def read(self, node: str, offered: int = 0) -> Reading:
        # The inventory first: what the kubelet gave away in between is not yet in it, and it is not expected to be.
        gpus, trouble = self._gpus(node)
        grants, problem = self._grants(node)
        return Reading(node, grants, gpus, problem or trouble)

    def _grants(self, node: str) -> tuple[tuple[Grant, ...] | None, str]:
        try:
            socket = self.cluster.node(node).host_path(POD_RESOURCES)
            said = self._run([go_build.podresources(), f"-socket={socket}", f"-timeout={ANSWER_S}s"]).out
        except (command.CommandError, OSError) as error:
            return None, _last_line(error)
        found = json.loads(said)
        return tuple(
            Grant(f"{each['namespace']}/{each['pod']}", tuple(each["ids"]), each["container"])
            for each in found
            if RESOURCE.fullmatch(each["resource"])
        ), ""

    def _gpus(self, node: str) -> tuple[tuple[Gpu, ...] | None, str]:
        try:
            said = self.cluster.node(node).run(["bash", "-c", STATUS], timeout=ANSWER_S).out
        except (command.CommandError, OSError) as error:
            return None, _last_line(error)
        return gpus_in(said), ""


class AgentSource:
    """For any node with a pod of ours."""

    every_s = 3.0  # the agent's own pace

    def __init__(self, kube, clock: Callable[[], float] = time.monotonic):
        self.kube = kube

    def read(self, node: str, offered: int = 0) -> Reading:
        try:
            pod = control.node_pod(self.kube, node)
            meta = pod["metadata"]
            argv = [control.PROGRAM, "ctl", "status", "--json"]
            code, said = self.kube.exec(meta["namespace"], meta["name"], argv, control.CONTAINER)
            if code:
                return Reading(node, problem=f"{' '.join(argv)}: exit code {code}: {said.strip()}")
            gpus = gpus_in(said)
        except (KubeError, OSError, ValueError, control.ControlError) as error:
            return Reading(node, problem=_last_line(error))
        except Exception as error:  # the client has an exception of its own for each layer below
            return Reading(node, problem=f"{type(error).__name__}: {error}")
        shared = offered > sum(not gpu.removed for gpu in gpus)
        held: dict[str, list[str]] = {}
        for gpu in gpus:
            for name in gpu.pods or ():
                held.setdefault(name, []).append(f"{gpu.uuid}::{name}" if shared else gpu.uuid)
        grants = tuple(Grant(name, tuple(ids)) for name, ids in held.items())
        return Reading(node, grants, tuple(gpu._replace(pods=None) for gpu in gpus), exact=not shared)


def gpus_in(status: str) -> tuple[Gpu, ...]:
    """From the words of `gpu-sim ctl status --json`."""
    return tuple(
        Gpu(each["uuid"], each["health"] == "ok", each["health"] == "removed", tuple(each.get("pods", ())))
        for each in json.loads(status)["gpus"]
    )


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1].removeprefix("  | ")


def choose(cluster: Cluster) -> Source:
    return HostSource(cluster) if cluster.provider == "embedded" else AgentSource(cluster.kube)
