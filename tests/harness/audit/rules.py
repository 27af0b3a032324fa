# SPDX-License-Identifier: Apache-2.0
"""What must not be, each rule from one snapshot to sentences. Pure: no clock, no cluster.

Called by judge, which also knows for how long a sentence may be true before it counts (settle).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.harness.audit.model import Gpu, Grant, Pod, Reading, Snapshot, gpu_of

# From this release on, the kubelet's list leaves out pods that have ended; before, they stay until the next allocation.
LISTS_ACTIVE_PODS = (1, 34)
# UUIDs that are meant to be unique in the world. The plain form, mock-gpu-0, is the same on each node by design.
MIG = "MIG-"
UNIQUE = ("GPU-", MIG)


class Finding(NamedTuple):
    key: tuple  # what stays the same while the same thing is wrong
    sentence: str


Rule = Callable[[Snapshot], Iterator[Finding]]


def _granted(snapshot: Snapshot) -> Iterator[tuple[Reading, Grant, str]]:
    for reading in snapshot.readings:
        for grant in reading.grants or ():
            for device in grant.ids:
                yield reading, grant, device


def _who(holders: list[Grant]) -> str:
    pods = sorted({grant.pod for grant in holders})
    if len(pods) > 1:
        return "given to " + " and ".join(pods)
    return f"given twice to {pods[0]} ({', '.join(grant.container for grant in holders)})"


def doubled(snapshot: Snapshot) -> Iterator[Finding]:
    """Two holders of one device; or of a GPU as a whole and of a share of it."""
    pods = snapshot.pod()
    old = {node.name for node in snapshot.nodes if node.kubelet < LISTS_ACTIVE_PODS}
    holders: dict[tuple[str, str], list[tuple[str, Grant]]] = defaultdict(list)
    for reading, grant, device in _granted(snapshot):
        if reading.node in old and grant.pod in pods and pods[grant.pod].ended:
            continue
        holders[reading.node, gpu_of(device)].append((device, grant))
    for (node, gpu), found in holders.items():
        for device in dict.fromkeys(device for device, _ in found):
            same = [grant for other, grant in found if device in (other, gpu) or other == gpu]
            if len(same) > 1:
                yield Finding((node, gpu, *sorted(grant.pod for grant in same)), f"{device} {_who(same)}")
                break


def ended_holds(snapshot: Snapshot) -> Iterator[Finding]:
    pods = snapshot.pod()
    lists_active = {node.name for node in snapshot.nodes if node.kubelet >= LISTS_ACTIVE_PODS}
    for reading, grant, device in _granted(snapshot):
        pod = pods.get(grant.pod)
        if reading.node in lists_active and pod and pod.ended:
            yield Finding((pod.uid, device), f"{grant.pod} ended but holds {device}")


def unknown_pod(snapshot: Snapshot) -> Iterator[Finding]:
    pods = snapshot.pod()
    for reading in snapshot.readings:
        for name in sorted({grant.pod for grant in reading.grants or () if grant.ids and grant.pod not in pods}):
            text = f"pod-resources of {reading.node} lists {name}, which the API does not know"
            yield Finding((reading.node, name), text)


def elsewhere(snapshot: Snapshot) -> Iterator[Finding]:
    pods = snapshot.pod()
    for reading, grant, device in _granted(snapshot):
        pod = pods.get(grant.pod)
        if pod and pod.node != reading.node:
            text = f"{grant.pod} is on {pod.node or 'no node'} but holds {device} of {reading.node}"
            yield Finding((pod.uid, device), text)


def wrong_number(snapshot: Snapshot) -> Iterator[Finding]:
    """A running pod holds what its containers asked for."""
    for reading in snapshot.readings:
        if reading.grants is None or not reading.exact:
            continue
        held: dict[str, set[str]] = defaultdict(set)
        for grant in reading.grants:
            held[grant.pod].update(grant.ids)
        for pod in _active(snapshot, reading.node):
            if pod.phase == "Running" and len(held[pod.key]) != pod.asks:
                text = f"{pod.key} asked for {pod.asks} and holds {len(held[pod.key])} on {reading.node}"
                yield Finding((pod.uid,), text)


def _active(snapshot: Snapshot, node: str) -> list[Pod]:
    return [pod for pod in snapshot.pods if pod.node == node and not pod.ended and not pod.deleting]


def unknown_gpu(snapshot: Snapshot) -> Iterator[Finding]:
    known = {r.node: {gpu.uuid for gpu in r.gpus} for r in snapshot.readings if r.gpus is not None}
    for reading, grant, device in _granted(snapshot):
        if reading.node in known and gpu_of(device) not in known[reading.node] and not device.startswith(MIG):
            yield Finding((reading.node, device), f"{grant.pod} holds {device}, which {reading.node} does not have")


def inventory(snapshot: Snapshot) -> Iterator[Finding]:
    """The inventory names, for each GPU, the pods that hold it: the same ones as the kubelet does."""
    for reading in snapshot.readings:
        if reading.grants is None:
            continue
        for gpu in reading.gpus or ():
            held = tuple(sorted({g.pod for g in reading.grants if gpu.uuid in map(gpu_of, g.ids)}))
            if gpu.pods is not None and held != tuple(sorted(gpu.pods)):
                shown, true = " and ".join(sorted(gpu.pods)) or "nobody", " and ".join(held) or "nobody"
                text = f"the inventory of {reading.node} shows {gpu.uuid} with {shown}, but {true} holds it"
                yield Finding((reading.node, gpu.uuid, held), text)


def offered(snapshot: Snapshot) -> Iterator[Finding]:
    """A Ready node offers its good GPUs. One with a standing fault may be offered: a restarted plugin knows no faults.

    Of shared GPUs some share suffices, since a fault of the plugin takes one share where another takes all.
    """
    nodes = snapshot.node()
    for reading in snapshot.readings:
        node, there = nodes.get(reading.node), _present(reading)
        if node and node.ready and node.plugin:
            good = sum(gpu.healthy for gpu in there)
            shared = node.mig or node.capacity > len(there)
            if node.allocatable + node.mig < (min(good, 1) if shared else good):
                text = f"node {node.name} Ready with {node.allocatable + node.mig} of {good}"
                yield Finding((node.name, "few"), text)


def too_many(snapshot: Snapshot) -> Iterator[Finding]:
    """More GPUs than a node has. A whole multiple is taken for shares of them."""
    nodes = snapshot.node()
    for reading in snapshot.readings:
        node, there = nodes.get(reading.node), len(_present(reading))
        if node and node.plugin and there and not node.mig and node.allocatable > there and node.capacity % there:
            yield Finding((node.name, "many"), f"node {node.name} offers {node.allocatable} but has {there}")


def _present(reading: Reading) -> list[Gpu]:
    return [gpu for gpu in reading.gpus or () if not gpu.removed]


def quota(snapshot: Snapshot) -> Iterator[Finding]:
    """A quota counts at least what pods of its namespace hold. Ended ones and those on their way out do not count."""
    pods = snapshot.pod()
    held: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for reading, grant, device in _granted(snapshot):
        pod = pods.get(grant.pod)
        if pod and not pod.ended and not pod.deleting and not device.startswith(MIG):
            held[pod.namespace].add((reading.node, device))
    for each in snapshot.quotas:
        count = len(held[each.namespace])
        if count > each.used:
            text = f"quota of ns {each.namespace}: {each.used} of {each.hard} used but {count} held"
            yield Finding((each.namespace, each.name), text)


def same_uuid(snapshot: Snapshot) -> Iterator[Finding]:
    nodes: dict[str, list[str]] = defaultdict(list)
    for reading in snapshot.readings:
        for gpu in reading.gpus or ():
            if gpu.uuid.startswith(UNIQUE):
                nodes[gpu.uuid].append(reading.node)
    for uuid, where in nodes.items():
        if len(where) > 1:
            yield Finding((uuid,), f"UUID {uuid} is on {' and '.join(sorted(where))}")


def unread(snapshot: Snapshot) -> Iterator[Finding]:
    """A node of which nothing can be read is not proven right; only a Ready one is expected to answer."""
    nodes = snapshot.node()
    for reading in snapshot.readings:
        node = nodes.get(reading.node)
        if reading.problem and node and node.ready:
            yield Finding((reading.node,), f"node {reading.node} cannot be checked: {reading.problem}")
