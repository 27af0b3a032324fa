# SPDX-License-Identifier: Apache-2.0
"""Hosts that have no room, forbid something, or hold odd things where ours belong."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time

import pytest

from tests.harness import needs
from tests.node.node_root import NodeRoot, mounted, only_capabilities, power_limit, set_power_limit, shown

pytestmark = pytest.mark.native


def root_or_skip() -> None:
    if os.geteuid():
        needs.skip("root", "mounts a file system")


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


def test_a_disk_that_fills_between_two_files_keeps_the_old_state(node: NodeRoot) -> None:
    root_or_skip()
    node.path.mkdir()
    with mounted(node.path, "size=8m"):
        node.install(4)
        filler, page = node.path / "filler", os.sysconf("SC_PAGE_SIZE")
        with contextlib.suppress(OSError):
            filler.write_bytes(b"x" * (16 << 20))
        library = -(-node.library.stat().st_size // page) * page  # there is room for it, and for no other file
        os.truncate(filler, filler.stat().st_size // page * page - library)
        before = node.tree()
        done = node.install(4, driver_version="580.65.06", device_list_strategy="envvar", code=3)
        shown(done, [f"{node.path}/driver/etc/gpu-sim/device-plugin.yaml", "No space left"])
        assert node.tree() == before


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
        shown(
            node.install(4, code=1),
            [f"{node.path}/owner", "Read-only file system", "mount it writable or choose another root"],
        )


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
    holder = subprocess.Popen(["flock", node.inventory().parent, "sleep", "2"])
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
