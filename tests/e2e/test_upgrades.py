# SPDX-License-Identifier: Apache-2.0
"""Releases that change while pods use their GPUs: more, fewer, another driver, an old chart's values, two at once."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.healed import healed
from tests.e2e.scenes import gpu_pod
from tests.e2e.stage import CHART, LABEL
from tests.harness.helm import HelmError
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster

FIRST_RELEASE = Path(__file__).with_name("first-release.tgz")  # the chart as it was first given to people
LOST = "GPU is lost"


def values_of(count: int, memory: int, **more) -> dict:
    return {"gpuSim": {"deviceCount": count, "memoryMB": memory, **more}}


def upgrade(stage, node: str, values: dict) -> None:
    """As people do it: nobody waits for the rollout before going on."""
    release, _ = stage.standing[node]
    stage.install(release, node, values)
    stage.standing[node] = (release, values)


def seen_in(stage, namespace, pod: str) -> str:
    """What a client that is started in the pod now says, on whichever of its outputs."""
    return stage.kube.exec(namespace.name, pod, ["nvml-probe"])[1]


def test_gpus_come_and_go_under_running_pods(stage, node_a, namespace):
    stage.simulate(node_a, **values_of(4, 21001))
    four = [gpu.uuid for gpu in stage.host(node_a).inventory()]
    pods = {"one": 1, "another": 1, "pair": 2}
    namespace.create(*(gpu_pod(pod, gpus, node_a) for pod, gpus in pods.items()))
    for pod in pods:
        namespace.wait_phase(pod, "Running")
    held = {pod: stage.allocated(node_a, namespace.name, pod) for pod in pods}
    assert sorted(uuid for uuids in held.values() for uuid in uuids) == sorted(four)

    eight = values_of(8, 21001)
    upgrade(stage, node_a, eight)
    healed(stage, node_a, eight, namespace, four)
    assert {pod: stage.allocated(node_a, namespace.name, pod) for pod in pods} == held
    for pod, uuids in held.items():
        assert all(uuid in seen_in(stage, namespace, pod) for uuid in uuids)

    two = values_of(2, 21001)
    upgrade(stage, node_a, two)
    stage.wait_gpus(node_a, 2)
    for pod, uuids in held.items():
        assert namespace.phase(pod) == "Running"
        assert stage.allocated(node_a, namespace.name, pod) == uuids
        said = seen_in(stage, namespace, pod)
        assert (LOST in said) == (not set(uuids) <= set(four[:2])), said
    namespace.delete_pods(*pods)
    healed(stage, node_a, two, namespace, four)


def test_another_driver_version_reaches_new_pods_and_old_ones_go_on(stage, node_a, namespace):
    stage.simulate(node_a, **values_of(3, 22002))
    uuids = [gpu.uuid for gpu in stage.host(node_a).inventory()]
    namespace.create(gpu_pod("old", 1, node_a))
    held = [gpu["uuid"] for gpu in namespace.report("old")["gpus"]]
    for driver, memory in (("535.104.05", 22003), ("570.86.15", 22004)):
        values = values_of(3, memory, driverVersion=driver)
        upgrade(stage, node_a, values)
        healed(stage, node_a, values, namespace, uuids)
        assert stage.host(node_a).inventory_file().name.endswith(driver)
        namespace.create(gpu_pod("new", 1, node_a))
        namespace.wait_phase("new", "Running")
        assert driver in stage.kube.exec(namespace.name, "new", ["nvidia-smi"])[1]
        namespace.delete_pods("new")
        assert namespace.phase("old") == "Running"
        assert held[0] in seen_in(stage, namespace, "old")
        assert f'"memory_mib": {memory}' in seen_in(stage, namespace, "old"), "an old pod sees the node as it is now"


@pytest.fixture
def first_release(stage, node_a, tmp_path):
    """The release of somebody who installed the first chart, on the first node; its values know no newer key."""
    stage.clear(node_a)
    values = {**values_of(3, 23003), "nodeSelector": {**LABEL, "kubernetes.io/hostname": node_a}}
    file = tmp_path / "values.json"
    file.write_text(json.dumps(values))
    stage.helm.install("early", FIRST_RELEASE, values=[file], namespace="default")
    stage.wait_rollout("early")
    yield "early"
    stage.helm.uninstall("early", "default")
    stage.wait_no_gpus(node_a)


def test_the_first_release_is_upgraded_with_its_own_values_and_rolled_back(first_release, stage, node_a, namespace):
    healed(stage, node_a, values_of(3, 23003), namespace)
    uuids = [gpu.uuid for gpu in stage.host(node_a).inventory()]
    namespace.create(gpu_pod("user", 1, node_a))
    namespace.wait_phase("user", "Running")
    held = stage.allocated(node_a, namespace.name, "user")

    stage.helm.upgrade(first_release, CHART, namespace="default", extra=["--reuse-values"])
    stage.wait_rollout(first_release)
    healed(stage, node_a, values_of(3, 23003), namespace, uuids)
    stage.helm.upgrade(
        first_release, CHART, namespace="default", set={"gpuSim.deviceCount": 5}, extra=["--reuse-values"]
    )
    healed(stage, node_a, values_of(5, 23003), namespace, uuids)

    stage.helm.run("rollback", first_release, "1", "-n", "default")
    stage.wait_rollout(first_release)
    healed(stage, node_a, values_of(3, 23003), namespace, uuids)
    assert namespace.phase("user") == "Running"
    assert stage.allocated(node_a, namespace.name, "user") == held


def test_of_two_upgrades_at_once_the_second_is_refused_and_the_first_wins(stage, node_a, namespace):
    release = stage.simulate(node_a, **values_of(4, 24004))
    uuids = [gpu.uuid for gpu in stage.host(node_a).inventory()]
    won = values_of(3, 24005)
    argv = stage.helm.install_argv(release, CHART, namespace="default", set={"gpuSim": won["gpuSim"]})[1:]
    words = ["upgrade", *argv, "--reuse-values", "--wait", "--timeout=60s"]
    helm = [stage.cluster.programs["helm"], "--kubeconfig", stage.cluster.kubeconfig]
    first = subprocess.Popen([str(word) for word in [*helm, *words]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_until("the first upgrade to begin", lambda: stage.helm.status(release, "default") == "pending-upgrade", 20)
        with pytest.raises(HelmError, match=r"another operation .* is in progress"):
            stage.helm.upgrade(
                release, CHART, namespace="default", set={"gpuSim.deviceCount": 7}, extra=["--reuse-values"]
            )
    finally:
        said, _ = first.communicate()
    assert first.returncode == 0, said.decode()
    stage.standing[node_a] = (release, won)
    healed(stage, node_a, won, namespace, uuids)
