# SPDX-License-Identifier: Apache-2.0
"""`helm test` proves a release on the cluster, says what is missing where it cannot, and leaves nothing behind."""

import signal
import subprocess

import pytest

from tests.harness import command
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def tested(stage, node_a):
    return stage.simulate(node_a, gpuSim={"deviceCount": 3, "memoryMB": 14141, "deviceName": "Tested GPU"})


def test_it_passes_twice_and_leaves_no_pod_that_holds_a_gpu(tested, stage, node_a):
    uuids = [gpu.uuid for gpu in stage.host(node_a).inventory()]
    for _ in range(2):
        said = stage.helm_test(tested)
        assert said.count("Succeeded") == 2, said
        assert "Tested GPU" in said and "14141" in said
        assert any(uuid in said for uuid in uuids)
    assert stage.allocations(node_a) == {}


def test_one_that_was_interrupted_does_not_stop_the_next(tested, stage, node_a):
    """Ctrl-C leaves the test's pods as they were; helm has no clean-up for it."""
    helm = [stage.cluster.programs["helm"], "--kubeconfig", stage.cluster.kubeconfig, "test", tested, "-n", "default"]
    for pod in (f"{tested}-test-nodes", f"{tested}-test-gpu"):
        stage.kube.delete("v1", "Pod", pod, "default")
        going = subprocess.Popen([str(word) for word in helm], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(f"the pod {pod}", lambda name=pod: stage.kube.pod("default", name), 30)
        finally:
            going.send_signal(signal.SIGINT)
            assert going.wait(30) != 0, "it was over before it was interrupted"
    assert stage.helm_test(tested).count("Succeeded") == 2
    assert stage.allocations(node_a) == {}


def test_it_fails_when_the_node_is_not_what_the_values_say(tested, stage, node_a, native):
    values = ["--count", "3", "--name", "Tested GPU", "--memory-mib", "14142"]
    owner = ["--node", node_a, "--release", tested, "--namespace", "default"]
    tool, inventory = native / "tests/inventory_tool", stage.host(node_a).inventory_file()
    try:
        command.run([tool, inventory, "apply", *values, *owner])
        said = stage.helm_test(tested, fails=True)
        assert "14141" in said and "14142" in said
    finally:
        stage.clear(node_a)


def test_with_no_labelled_node_it_names_the_label_command(stage):
    """`helm install --wait` is content with a DaemonSet that wants no node; the test is not."""
    values = {"gpuSim": {"deviceCount": 3}, "nodeSelector": {"gpu-sim": "nobody-has-this"}}
    stage.install("nowhere", None, values, extra=["--wait", "--timeout=60s"])
    try:
        said = stage.helm_test("nowhere", fails=True)
        assert "kubectl label node <node> gpu-sim=nobody-has-this" in said
    finally:
        stage.helm.uninstall("nowhere", "default")
    assert stage.objects_of("nowhere") == []
