# SPDX-License-Identifier: Apache-2.0
"""Installs that are killed, find no room, or run on a host that forbids something; and users who run meanwhile."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.harness import needs
from tests.node.node_root import (
    NodeRoot,
    bare_environment,
    mounted,
    only_capabilities,
    power_limit,
    set_power_limit,
    shown,
)

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


def root_or_skip() -> None:
    if os.geteuid():
        needs.skip("root", "mounts a file system")


def test_killed_at_any_moment_the_next_run_finishes_and_users_see_whole_gpus(node: NodeRoot) -> None:
    node.install(4)
    sizes, chance = (2, 8, 4), random.Random(20)
    known = set(node.uuids())
    node.install(8)
    known |= set(node.uuids())
    with Client(node) as client:
        for round_ in range(40):
            options = {"driver_version": ("550.163.01", "535.261.03")[round_ % 2]}
            program = subprocess.Popen(
                node.words(sizes[round_ % 3], **options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(chance.uniform(0, 0.012))
            program.send_signal(signal.SIGKILL)
            program.wait()
            assert set(client.see()) <= known | {"NVMLError_GpuIsLost"}
    node.install(6, driver_version="580.65.06")
    assert len(node.uuids()) == 6
    assert set(node.uuids()) <= known
    assert not list(node.path.rglob(".*")), "staged files are left"
    libraries = [path.name for path in (node.path / "driver/usr/lib64").iterdir()]
    assert "libnvidia-ml.so.580.65.06" in libraries
    assert len(libraries) == 4, "an old version is left"


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


def test_full_disk_keeps_the_old_state(node: NodeRoot) -> None:
    root_or_skip()
    node.path.mkdir()
    with mounted(node.path, "size=8m"):
        node.install(4)
        set_power_limit(node.inventory(), 2, 111000)
        filler = node.path / "filler"
        with contextlib.suppress(OSError):
            filler.write_bytes(b"x" * (16 << 20))
        before = node.tree()
        done = node.install(8, driver_version="580.65.06", code=3)
        shown(done, [f"{node.path}/driver/usr/lib64/libnvidia-ml.so.580.65.06", "No space left", "free space"])
        assert node.tree() == before
        filler.unlink()
        node.install(8, driver_version="580.65.06")
        assert power_limit(node.inventory(), 2) == 111000


def test_full_disk_at_first_leaves_no_owner(node: NodeRoot) -> None:
    root_or_skip()
    node.path.mkdir()
    with mounted(node.path, "size=64k"):
        shown(node.install(4, code=3), ["No space left"])
        assert not (node.path / "owner").exists()


def test_read_only_root(node: NodeRoot) -> None:
    root_or_skip()
    node.path.mkdir()
    with mounted(node.path, "ro"):
        shown(node.install(4, code=1), [str(node.path), "Read-only file system"])


def strategies(node: NodeRoot) -> str:
    return (node.path / "driver/etc/gpu-sim/device-plugin.yaml").read_text().splitlines()[-1].strip()


def test_noexec_host_gets_what_works_there_and_is_told(node: NodeRoot) -> None:
    root_or_skip()
    node.path.mkdir()
    with mounted(node.path, "size=16m,noexec"):
        shown(node.install(2), [f"gpu-sim: {node.path}: programs cannot be run", "hostRoot"])
        assert strategies(node) == 'deviceListStrategy: ["envvar"]'
        assert len(node.devices()) == 4


def test_without_mknod_the_node_gets_what_works_there_and_is_told(node: NodeRoot) -> None:
    done = node.install(2, preexec=only_capabilities(), device_list_strategy="cdi-cri")
    shown(done, [f"gpu-sim: {node.path}: device nodes cannot be made there (Operation not permitted)", "MKNOD"])
    assert strategies(node) == 'deviceListStrategy: ["envvar"]'
    assert node.devices() == []
    node.install(2, device_list_strategy="cdi-cri")
    assert strategies(node) == 'deviceListStrategy: ["cdi-cri"]'
    assert len(node.devices()) == 4


def test_an_unusable_inventory_is_replaced(node: NodeRoot) -> None:
    node.install(3)
    inode = node.inventory().stat().st_ino
    content = bytearray(node.inventory().read_bytes())
    content[8:12] = (99).to_bytes(4, "little")
    node.inventory().write_bytes(content)
    with node.inventory().open("rb") as old:
        node.install(3)
        assert node.inventory().stat().st_ino != inode
        assert old.read()[40:44] == (2).to_bytes(4, "little"), "the old file is not marked as retired"
    assert len(node.uuids()) == 3


def test_a_cut_inventory_is_replaced(node: NodeRoot) -> None:
    node.install(3)
    os.truncate(node.inventory(), 5000)
    node.install(3)
    assert len(node.uuids()) == 3


def test_a_held_inventory_lock_is_waited_for_and_named(node: NodeRoot) -> None:
    node.install(3)
    holder = subprocess.Popen(["flock", node.inventory(), "sleep", "2"])
    try:
        time.sleep(0.3)
        start = time.monotonic()
        node.install(5)
        assert time.monotonic() - start > 1
    finally:
        holder.wait()
    assert len(node.uuids()) == 5


def test_odd_things_in_the_way(node: NodeRoot) -> None:
    """A folder where a file belongs is somebody's mistake: named, not followed and not removed."""
    (node.path / "driver/usr/lib64/libnvidia-ml.so.550.163.01").mkdir(parents=True)
    shown(node.install(3, code=3), ["libnvidia-ml.so.550.163.01: cannot be put in place"])
    (node.path / "driver/usr/lib64/libnvidia-ml.so.550.163.01").rmdir()
    node.install(3)
