# SPDX-License-Identifier: Apache-2.0
"""A node that is drained, or whose kubelet restarts, has its GPUs again without anybody touching a pod."""

import shutil

import pytest

from tests.e2e.host import PLUGINS
from tests.e2e.scenes import gpu_pod, load
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster

THREE = {"deviceCount": 3, "memoryMB": 17171}


def test_a_drained_node_gives_its_work_away_and_comes_back(stage, node_a, node_b, namespace):
    stage.simulate(node_a, gpuSim=THREE)
    stage.simulate(node_b, gpuSim=THREE)
    (deployment,) = load("drain")
    namespace.create(deployment)
    home = wait_until("the worker to run", lambda: namespace.running_on("app=worker"), 30)
    away = node_b if home == node_a else node_a
    node_pod = stage.node_pod(home)["metadata"]["uid"]
    try:
        stage.kubectl("drain", home, "--ignore-daemonsets", "--force", "--delete-emptydir-data", "--timeout=60s")
        wait_until("the worker to move", lambda: namespace.running_on("app=worker") == away, 30)
        assert stage.node_pod(home)["metadata"]["uid"] == node_pod, "a drain leaves the DaemonSet's pod alone"
    finally:
        stage.kubectl("uncordon", home)
    stage.wait_gpus(home, 3)
    namespace.create(gpu_pod("back", 3, home))
    assert namespace.report("back")["count"] == 3


@pytest.mark.parametrize("times", [3])
def test_a_restarted_kubelet_has_its_gpus_again_with_no_pod_touched(times, stage, node_a, namespace):
    stage.simulate(node_a, gpuSim=THREE)
    namespace.create(gpu_pod("before", 1, node_a))
    namespace.wait_phase("before", "Running", 30)
    held = stage.allocated(node_a, namespace.name, "before")
    pod_before, identity = stage.pod_identity(node_a), stage.host(node_a).inventory()
    for round_ in range(times):
        stage.cluster.node(node_a).restart_kubelet()
        # The first readings are the kubelet's memory of better days: several in a row, and work, prove the return.
        stage.wait_gpus(node_a, 3, deadline_s=60, reads=8)
        pod = f"after-{round_}"
        namespace.create(gpu_pod(pod, 2, node_a))
        assert namespace.report(pod)["count"] == 2
        assert not set(stage.allocated(node_a, namespace.name, pod)) & set(held)
        namespace.delete_pods(pod)
    assert stage.pod_identity(node_a) == pod_before
    assert stage.host(node_a).inventory() == identity
    assert namespace.phase("before") == "Running"
    assert stage.allocated(node_a, namespace.name, "before") == held


def test_a_ready_node_pod_with_no_gpus_is_not_mistaken_for_health(stage, node_a):
    """The plugin watches a folder; when that is replaced under it, it never learns that the kubelet came back."""
    stage.simulate(node_a, gpuSim=THREE)
    node = stage.cluster.node(node_a)
    node.stop_kubelet()
    shutil.rmtree(stage.host(node_a).path(PLUGINS))
    node.start_kubelet()
    wait_until("the GPUs to be gone", lambda: stage.gpus(node_a)[1] == 0, 60, seen=lambda: stage.gpus(node_a))
    wait_until("the pod to say that it is of no use", lambda: not stage.ready(node_a), 30)
    stage.delete_node_pod(node_a)
    stage.wait_gpus(node_a, 3, deadline_s=60)
    assert stage.ready(node_a)
