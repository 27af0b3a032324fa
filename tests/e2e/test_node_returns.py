# SPDX-License-Identifier: Apache-2.0
"""A node that is drained, or whose kubelet restarts, has its GPUs again without anybody touching a pod."""

import shutil

import pytest

from tests.e2e.host import PLUGINS
from tests.e2e.scenes import gpu_pod, load, on_node
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


@pytest.mark.parametrize("checkpoint, shown", [("kept", 0), ("lost", 3)])
def test_a_replaced_plugin_folder_is_noticed_and_mended_by_a_new_pod(checkpoint, shown, stage, node_a):
    """The plugin watches the folder that was there; of the new one it learns nothing, nor that the kubelet came back.

    What the node shows then depends on the kubelet's memory and proves nothing: without it, the old number stays.
    """
    stage.simulate(node_a, gpuSim=THREE)
    node, folder = stage.cluster.node(node_a), stage.host(node_a).path(PLUGINS)
    node.stop_kubelet()
    kept = (folder / "kubelet_internal_checkpoint").read_bytes()
    shutil.rmtree(folder)
    folder.mkdir(mode=0o750)
    if checkpoint == "kept":
        (folder / "kubelet_internal_checkpoint").write_bytes(kept)
    node.start_kubelet()
    wait_until("the pod to say that it is of no use", lambda: not stage.ready(node_a), 40)
    wait_until("the node to show it", lambda: stage.gpus(node_a)[1] == shown, 20, seen=lambda: stage.gpus(node_a))
    stage.delete_node_pod(node_a)
    stage.wait_gpus(node_a, 3, deadline_s=60)
    wait_until("the new pod to be ready", lambda: stage.ready(node_a), 30)


def test_a_plugin_whose_socket_was_stolen_is_noticed_and_mended_by_a_new_pod(stage, node_a, namespace):
    stage.simulate(node_a, gpuSim=THREE)
    namespace.create(*on_node(load("second-plugin"), node_a))
    namespace.wait_phase("second-plugin", "Running")
    wait_until(
        "the second plugin to register",
        lambda: "Registered device plugin" in stage.kube.pod_log(namespace.name, "second-plugin"), 20,
    )  # fmt: skip
    namespace.delete_pods("second-plugin", grace_s=5)
    wait_until("the GPUs to be gone", lambda: stage.gpus(node_a)[1] == 0, 30, seen=lambda: stage.gpus(node_a))
    wait_until("the pod to say that it is of no use", lambda: not stage.ready(node_a), 30)
    stage.delete_node_pod(node_a)
    stage.wait_gpus(node_a, 3, deadline_s=60)
