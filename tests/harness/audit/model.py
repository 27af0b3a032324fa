# SPDX-License-Identifier: Apache-2.0
"""What is known of a cluster at one moment: API objects, the kubelets' records, the nodes' inventories.

Made by store and sources, read by rules. Device ids are the kubelet's: a UUID, or "<uuid>::<n>" for one share of a GPU.
"""

from __future__ import annotations

from typing import NamedTuple


class Pod(NamedTuple):
    namespace: str
    name: str
    uid: str = ""
    node: str | None = None
    phase: str = "Running"
    deleting: bool = False
    asks: int = 0  # devices, by what its containers ask; those that only prepare hand theirs on
    refused: str = ""  # the kubelet's reason for not letting it in

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def ended(self) -> bool:
        return self.phase in ("Succeeded", "Failed")


class Node(NamedTuple):
    name: str
    ready: bool = True
    capacity: int = 0  # of whole GPUs or shares of them
    allocatable: int = 0
    mig: int = 0  # MIG devices, which have resources of their own
    kubelet: tuple[int, int] = (1, 34)
    plugin: bool = True  # a pod of ours is there, and with it a device plugin


class Grant(NamedTuple):
    pod: str  # namespace/name
    ids: tuple[str, ...]
    container: str = ""


class Gpu(NamedTuple):
    uuid: str
    healthy: bool = True
    removed: bool = False  # kept for the pod that holds it, when the node has fewer GPUs now
    pods: tuple[str, ...] | None = ()  # who holds it, as the inventory has it; None where it does not tell


class Reading(NamedTuple):
    """What could be read of one node; a part that could not is None, and `problem` says why."""

    node: str
    grants: tuple[Grant, ...] | None = None
    gpus: tuple[Gpu, ...] | None = None
    problem: str = ""
    exact: bool = True  # grants name each device; else only the GPU of which a pod has some shares


class Quota(NamedTuple):
    namespace: str
    name: str
    hard: int
    used: int
    resource: str = "requests.nvidia.com/gpu"


class Snapshot(NamedTuple):
    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    readings: tuple[Reading, ...] = ()
    quotas: tuple[Quota, ...] = ()

    def pod(self) -> dict[str, Pod]:
        return {pod.key: pod for pod in self.pods}

    def node(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}


def gpu_of(device: str) -> str:
    """The GPU (or MIG device) that a device id is, or is a share of."""
    return device.partition("::")[0]
