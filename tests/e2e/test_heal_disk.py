# SPDX-License-Identifier: Apache-2.0
"""A host root that is full or read-only: the installer says so, what was there stays, and it goes on by itself."""

import pytest

from tests.e2e.healed import healed
from tests.e2e.host import ROOT
from tests.e2e.scenes import gpu_pod
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster

ROOM = "8m"
OLD = {"gpuSim": {"deviceCount": 3, "memoryMB": 27007, "driverVersion": "535.104.05"}}
NEW = {"gpuSim": {"deviceCount": 4, "memoryMB": 27008, "driverVersion": "570.86.15"}}


@pytest.fixture
def small_disk(stage, node_a):
    """A file system of its own below the node's host root."""
    stage.clear(node_a)
    node = stage.cluster.node(node_a)
    node.run(["mkdir", "-p", ROOT])
    node.run(["mount", "-n", "-t", "tmpfs", "-o", f"size={ROOM}", "small", ROOT])

    class Disk:
        def fill(self):
            node.run(["sh", "-c", f"cat /dev/zero >{ROOT}/ballast 2>/dev/null || true"])

        def empty(self):
            node.run(["rm", "-f", f"{ROOT}/ballast"])

        def writable(self, yes: bool):
            """The file system itself, as a kernel does after an error of the disk; not while somebody writes to it."""
            argv = ["mount", "-n", "-o", f"remount,{'rw' if yes else 'ro'}", ROOT]
            wait_until("the remount", lambda: node.run(argv, check=False).code == 0, 20)

    disk = Disk()
    yield disk
    disk.writable(True)
    disk.empty()
    stage.clear(node_a)
    node.run(["umount", "-n", "-l", ROOT])


def installer_says(stage, release: str, *parts: str) -> str:
    return wait_until(
        f"the installer to say {parts}",
        lambda: next((said for said in [stage.installer_message(release)] if all(p in said for p in parts)), ""),
        40, seen=lambda: stage.explain(release),
    )  # fmt: skip


def test_a_first_install_onto_a_full_disk(small_disk, stage, node_a, namespace):
    small_disk.fill()
    stage.install(f"on-{node_a}", node_a, OLD)
    stage.standing[node_a] = (f"on-{node_a}", OLD)
    said = installer_says(stage, f"on-{node_a}", "No space left on device")
    assert ROOT in said and "free space on that file system" in said, said
    assert stage.gpus(node_a)[1] == 0
    small_disk.empty()
    healed(stage, node_a, OLD, namespace)


@pytest.mark.parametrize("trouble, words", [
    ("full", ("No space left on device", "free space on that file system, the old state is kept")),
    ("read-only", ("Read-only file system", "mount it writable or choose another root")),
])  # fmt: skip
def test_an_upgrade_that_cannot_be_written_keeps_the_old_state(trouble, words, small_disk, stage, node_a, namespace):
    release = stage.simulate(node_a, **OLD)
    before = stage.host(node_a).inventory()
    namespace.create(gpu_pod("user", 1, node_a))
    namespace.wait_phase("user", "Running")
    (uuid,) = stage.allocated(node_a, namespace.name, "user")
    if trouble == "full":
        small_disk.fill()
    else:
        small_disk.writable(False)

    stage.install(release, node_a, NEW)
    stage.standing[node_a] = (release, NEW)
    installer_says(stage, release, ROOT, *words)
    assert stage.host(node_a).inventory() == before
    assert stage.host(node_a).inventory_file().name.endswith("535.104.05")
    said = stage.kube.exec(namespace.name, "user", ["nvml-probe"])[1]
    assert uuid in said and '"memory_mib": 27007' in said, said

    small_disk.empty()
    small_disk.writable(True)
    healed(stage, node_a, NEW, namespace, [gpu.uuid for gpu in before])
    assert namespace.phase("user") == "Running"
