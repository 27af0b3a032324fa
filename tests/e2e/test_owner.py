# SPDX-License-Identifier: Apache-2.0
"""One node has one owner: a second release, or a foreign plugin, is told who is there and changes nothing."""

import socket

import pytest

from tests.e2e.host import PLUGINS, ROOT
from tests.e2e.scenes import gpu_pod
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def second(stage):
    """Installs a further release on an occupied node, without waiting; it is removed afterwards."""
    names = []

    def install(name: str, node: str, **values):
        stage.install(name, node, values)
        names.append(name)
        return name

    yield install
    for name in names:
        stage.helm.uninstall(name, "default")
        # An installer that starts at the very moment of the uninstall can miss its SIGTERM; it gives up by itself.
        wait_until(f"the pods of {name} to be gone", lambda name=name: not stage.pods_of(name), 40)


def test_a_second_release_is_told_the_first_and_the_first_keeps_its_gpus(stage, node_a, second, namespace):
    first = stage.simulate(node_a, gpuSim={"deviceCount": 5, "memoryMB": 23456})
    before, dips = stage.fingerprint(node_a), stage.watch_allocatable(node_a)
    second("intruder", node_a, gpuSim={"deviceCount": 2, "memoryMB": 9999})

    said = wait_until(
        "the second release's termination message", lambda: stage.installer_message("intruder"), 30,
        seen=lambda: stage.explain("intruder"),
    )  # fmt: skip
    assert f"node {node_a} is owned by release {first} in namespace default since " in said
    assert f"helm uninstall {first} -n default" in said
    assert "or label another node" in said

    assert stage.fingerprint(node_a) == before
    assert dips() == {5}
    namespace.create(gpu_pod("still-served", 5, node_a))
    assert namespace.report("still-served")["count"] == 5


def test_the_second_release_moves_in_once_the_first_has_gone(stage, node_a, second):
    stage.simulate(node_a, gpuSim={"deviceCount": 5, "memoryMB": 23456})
    second("successor", node_a, gpuSim={"deviceCount": 2, "memoryMB": 9999})
    wait_until("the second release to be refused", lambda: stage.installer_message("successor"), 30)
    stage.uninstall(node_a)
    stage.wait_gpus(node_a, 2, deadline_s=90)
    assert {gpu.memory_mib for gpu in stage.host(node_a).inventory()} == {9999}


def test_a_foreign_plugin_on_the_node_is_refused(stage, node_a, second):
    stage.clear(node_a)
    folder = stage.host(node_a).path(PLUGINS)
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(folder / "nvidia-gpu.sock"))  # where NVIDIA's plugin listens
        foreign.listen()
        try:
            second("guest", node_a, gpuSim={"deviceCount": 3})
            said = wait_until("the installer's refusal", lambda: stage.installer_message("guest"), 30)
            written = [name for name in stage.host(node_a).files() if name.startswith(ROOT)]
        finally:
            (folder / "nvidia-gpu.sock").unlink()
    assert "nvidia-gpu.sock" in said and "allowForeign" in said
    assert written == []


@pytest.fixture
def real_library(stage, node_a):
    """A file system with a driver's library on the node, in a folder where no program of the node looks."""
    node, folder = stage.cluster.node(node_a), "/usr/local/lib"
    node.run(["mount", "-n", "-t", "tmpfs", "real-driver", folder])
    node.run(["touch", f"{folder}/libnvidia-ml.so.418.87.01"])
    yield f"{folder}/libnvidia-ml.so.418.87.01"
    node.run(["umount", "-n", "-l", folder])


def test_a_real_drivers_library_is_refused_unless_it_is_allowed(stage, node_a, second, real_library):
    stage.clear(node_a)
    second("guest", node_a, gpuSim={"deviceCount": 3})
    said = wait_until("the installer's refusal", lambda: stage.installer_message("guest"), 30)
    assert f"node {node_a} has a real NVIDIA driver ({real_library})" in said and "allowForeign" in said
    assert not [name for name in stage.host(node_a).files() if name.startswith(ROOT)]
    stage.install("guest", node_a, {"gpuSim": {"deviceCount": 3}, "allowForeign": True})
    stage.wait_gpus(node_a, 3)
