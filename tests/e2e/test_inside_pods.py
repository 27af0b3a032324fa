# SPDX-License-Identifier: Apache-2.0
"""Inside a GPU pod that says nothing but how many it wants: its own GPUs, for every kind of image and of rights."""

from __future__ import annotations

import pytest
import yaml

from tests.e2e.inside import COMMON, Inside, Seen
from tests.e2e.scenes import containers, load, on_node
from tests.harness import pod_images
from tests.harness.versions import CHECKOUT

pytestmark = pytest.mark.cluster
RIGHTS = ("plain", "read-only", "no-rights", "both")
# Image → count, profile, memory and name where they are not the profile's.
BOARDS = {
    "debian": {"deviceCount": 9, "profile": "h100-80gb-hbm3", "memoryMB": 54321},
    "alpine": {"deviceCount": 11, "profile": "tesla-t4"},
    "busybox": {"deviceCount": 8, "profile": "a100-sxm4-40gb", "memoryMB": 7654, "deviceName": "NVIDIA Busy 7"},
}
CLIENTS = {
    "debian": {
        "ours": Inside.by_smi,
        "the real nvidia-smi": lambda inside: inside.by_smi(f"/{pod_images.REAL_SMI}"),
        "nvidia-ml-py": Inside.by_python,
    },
    "alpine": {"ours": Inside.by_smi, "dlopen": Inside.by_probe},
    "busybox": {"ours": Inside.by_smi},
}


def promised(board: dict) -> tuple[str, int]:
    """Name and memory, as values and profile say."""
    profile = yaml.safe_load((CHECKOUT / f"native/profiles/{board['profile']}.yaml").read_text())
    return board.get("deviceName", profile["product_name"]), board.get("memoryMB", profile["memory"]["total_mib"])


@pytest.fixture(scope="module", params=BOARDS)
def image(request, stage, node_a, pod_image) -> str:
    """An image that is on a node with the board that goes with it."""
    pod_image(request.param)
    stage.simulate(node_a, gpuSim=BOARDS[request.param])
    return request.param


@pytest.fixture
def pod(image, stage, node_a, namespace) -> dict[str, Inside]:
    """The running pod's containers."""
    (pod,) = on_node(load("inside-pods"), node_a)
    for container in containers(pod):
        container["image"] = pod_images.reference(image)
    namespace.create(pod)
    namespace.wait_phase("inside", "Running")
    return {name: Inside(namespace, "inside", name) for name in RIGHTS}


def test_each_container_has_its_own_gpus_by_every_client(pod, image, stage, node_a, namespace):
    board, host = BOARDS[image], stage.host(node_a)
    every = [gpu.uuid for gpu in host.inventory()]
    grants = stage.kube.container_resources(stage.cluster.node(node_a))
    granted = {name: grants[namespace.name, "inside", name] for name in pod}
    assert len(every) == board["deviceCount"]
    assert [len(uuids) for uuids in granted.values()] == [2] * len(RIGHTS)
    assert len({uuid for uuids in granted.values() for uuid in uuids}) == 2 * len(RIGHTS), "a GPU was given twice"
    for rights, inside in pod.items():
        own = sorted(granted[rights], key=every.index)
        expected = [Seen(index, uuid, *promised(board)) for index, uuid in enumerate(own)]
        for client, look in CLIENTS[image].items():
            assert look(inside) == expected, f"{client} in {inside}"
        assert inside.devices() == {*COMMON, *(f"/dev/nvidia{every.index(uuid)}" for uuid in own)}, inside
