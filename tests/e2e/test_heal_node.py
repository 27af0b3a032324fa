# SPDX-License-Identifier: Apache-2.0
"""The node itself: its kubelet comes back twice in a row, its object is deleted, its power fails. It always heals."""

import pytest

from tests.e2e import accidents
from tests.e2e.healed import healed
from tests.e2e.host import PLUGINS
from tests.e2e.scenes import gpu_pod, load, on_node
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster

FOUR = {"gpuSim": {"deviceCount": 4, "memoryMB": 25005}}
REJECTED = ("no healthy devices present", "Requested: 1, Available: 0")


@pytest.fixture
def uuids(stage, node_a):
    stage.simulate(node_a, **FOUR)
    return [gpu.uuid for gpu in stage.host(node_a).inventory()]


def test_a_kubelet_that_restarts_right_after_a_registration(uuids, stage, node_a, namespace):
    """The socket that the plugin watches is made anew while the plugin is still busy with the one before."""
    node, pod = stage.cluster.node(node_a), stage.pod_identity(node_a)
    socket = stage.host(node_a).path(f"{PLUGINS}/nvidia-gpu.sock")

    def served() -> int | None:
        return socket.stat().st_ino if socket.exists() else None

    for _ in range(3):
        before = served()
        node.kill("kubelet")
        node.start_kubelet()
        wait_until("the plugin to serve anew", lambda before=before: served() not in (None, before), 20)
    healed(stage, node_a, FOUR, namespace, uuids)
    assert stage.pod_identity(node_a) == pod, "nobody touched the pod"


def test_a_node_that_is_removed_and_added(uuids, stage, node_a, namespace):
    stage.kubectl("delete", "node", node_a, "--wait=false")
    wait_until("the node to be gone", lambda: stage.kube.node(node_a) is None, 20)
    stage.cluster.node(node_a).restart_kubelet()
    wait_until("the node to be back", lambda: node_a in stage.kube.ready_nodes(), 40)
    healed(stage, node_a, FOUR, namespace, uuids)


def test_a_power_cut_with_a_bare_pod_and_a_deployment(uuids, stage, node_a, namespace):
    """The deployment's pod comes back; the bare one may fail, for the kubelet may ask for GPUs before the plugin."""
    bare = gpu_pod("bare", 1, node_a, restartPolicy="Always")
    (deployment,) = on_node(load("drain"), node_a)
    namespace.create(bare, deployment)
    namespace.wait_phase("bare", "Running")
    wait_until("the worker to run", lambda: namespace.running_on("app=worker"), 30)
    files = {name for name in stage.host(node_a).files() if "/driver/" in name}
    missing = stage.host(node_a).watch_missing(files)

    try:
        accidents.power_cut(stage, node_a)
    finally:
        stage.cluster.node(node_a).start()
    wait_until("the node to be back", lambda: node_a in stage.kube.ready_nodes(), 40)
    healed(stage, node_a, FOUR, namespace, uuids)
    wait_until("the worker to run again", lambda: namespace.running_on("app=worker") == node_a, 40)
    status = namespace.pod("bare")["status"]
    if status["phase"] == "Failed":
        assert status["reason"] == "UnexpectedAdmissionError"
        assert any(text in status["message"] for text in REJECTED), status["message"]
    else:
        namespace.wait_phase("bare", "Running")
    assert missing() == set(), "a reboot cleans nothing"
