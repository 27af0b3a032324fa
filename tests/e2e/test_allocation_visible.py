# SPDX-License-Identifier: Apache-2.0
"""A GPU that a pod holds looks used, as the node's policy or the pod itself says, and only while the pod is there."""

from __future__ import annotations

import json

import pytest

from tests.e2e import usage
from tests.e2e.inside import Inside
from tests.e2e.scenes import containers, gpu_pod, load, on_node
from tests.harness import pod_images
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster
COUNT = 8
WORKLOAD = "gpu-workload"
APPS = "--query-compute-apps=gpu_uuid,pid,name,used_memory"
# Every file that a GPU pod is given, and which of the words are in its bytes.
HELD = """
import glob, json, sys
files = [path for place in ("bin", "lib", "lib64") for path in glob.glob(f"/usr/{place}/**/*nvidia*", recursive=True)]
held = {path: open(path, "rb").read() for path in files}
print(json.dumps({path: [word for word in sys.argv[1:] if word.encode() in text] for path, text in held.items()}))
"""


@pytest.fixture
def start(stage, node_a, namespace, pod_image):
    """Starts a pod with so many GPUs; its inside."""

    def start(name: str, gpus: int, annotations: dict | None = None, shell: str = "sleep 3600") -> Inside:
        pod = gpu_pod(name, gpus, node_a)
        pod["metadata"]["annotations"] = annotations or {}
        (container,) = containers(pod)
        container |= {"image": pod_image("debian"), "command": ["/bin/sh", "-c", shell]}
        namespace.create(pod)
        namespace.wait_phase(name, "Running")
        return Inside(namespace, name)

    return start


def uses(stage, node: str, memory: str, percent: int = 50, utilization: str = "40-45") -> None:
    allocation = {"memory": memory, "memoryPercent": percent, "utilization": utilization}
    stage.simulate(node, gpuSim={"deviceCount": COUNT}, allocation=allocation)
    # Pods of the test before: the kubelet lets go of their GPUs once their containers have ended.
    wait_until("no GPU to be held", lambda: not stage.allocations(node), 30, seen=lambda: stage.allocations(node))


def utilizations(pod: Inside) -> set[int]:
    """What several looks show; a live reading moves."""
    return {gpu.utilization for _ in range(8) for gpu in usage.inside(pod)}


@pytest.mark.parametrize(
    ("memory", "percent", "utilization", "low", "high"),
    [("fraction", 25, "55-60", 55, 60), ("whole", 50, "91", 91, 91), ("none", 50, "3-7", 3, 7)],
)
def test_the_policy_of_the_node(stage, node_a, namespace, start, memory, percent, utilization, low, high):
    uses(stage, node_a, memory, percent, utilization)
    pod = start("by-policy", 2)
    share = {"fraction": percent, "whole": 100, "none": 0}[memory]
    expected = lambda gpu: gpu.room_mib * share // 100  # noqa: E731
    seen = usage.wait_inside(
        pod, lambda gpu: bool(gpu.processes) and abs(gpu.used_mib - expected(gpu)) <= 1, f"{share}%"
    )
    for gpu in seen:
        ((pid, used_mib, name),) = gpu.processes
        assert name == WORKLOAD
        assert used_mib == gpu.used_mib
        assert 100000 <= pid <= 4000000
    assert len({gpu.processes[0][0] for gpu in seen}) == 1, "one container is one process"
    assert utilizations(pod) <= set(range(low, high + 1))
    rows = [f"{gpu.uuid}, {gpu.processes[0][0]}, {WORKLOAD}, {gpu.used_mib}" for gpu in seen]
    for program in ("nvidia-smi", f"/{pod_images.REAL_SMI}"):
        assert pod.run(program, APPS, "--format=csv,noheader,nounits").splitlines() == rows, program
    own = set(stage.allocated(node_a, namespace.name, "by-policy"))
    assert {gpu.uuid for gpu in seen} == own
    shown = usage.wait_used(stage.host(node_a), own if share else set())
    assert {load for uuid, (_, load) in shown.items() if uuid not in own} == {0}, "GPUs that nobody holds are idle"


def test_what_pods_say_of_themselves_goes_before_the_policy(stage, node_a, namespace, pod_image):
    pod_image("debian")
    uses(stage, node_a, "whole", utilization="50")
    namespace.create(*on_node(load("two-workloads"), node_a))
    pids = set()
    for name, mib, loads in (("small", 20000, range(10, 31)), ("large", 33333, [97])):
        namespace.wait_phase(name, "Running")
        pod = Inside(namespace, name)
        seen = usage.wait_inside(pod, lambda gpu, mib=mib: gpu.used_mib == mib, f"{mib} MiB")
        assert [[used for _, used, _ in gpu.processes] for gpu in seen] == [[mib]] * 2
        assert utilizations(pod) <= set(loads)
        pids |= {process[0] for gpu in seen for process in gpu.processes}
    assert len(pids) == 2, "each pod has a process of its own"


def test_an_annotation_that_changes_is_followed(stage, node_a, namespace, start):
    uses(stage, node_a, "fraction")
    pod = start("changing", 1, {"gpu-sim.io/memory-mib": "1234"})
    usage.wait_inside(pod, lambda gpu: gpu.used_mib == 1234, "1234 MiB")
    for text, mib in (("4321", 4321), ("17", 17)):
        change = {"metadata": {"annotations": {"gpu-sim.io/memory-mib": text}}}
        namespace.kube.patch("v1", "Pod", "changing", change, namespace.name)
        usage.wait_inside(pod, lambda gpu, mib=mib: gpu.used_mib == mib, f"{mib} MiB")


def test_a_wrong_annotation_is_told_to_the_pod_and_the_policy_is_used(stage, node_a, namespace, start):
    uses(stage, node_a, "fraction", 10, "61-62")
    pod = start("wrong", 1, {"gpu-sim.io/memory-mib": "20GiB", "gpu-sim.io/utilization": "30-10"})
    usage.wait_inside(pod, lambda gpu: abs(gpu.used_mib - gpu.room_mib // 10) <= 1, "10%")
    assert utilizations(pod) <= {61, 62}

    def told() -> list[dict]:
        return [
            event for event in namespace.kube.events(namespace.name, "wrong") if event["reason"] == "GpuSimAnnotation"
        ]

    (event,) = wait_until("an event about the annotations", told, usage.SHOWN_S, seen=lambda: namespace.events("wrong"))
    assert event["type"] == "Warning"
    memory, utilization = event["message"].splitlines()
    assert memory.startswith("metadata.annotations[gpu-sim.io/memory-mib]: must be a whole number of MiB such as 20000")
    assert 'got "20GiB"; the node\'s policy (10%) is used instead' in memory
    assert utilization.startswith("metadata.annotations[gpu-sim.io/utilization]: must be ")
    assert 'got "30-10"; the node\'s policy (61-62) is used instead' in utilization


# ---- its end ----
def replaced(stage, node: str) -> None:
    """The node's pod goes, and the next one has not begun to look."""
    stage.delete_node_pod(node)


def kubelet_restarted(stage, node: str) -> None:
    stage.cluster.node(node).restart_kubelet()


MEANWHILE = {"nothing": lambda *_: None, "node pod replaced": replaced, "kubelet restarted": kubelet_restarted}


@pytest.mark.parametrize("meanwhile", MEANWHILE)
@pytest.mark.parametrize("end", ["deleted", "forced", "Succeeded", "Failed"])
def test_a_gpu_is_free_when_its_pod_has_ended_and_no_other_is(stage, node_a, namespace, start, end, meanwhile):
    uses(stage, node_a, "fraction", 30)
    start("stays", 2)
    ending = f"until [ -e /end ]; do sleep 0.1; done; exit {int(end == 'Failed')}"
    pod = start("ends", 2, shell=ending)
    stays, ends = (set(stage.allocated(node_a, namespace.name, name)) for name in ("stays", "ends"))
    usage.wait_used(stage.host(node_a), stays | ends)
    lost = usage.watch_freed(stage.host(node_a), stays)
    if end in ("deleted", "forced"):
        namespace.kube.delete(
            "v1", "Pod", "ends", namespace.name, grace_s=0 if end == "forced" else None, deadline_s=None
        )
    else:
        pod.run("touch", "/end")
    MEANWHILE[meanwhile](stage, node_a)
    if end in ("deleted", "forced"):
        wait_until("the pod to be gone", lambda: namespace.pod("ends") is None, 30)
    else:
        namespace.wait_phase("ends", end)
    stage.wait_gpus(node_a, COUNT)
    usage.wait_used(stage.host(node_a), stays)
    assert lost() == set(), "a GPU of the pod that stays was shown free"


# ---- who may know ----
def test_nothing_that_a_pod_can_read_names_another_pod(stage, node_a, namespace, start, other_namespace):
    uses(stage, node_a, "fraction")
    told = start("sekret-pod-4711", 2, {"gpu-sim.io/memory-mib": "4321"})
    usage.wait_inside(told, lambda gpu: gpu.used_mib == 4321, "4321 MiB")
    reader = gpu_pod("reader", 1, node_a)
    containers(reader)[0] |= {"image": containers(namespace.pod("sekret-pod-4711"))[0]["image"]}
    containers(reader)[0] |= {"command": ["/bin/sleep", "3600"]}
    other_namespace.create(reader)
    other_namespace.wait_phase("reader", "Running")
    inside = Inside(other_namespace, "reader")
    usage.wait_inside(inside, lambda gpu: bool(gpu.processes), "a process")
    names = ("sekret-pod-4711", namespace.name, other_namespace.name, "reader", WORKLOAD)
    held = json.loads(inside.run("python3", "-c", HELD, *names))
    inventory = f"/usr/lib64/{stage.host(node_a).inventory_file().name}"
    assert held.pop(inventory) == [WORKLOAD], "what every process is called, which shows that the bytes are searched"
    assert set(held) >= {"/usr/bin/nvidia-smi"}
    assert {path: found for path, found in held.items() if set(found) - {WORKLOAD}} == {}
    for words in (["-q"], ["-q", "-x"], ["--query-compute-apps=pid,name,used_memory", "--format=csv"], []):
        said = inside.run("nvidia-smi", *words)
        assert "sekret" not in said
        assert namespace.name not in said
    (gpu,) = usage.inside(inside)
    assert 4321 not in [mib for _, mib, _ in gpu.processes], "it sees a process of somebody else's GPU"
