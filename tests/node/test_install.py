# SPDX-License-Identifier: Apache-2.0
"""What `gpu-sim install` puts on a node, what it leaves alone when run again, and what it refuses."""

from __future__ import annotations

import os
import re
import stat

import pytest

from tests.node.node_root import LIBRARIES, NodeRoot, only_capabilities, power_limit, set_power_limit, shown

pytestmark = pytest.mark.native
CAP_MKNOD = 27


def test_layout(node: NodeRoot) -> None:
    node.install(3)
    driver = node.path / "driver"
    library = driver / "usr/lib64/libnvidia-ml.so.550.163.01"
    assert library.read_bytes() == node.library.read_bytes()
    for name in ("libnvidia-ml.so", "libnvidia-ml.so.1", "libnvidia-ml-mock.so", "usr/lib64/libnvidia-ml.so.1"):
        link = driver / name
        assert link.is_symlink()
        assert not str(link.readlink()).startswith("/"), "an absolute link leads out of the driver root"
        assert link.resolve() == library
    assert node.inventory().name == "libnvidia-gpu-sim.so.550.163.01"
    programs = [driver / "usr/bin" / name for name in ("gpu-sim", "nvidia-smi", "nvidia-cdi-hook")]
    assert {path.lstat().st_ino for path in programs} == {programs[0].lstat().st_ino}
    assert not any(path.is_symlink() for path in programs), "the plugin mounts a link's target under the target's name"
    assert programs[0].read_bytes() == node.program.read_bytes()
    assert stat.S_IMODE(programs[0].stat().st_mode) == 0o755


def test_devices_are_null_devices_for_everybody(node: NodeRoot) -> None:
    node.install(3)
    assert node.devices() == ["nvidia-uvm", "nvidia0", "nvidia1", "nvidia2", "nvidiactl"]
    for path in (node.path / "driver/dev").iterdir():
        status = path.lstat()
        assert stat.S_ISCHR(status.st_mode)
        assert (os.major(status.st_rdev), os.minor(status.st_rdev)) == (1, 3)
        assert stat.S_IMODE(status.st_mode) == 0o666


def test_plugin_configuration_and_owner(node: NodeRoot) -> None:
    node.install(1, device_list_strategy="volume-mounts,cdi-cri", release="feat-x")
    config = (node.path / "driver/etc/gpu-sim/device-plugin.yaml").read_text()
    assert 'deviceListStrategy: ["volume-mounts", "cdi-cri"]' in config
    *names, time = (node.path / "owner").read_text().splitlines()
    assert names == ["release=feat-x", "namespace=team-a", "pod=feat-x-x"]
    assert re.fullmatch(r"time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", time)


def test_again_with_the_same_input_changes_no_file_but_the_inventorys_counters(node: NodeRoot) -> None:
    node.install(5)
    before, said = node.tree(), node.install(5).stdout
    after = node.tree()
    inventory = str(node.inventory().relative_to(node.path))
    assert before.pop(inventory)[:3] == after.pop(inventory)[:3]
    assert before == after
    assert said.endswith("; 0 changed\n")


def test_fewest_rights(node: NodeRoot) -> None:
    node.install(2, preexec=only_capabilities(CAP_MKNOD))
    assert node.devices() == ["nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl"]


@pytest.mark.parametrize(
    ("options", "name", "memory"),
    [
        ({"profile": "tesla-t4"}, "Tesla T4", "15360 MiB"),
        ({"profile": "h100-80gb-hbm3", "memory_mib": 20000}, "NVIDIA H100 80GB HBM3", "20000 MiB"),
        ({"name": "Our GPU 7"}, "Our GPU 7", "40960 MiB"),
    ],
)
def test_values_reach_the_gpus(node: NodeRoot, options: dict, name: str, memory: str) -> None:
    node.install(7, **options)
    rows = node.smi("--query-gpu=name,memory.total", "--format=csv,noheader").splitlines()
    assert rows == [f"{name}, {memory}"] * 7


def test_growing_and_shrinking_keeps_the_file_and_what_did_not_change(node: NodeRoot) -> None:
    node.install(4)
    four, inode = node.uuids(), node.inventory().stat().st_ino
    set_power_limit(node.inventory(), 1, 123000)
    node.install(8)
    assert len(node.uuids()) == 8
    assert node.uuids()[:4] == four
    assert power_limit(node.inventory(), 1) == 123000, "run-time state of an unchanged GPU is lost"
    node.install(2)
    assert node.uuids() == four[:2]
    assert node.devices() == ["nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl"]
    assert node.inventory().stat().st_ino == inode


def test_changed_gpus_start_afresh(node: NodeRoot) -> None:
    node.install(2)
    fresh = power_limit(node.inventory(), 0)
    set_power_limit(node.inventory(), 0, 123000)
    node.install(2, memory_mib=30000)
    assert power_limit(node.inventory(), 0) == fresh


def test_another_driver_version(node: NodeRoot) -> None:
    node.install(2, driver_version="535.261.03")
    inode, uuids = node.inventory().stat().st_ino, node.uuids()
    node.install(2, driver_version="580.65.06")
    assert node.inventory().name == "libnvidia-gpu-sim.so.580.65.06"
    assert node.inventory().stat().st_ino == inode, "pods would keep a file that nobody writes to"
    assert sorted(path.name for path in (node.path / LIBRARIES).iterdir()) == [
        "libnvidia-gpu-sim.so.580.65.06",
        "libnvidia-ml.so",
        "libnvidia-ml.so.1",
        "libnvidia-ml.so.580.65.06",
    ]
    assert node.uuids() == uuids
    assert node.smi("--query-gpu=driver_version", "--format=csv,noheader") == "580.65.06\n" * 2


def test_uuids_differ_between_nodes_and_releases_and_stay(node: NodeRoot) -> None:
    seen: set[str] = set()
    for name in ("node-1", "node-2", "node-3"):
        for release in ("r1", "r2"):
            one = NodeRoot(node.program, node.library, node.path.parent / f"{name}-{release}")
            one.install(3, node=name, release=release)
            uuids = one.uuids()
            assert not seen & set(uuids)
            assert all(re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", uuid) for uuid in uuids)
            seen |= set(uuids)
    assert len(seen) == 18


def test_all_wrong_input_is_told_at_once_and_nothing_is_made(node: NodeRoot) -> None:
    done = node.install(
        65, code=1, profile="a200", memory_mib="4.5", uuid_format="short", device_list_strategy="cdi", wait="-1",
        release="a b",
    )  # fmt: skip
    shown(
        done,
        ["--count", "got 65", "--profile", "got a200", "--memory-mib", "got 4.5", "--uuid-format", "got short",
         "--device-list-strategy", "got cdi", "--wait", "got -1", "--release", "got a b"],
    )  # fmt: skip
    assert not node.path.exists()


@pytest.mark.parametrize("count", ["four", "-1", "4.5", "1e3", "0x4", "65", " 4"])
def test_counts_that_are_none(node: NodeRoot, count: str) -> None:
    shown(node.install(count, code=1), ["--count", f"got {count}"])


def test_unknown_and_missing_options(node: NodeRoot) -> None:
    shown(node.run("install", "--cuont", "4", code=2), ["got --cuont", "--root is missing", "--count is missing"])
    shown(node.run("install", "--root", code=2), ["--root needs a value"])
    shown(node.run("instal", code=2), ["instal: no such command"])


def test_a_library_that_is_none(node: NodeRoot) -> None:
    fake = node.path.parent / "library"
    fake.write_text("text")
    shown(node.install(2, code=3, library=fake), ["not a shared library"])
    shown(node.install(2, code=3, library=fake.with_name("absent")), ["cannot be read", "--library"])
    assert not (node.path / "owner").exists()


def test_the_termination_message_holds_every_problem(node: NodeRoot) -> None:
    message = node.path.parent / "termination-log"
    message.write_text("")
    done = node.install(99, code=1, profile="nope")
    assert message.read_text() == done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_without_a_message_file_none_is_made(node: NodeRoot) -> None:
    node.install(99, code=1)
    assert not (node.path.parent / "termination-log").exists()
