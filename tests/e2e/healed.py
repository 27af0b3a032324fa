# SPDX-License-Identifier: Apache-2.0
"""The one question after every accident: is the node what its values say, and does it work?

`healed` is called by every test that breaks something. What does not fit is told in sentences, all of them at once.
"""

from __future__ import annotations

import re
import secrets
import time
from collections import Counter
from collections.abc import Iterator

from tests.e2e.host import CDI, PLUGINS, ROOT
from tests.e2e.scenes import GPU, containers, gpu_pod
from tests.e2e.space import Space
from tests.e2e.stage import Stage
from tests.harness import command
from tests.harness.wait import wait_until

HEALED_S = 60  # what the README promises; the embedded kubelet's own back-off is 2 s
STEADY_S = 2.5  # what the API shows of a node is up to a second old, and a killed program needs one to be missed
DECEIVED_S = 12  # a pod may be called ready for three probes, of 2 s each, after its GPUs have gone
FILES = re.compile(
    rf"{ROOT}/(owner|pods|driver/(libnvidia-ml(-mock\.so|\.so|\.so\.1)|usr/bin/[\w-]+|etc/gpu-sim/[\w.-]+"
    rf"|dev/nvidia(\d+|ctl|-uvm)|usr/lib64/(libnvidia-ml\.so(\.1)?|lib[\w-]+\.so\.(?P<driver>\d+\.[\d.]+))))"
    rf"|{PLUGINS}/nvidia-gpu\.sock|{CDI}/k8s\.device-plugin\.nvidia\.com-gpu\.json"
)


def healed(stage: Stage, node: str, values: dict, space: Space, uuids: list[str] | None = None) -> None:
    """The node fits its values in many readings in a row, and a new GPU pod runs. `uuids`: they must not change."""
    deceived = Deceived(stage, node)
    last: list[str] = []
    good_since: list[float] = []

    def fits() -> bool:
        deceived.look()
        last[:] = differences(stage, node, values, uuids)
        good_since[:] = [] if last else [*good_since, time.monotonic()]
        return not last and good_since[-1] - good_since[0] >= STEADY_S

    wait_until(f"{node} to be, and to stay, as its values say", fits, HEALED_S, seen=lambda: last)
    assert deceived.longest < DECEIVED_S, f"{node}: its pod was ready for {deceived.longest:.0f} s with 0 GPUs"
    pod = f"healed-{secrets.token_hex(3)}"
    space.create(gpu_pod(pod, 1, node))
    report = space.report(pod)
    given = stage.allocated(node, space.name, pod)
    assert [gpu["uuid"] for gpu in report["gpus"]] == given, f"{pod} sees {report}, the kubelet gave it {given}"
    space.delete_pods(pod)


class Deceived:
    """How long, at a stretch, the node's pod was called ready while nobody could use a GPU."""

    def __init__(self, stage: Stage, node: str):
        self.stage, self.node = stage, node
        self.since: float | None = None
        self.longest = 0.0

    def look(self) -> None:
        if not self.stage.ready(self.node) or self.stage.gpus(self.node)[1]:
            self.since = None
            return
        self.since = self.since or time.monotonic()
        self.longest = max(self.longest, time.monotonic() - self.since)


def differences(stage: Stage, node: str, values: dict, uuids: list[str] | None = None) -> Iterator[str]:
    count = values.get("gpuSim", {}).get("deviceCount", 4)
    if stage.gpus(node) != (count, count):
        yield f"the node shows {stage.gpus(node)} GPUs (capacity, allocatable), its values say {count}"
    if not stage.ready(node):
        yield "its pod is not ready"
        return  # what follows would only say the same of a node that is being changed
    yield from _inventory(stage, node, count, values, uuids)
    yield from _allocations(stage, node)
    yield from _files(stage.host(node).files(), count)


def _inventory(stage: Stage, node: str, count: int, values: dict, uuids: list[str] | None) -> Iterator[str]:
    try:
        found = stage.host(node).inventory()
    except command.CommandError as error:
        yield f"the inventory cannot be read: {error.output}"
        return
    if len({gpu.uuid for gpu in found}) != count:
        yield f"the inventory has {[gpu.uuid for gpu in found]}, the values say {count} GPUs"
    memory = values.get("gpuSim", {}).get("memoryMB")
    if memory and {gpu.memory_mib for gpu in found} != {memory}:
        yield f"the inventory's GPUs have {sorted({gpu.memory_mib for gpu in found})} MiB, the values say {memory}"
    kept = min(len(uuids or []), len(found))
    if uuids and [gpu.uuid for gpu in found[:kept]] != uuids[:kept]:
        yield f"the GPUs were {uuids} and are {[gpu.uuid for gpu in found]}"


def _allocations(stage: Stage, node: str) -> Iterator[str]:
    """pod-resources against the API: the same pods, each with what it asked for, no device twice."""
    try:
        given = {holder: ids for holder, ids in stage.allocations(node).items() if ids}
    except command.CommandError as error:
        yield f"the kubelet does not say what it gave to whom: {error.output}"
        return
    twice = [uuid for uuid, times in Counter(uuid for ids in given.values() for uuid in ids).items() if times > 1]
    if twice:
        yield f"given to more than one: {twice}; the kubelet's record: {given}"
    asked = {}
    for pod in stage.kube.list("v1", "Pod", fieldSelector=f"spec.nodeName={node}"):
        limits = [c.get("resources", {}).get("limits", {}).get(GPU, 0) for c in containers(pod)]
        if sum(map(int, limits)) and pod["status"]["phase"] not in ("Succeeded", "Failed"):
            asked[pod["metadata"]["namespace"], pod["metadata"]["name"]] = sum(map(int, limits))
    for holder in sorted(asked.keys() | given.keys()):
        if asked.get(holder, 0) != len(given.get(holder, [])):
            yield f"{'/'.join(holder)} asked for {asked.get(holder, 0)} GPUs and holds {given.get(holder, [])}"


def _files(files: set[str], count: int) -> Iterator[str]:
    matches = {name: FILES.fullmatch(name) for name in files}
    strange = sorted(name for name, match in matches.items() if not match)
    if strange:
        yield f"files that belong to nobody: {strange}"
    drivers = {match["driver"] for match in matches.values() if match and match["driver"]}
    if len(drivers) != 1:
        yield f"files of several driver versions: {sorted(drivers)}"
    devices = {name for name in files if re.fullmatch(rf"{ROOT}/driver/dev/nvidia\d+", name)}
    if len(devices) != count:
        yield f"{len(devices)} device nodes for {count} GPUs"
