# SPDX-License-Identifier: Apache-2.0
"""`gpu-sim verify`: what helm test runs in a GPU pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.node.node_root import NodeRoot, bare_environment, shown

pytestmark = pytest.mark.native


def verify(node: NodeRoot, *words: str, code: int = 0, **environment: str):
    return node.run("verify", "--inventory", node.inventory(), *words, code=code, env=bare_environment(**environment))


def test_what_is_seen_is_shown_and_compared(node: NodeRoot) -> None:
    node.install(3, profile="tesla-t4", memory_mib=12345)
    done = verify(node, "--count", "3", "--name", "Tesla T4", "--memory-mib", "12345")
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert rows == [[str(i), uuid, "Tesla", "T4", "12345", "MiB"] for i, uuid in enumerate(node.uuids())]


def test_every_difference_is_told(node: NodeRoot) -> None:
    node.install(2)
    done = verify(node, "--count", "3", "--name", "Tesla T4", "--memory-mib", "77", code=1)
    one, two = node.uuids()
    expected = [f"GPU {uuid} must be a Tesla T4, got NVIDIA A100-SXM4-40GB" for uuid in (one, two)]
    expected += [f"GPU {uuid} must have 77 MiB, got 40960" for uuid in (one, two)]
    shown(done, [*expected, "must see 3 GPUs, got 2"])


def test_only_granted_gpus_without_device_nodes(node: NodeRoot) -> None:
    node.install(4)
    uuids = node.uuids()
    done = verify(node, "--count", "2", NVIDIA_VISIBLE_DEVICES=f"{uuids[3]},{uuids[1]}")
    assert [line.split()[1] for line in done.stdout.splitlines()[1:]] == [uuids[1], uuids[3]]


def test_as_a_program_of_the_driver_root_it_goes_by_the_device_nodes(node: NodeRoot) -> None:
    node.install(4)
    (node.path / "driver/dev/nvidia0").unlink()
    (node.path / "driver/dev/nvidia2").unlink()
    one = NodeRoot(node.path / "driver/usr/bin/gpu-sim", node.library, node.path)
    done = one.run("verify", "--count", "2", env=bare_environment())
    seen = [line.split()[1] for line in done.stdout.splitlines()[1:]]
    assert seen == node.uuids()
    assert len(seen) == 2


def test_without_an_inventory_the_plugins_variable_counts(node: NodeRoot) -> None:
    if list(Path("/usr/lib64").glob("libnvidia-gpu-sim.so.*")):
        pytest.fail("this machine is a simulated node itself")
    environment = bare_environment(NVIDIA_VISIBLE_DEVICES="GPU-1,GPU-2")
    done = node.run("verify", "--count", "2", env=environment)
    assert done.stdout.count("this runtime has no CDI") == 2
    shown(node.run("verify", "--count", "1", code=1, env=environment), ["must see 1 GPUs, got 2"])
    environment["NVIDIA_VISIBLE_DEVICES"] = "void"
    shown(node.run("verify", "--count", "1", code=1, env=environment), ["must see 1 GPUs, got 0"])


def test_wrong_words(node: NodeRoot) -> None:
    done = node.run("verify", "--count", "x", "--memory-mib", "0", code=2)
    shown(done, ["--count", "got x", "--memory-mib", "got 0"])
    absent = node.path.parent / "absent"
    shown(node.run("verify", "--count", "1", "--inventory", absent, code=1), [str(absent), "cannot be opened"])
