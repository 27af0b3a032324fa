# SPDX-License-Identifier: Apache-2.0
"""Installs that die at any point, and users of the library who run meanwhile."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.node import stepped
from tests.node.node_root import NodeRoot, bare_environment

pytestmark = pytest.mark.native

# A client as pods have one: keeps library and inventory open, and answers with what it sees for each line it is sent.
CLIENT = """
import sys, pynvml as p
p.nvmlInit()
handles = [p.nvmlDeviceGetHandleByIndex(i) for i in range(p.nvmlDeviceGetCount())]
def see(handle):
    try:
        return p.nvmlDeviceGetUUID(handle)
    except p.NVMLError as error:
        return type(error).__name__
for line in sys.stdin:
    print(*map(see, handles), flush=True)
"""


class Client:
    def __init__(self, node: NodeRoot):
        environment = bare_environment(LD_LIBRARY_PATH=str(node.path / "driver"))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([sys.executable, "-c", CLIENT], env=environment, text=True, **pipes)

    def see(self) -> list[str]:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(timeout=10) == 0


def test_killed_before_any_system_call_the_next_run_finishes(node: NodeRoot) -> None:
    """Each round changes everything that can change, and dies one step later than the round before."""
    node.install(8)
    known = set(node.uuids())
    versions, killed = ("535.261.03", "580.65.06"), 0
    with Client(node) as client:
        for step in range(1, 1000):
            words = node.words(
                2 + step % 2 * 6, driver_version=versions[step % 2], device_list_strategy="envvar,cdi-cri"
            )
            if stepped.run(words, lambda count, number, step=step: count == step) is not None:
                break
            killed += 1
            assert set(client.see()) <= known | {"NVMLError_GpuIsLost"}
            assert (node.path / "driver/libnvidia-ml.so.1").resolve().is_file(), f"no library after step {step}"
            with Client(node) as starts:
                whole = [uuid for uuid in starts.see() if uuid in known]  # one whose node is still there is lost
                assert len(whole) in (2, 4, 8), f"whoever starts after step {step} sees half a node"
            if step % 10 == 0:
                node.install(4, driver_version="550.163.01", device_list_strategy="envvar")
                check_whole(node, 4, known)
    assert killed > 80, "the program was not stepped through"
    node.install(6)
    check_whole(node, 6, known)


def check_whole(node: NodeRoot, count: int, known: set[str]) -> None:
    assert len(node.uuids()) == count
    assert set(node.uuids()) <= known
    assert node.devices() == sorted([*(f"nvidia{i}" for i in range(count)), "nvidia-uvm", "nvidiactl"])
    assert not list(node.path.rglob(".*")), "staged files are left"
    assert sorted(path.name for path in (node.path / "driver/usr/lib64").iterdir()) == [
        "libnvidia-gpu-sim.so.550.163.01",
        "libnvidia-ml.so",
        "libnvidia-ml.so.1",
        "libnvidia-ml.so.550.163.01",
    ]


def test_an_owner_file_removed_just_before_it_is_locked_is_made_anew(node: NodeRoot) -> None:
    """The agent cleans the node in the instant in which the next installer has opened the file and not locked it."""
    node.install(1)
    removed = []

    def remove_once(count: int, number: int) -> bool:
        if number == stepped.FLOCK and not removed:
            (node.path / "owner").unlink()
            removed.append(count)
        return False

    assert stepped.run(node.words(3), remove_once) == 0
    assert removed
    assert "release=r1" in (node.path / "owner").read_text(), "the node has GPUs and no owner"


def test_users_keep_their_library_and_see_the_new_state(node: NodeRoot) -> None:
    node.install(4)
    four = node.uuids()
    with Client(node) as client:
        assert client.see() == four
        node.install(2, driver_version="580.65.06")
        assert client.see() == [*four[:2], "NVMLError_GpuIsLost", "NVMLError_GpuIsLost"]
        node.install(8)
        assert client.see() == four
        node.run("clean-node", "--root", node.path, "--release", "r1", "--namespace", "team-a")
        assert client.see() == four
