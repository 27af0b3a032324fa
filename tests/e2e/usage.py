# SPDX-License-Identifier: Apache-2.0
"""How much of its GPUs a pod is seen to use: from inside by nvidia-ml-py, from the node by the inventory's own tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from tests.e2e.host import ROOT
from tests.e2e.inside import Inside
from tests.e2e.watching import watch
from tests.harness import command
from tests.harness.wait import wait_until

SHOWN_S = 15  # the agent looks every few seconds

NVML = """
import json, pynvml
pynvml.nvmlInit()
found = []
for gpu in map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount())):
    memory = pynvml.nvmlDeviceGetMemoryInfo(gpu, version=pynvml.nvmlMemory_v2)
    processes = pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)
    found.append({
        "uuid": pynvml.nvmlDeviceGetUUID(gpu), "used_mib": memory.used >> 20,
        "room_mib": (memory.total - memory.reserved) >> 20,
        "utilization": pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu,
        "processes": [[p.pid, p.usedGpuMemory >> 20, pynvml.nvmlSystemGetProcessName(p.pid)] for p in processes],
    })
print(json.dumps(found))
"""


class Usage(NamedTuple):
    uuid: str
    used_mib: int
    room_mib: int  # what the driver leaves of the board
    utilization: int
    processes: list[tuple[int, int, str]]


def inside(pod: Inside) -> list[Usage]:
    return [
        Usage(**{**gpu, "processes": [tuple(process) for process in gpu["processes"]]})
        for gpu in json.loads(pod.run("python3", "-c", NVML))
    ]


def on_host(host) -> dict[str, tuple[int, int]]:
    """Every GPU of the node: UUID → (MiB used, utilization)."""
    query = [
        f"{ROOT}/driver/usr/bin/nvidia-smi",
        "--query-gpu=uuid,memory.used,utilization.gpu",
        "--format=csv,noheader,nounits",
    ]
    rows = [line.split(", ") for line in host.node.run(query).out.splitlines()]
    return {uuid: (int(used), int(load)) for uuid, used, load in rows}


def wait_inside(pod: Inside, good: Callable[[Usage], bool], what: str) -> list[Usage]:
    """What the pod's GPUs show once every one of them is as it should be."""

    def shown() -> list[Usage] | None:
        seen = inside(pod)
        return seen if all(good(gpu) for gpu in seen) else None

    return wait_until(f"the GPUs of {pod.pod} to show {what}", shown, SHOWN_S, seen=lambda: inside(pod))


def wait_used(host, uuids: set[str]) -> dict[str, tuple[int, int]]:
    """What the node's GPUs show once these, and no others, have memory in use."""

    def shown() -> dict | None:
        seen = on_host(host)
        return seen if {uuid for uuid, (used, _) in seen.items() if used} == uuids else None

    return wait_until(f"memory in use on {len(uuids)} GPUs", shown, SHOWN_S, seen=lambda: on_host(host))


def watch_freed(host, uuids: set[str]) -> Callable[[], set[str]]:
    """Looks until the returned function is called, which names those that were ever shown without memory in use."""

    def freed() -> list[str]:
        try:
            return [uuid for uuid, (used, _) in on_host(host).items() if uuid in uuids and not used]
        except command.CommandError as error:
            return [f"the node's own nvidia-smi failed: {error}"]

    return watch(0.1, freed)
