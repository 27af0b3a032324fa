# SPDX-License-Identifier: Apache-2.0
"""The assertion of the healing tests sees each thing that can be wrong with a node, by itself."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.e2e.healed import differences
from tests.e2e.host import CDI, PLUGINS, ROOT, Gpu
from tests.harness.command import CommandError

pytestmark = pytest.mark.unit

UUIDS = ["GPU-a", "GPU-b"]
VALUES = {"gpuSim": {"deviceCount": 2, "memoryMB": 4321}}
FILES = {
    *(f"{ROOT}/{name}" for name in ("owner", "pods", "driver/libnvidia-ml.so.1", "driver/usr/bin/nvidia-smi")),
    *(f"{ROOT}/driver/dev/{name}" for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm")),
    *(f"{ROOT}/driver/usr/lib64/lib{name}.so.550.163.01" for name in ("nvidia-ml", "nvidia-gpu-sim")),
    f"{ROOT}/driver/etc/gpu-sim/device-plugin.yaml",
    f"{PLUGINS}/nvidia-gpu.sock",
    f"{CDI}/k8s.device-plugin.nvidia.com-gpu.json",
}


def pod(name: str, gpus: int, phase: str = "Running") -> dict:
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    containers = [{"name": "c", "image": "i", "resources": {"limits": limits}}]
    return {
        "metadata": {"namespace": "ns", "name": name},
        "spec": {"containers": containers},
        "status": {"phase": phase},
    }


def node(**changes):
    """A stage on which all is well but for the changes."""
    facts = {
        "gpus": (2, 2),
        "ready": True,
        "inventory": [Gpu(uuid, "a board", 4321) for uuid in UUIDS],
        "files": set(FILES),
        "allocations": {("ns", "user"): ["GPU-b"]},
        "pods": [pod("user", 1), pod("none", 0), pod("done", 2, "Succeeded")],
        **changes,
    }

    def ask(name: str):
        def answer(*_: object, **__: object):
            if isinstance(facts[name], Exception):
                raise facts[name]
            return facts[name]

        return answer

    host = SimpleNamespace(inventory=ask("inventory"), files=ask("files"))
    return SimpleNamespace(
        gpus=ask("gpus"),
        ready=ask("ready"),
        allocations=ask("allocations"),
        host=lambda node: host,
        kube=SimpleNamespace(list=ask("pods")),
    )


def test_a_node_on_which_all_is_well() -> None:
    assert list(differences(node(), "n1", VALUES, UUIDS)) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gpus": (2, 1)}, "the node shows (2, 1) GPUs"),
        ({"gpus": (3, 3)}, "the node shows (3, 3) GPUs"),
        ({"ready": False}, "its pod is not ready"),
        ({"inventory": [Gpu("GPU-a", "a board", 4321)]}, "the inventory has ['GPU-a']"),
        ({"inventory": [Gpu(uuid, "a board", 4320) for uuid in UUIDS]}, "have [4320] MiB, the values say 4321"),
        ({"inventory": [Gpu(uuid, "a board", 4321) for uuid in UUIDS[::-1]]}, "and are ['GPU-b', 'GPU-a']"),
        ({"inventory": CommandError("nvidia-smi", "failed", "no library")}, "the inventory cannot be read: no library"),
        ({"allocations": {}}, "ns/user asked for 1 GPUs and holds []"),
        ({"allocations": {("ns", "user"): ["GPU-b"], ("ns", "done"): ["GPU-a"]}}, "ns/done asked for 0 GPUs"),
        ({"allocations": {("ns", "user"): ["GPU-a", "GPU-a"]}}, "given to more than one: ['GPU-a']"),
        ({"allocations": CommandError("podresources", "failed", "refused")}, "the kubelet does not say"),
        ({"files": FILES | {f"{ROOT}/driver/usr/lib64/.libnvidia-ml.so.1.new"}}, "files that belong to nobody"),
        ({"files": FILES | {f"{PLUGINS}/nvidia-mig.sock"}}, "files that belong to nobody"),
        ({"files": FILES | {f"{ROOT}/driver/usr/lib64/libnvidia-ml.so.535.1"}}, "['535.1', '550.163.01']"),
        ({"files": FILES | {f"{ROOT}/driver/dev/nvidia2"}}, "3 device nodes for 2 GPUs"),
    ],
)
def test_each_thing_that_is_wrong_is_told(changes: dict, said: str) -> None:
    told = list(differences(node(**changes), "n1", VALUES, UUIDS))
    assert any(said in one for one in told), told
