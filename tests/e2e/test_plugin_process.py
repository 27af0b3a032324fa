# SPDX-License-Identifier: Apache-2.0
"""The device plugin's process on the node: whose library it has mapped, what it costs, what it may do."""

import pytest

from tests.e2e.host import age_s, cpu_s, mapped_inodes, status_of
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def plugin(stage, node_a):
    """Process id of the device plugin on a node with five GPUs."""
    stage.simulate(node_a, gpuSim={"deviceCount": 5, "memoryMB": 23456})
    return stage.host(node_a).process("device-plugin")


def test_the_library_in_the_plugins_memory_is_ours(plugin, stage, node_a):
    host = stage.host(node_a)
    assert mapped_inodes(plugin, "libnvidia-ml") == {host.driver_file("libnvidia-ml.so.1").stat().st_ino}
    assert mapped_inodes(plugin, "libnvidia-gpu-sim") == {host.inventory_file().stat().st_ino}


def test_the_plugin_waits_for_events_without_burning_a_cpu(plugin, stage, node_a):
    used, age = cpu_s(plugin), age_s(plugin)
    wait_until("the plugin to live 12 s longer", lambda: age_s(plugin) - age > 12, 30)
    share = (cpu_s(plugin) - used) / (age_s(plugin) - age)
    assert share < 0.05, f"the idle plugin uses {share:.1%} of a CPU"
    assert stage.gpus(node_a) == (5, 5), "the health check took GPUs away"


def test_the_node_pod_has_no_privilege_but_to_make_device_nodes(plugin, stage, node_a):
    spec = stage.node_pod(node_a)["spec"]
    for container in ("device-plugin", "agent"):
        status = status_of(stage.host(node_a).process(container))
        granted = {key: int(status[key], 16) for key in ("CapEff", "CapPrm", "CapBnd")}
        assert granted == {"CapEff": 0, "CapPrm": 0, "CapBnd": 0}, container
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), container
    contexts = {each["name"]: each["securityContext"] for each in [*spec["initContainers"], *spec["containers"]]}
    assert {name for name, context in contexts.items() if context.get("privileged")} == set()
    added = {name: context["capabilities"].get("add", []) for name, context in contexts.items()}
    assert added == {"installer": ["MKNOD"], "agent": [], "device-plugin": []}
    assert "runtimeClassName" not in spec, "no change of the container runtime may be needed"
    assert not any(spec.get(key) for key in ("hostPID", "hostNetwork", "hostIPC"))
