# SPDX-License-Identifier: Apache-2.0
"""From objects of the API to the model: what they say about GPUs, and nothing else. Pure.

Called by watch for each snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tests.harness.audit.model import Node, Pod, Quota

# Whole GPUs, shares that have a name of their own, MIG devices.
RESOURCE = re.compile(r"nvidia\.com/(gpu(\.shared)?|mig-.+)")
GPU_QUOTA = re.compile(r"requests\.nvidia\.com/gpu(\.shared)?")
COMPONENT, CHECKSUM = "app.kubernetes.io/component", "gpu-sim.io/values-checksum"
# The kubelet's reasons for not letting in a pod that the scheduler gave it.
REFUSED = re.compile(r"OutOfnvidia\.com/.+|UnexpectedAdmissionError|TopologyAffinityError|NodeAffinity")


def counted(amounts: dict, resource: re.Pattern = RESOURCE) -> int:
    return sum(int(amount) for name, amount in amounts.items() if resource.fullmatch(name))


def is_node_pod(item: dict) -> bool:
    """Whatever the release and the chart were named."""
    meta = item["metadata"]
    return meta.get("labels", {}).get(COMPONENT) == "node" and CHECKSUM in meta.get("annotations", {})


def pod(item: dict) -> Pod:
    meta, spec, status = item["metadata"], item["spec"], item.get("status", {})
    # Init containers hand their devices on to the others; those that go on running keep them.
    kept = [c for c in spec.get("initContainers", []) if c.get("restartPolicy") == "Always"]
    asks = sum(counted(c.get("resources", {}).get("limits", {})) for c in [*spec["containers"], *kept])
    reason = status.get("reason", "")
    return Pod(
        meta["namespace"], meta["name"], meta["uid"], spec.get("nodeName"), status.get("phase", "Pending"),
        "deletionTimestamp" in meta, asks, reason if asks and REFUSED.fullmatch(reason) else "",
    )  # fmt: skip


def node(item: dict, plugins: set[str]) -> Node:
    """`plugins`: the nodes where a device plugin of ours is meant to run."""
    name, status = item["metadata"]["name"], item.get("status", {})
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", []))
    found = re.match(r"v(\d+)\.(\d+)", status.get("nodeInfo", {}).get("kubeletVersion", ""))
    gpu, mig = re.compile(r"nvidia\.com/gpu(\.shared)?"), re.compile(r"nvidia\.com/mig-.+")
    capacity, allocatable = status.get("capacity", {}), status.get("allocatable", {})
    return Node(
        name, ready, counted(capacity, gpu), counted(allocatable, gpu), counted(allocatable, mig),
        (int(found[1]), int(found[2])) if found else (0, 0), name in plugins,
    )  # fmt: skip


def plugins(items: Iterable[dict]) -> set[str]:
    """Nodes with a pod of ours that brings a device plugin."""
    return {
        item["spec"]["nodeName"]
        for item in items
        if is_node_pod(item)
        and item["spec"].get("nodeName")
        and any(container["name"] == "device-plugin" for container in item["spec"]["containers"])
    }


def quotas(items: Iterable[dict]) -> list[Quota]:
    """Each limit of GPUs that has been counted at least once; MIG devices are named one by one and not summed here."""
    found = []
    for item in items:
        meta, status = item["metadata"], item.get("status", {})
        for resource, hard in status.get("hard", {}).items():
            if GPU_QUOTA.fullmatch(resource) and resource in status.get("used", {}):
                used = status["used"][resource]
                found.append(Quota(meta["namespace"], meta["name"], int(hard), int(used), resource))
    return found
