# SPDX-License-Identifier: Apache-2.0
"""`gpu-sim ready`: true exactly when the kubelet's checkpoint has every GPU of the inventory and a plugin answers."""

from __future__ import annotations

import contextlib
import json
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.node_root import NodeRoot, shown

pytestmark = pytest.mark.native


@pytest.fixture(autouse=True)
def plugin(node: NodeRoot) -> Iterator[socket.socket]:
    """What a running device plugin shows: its socket, in the folder of the kubelet's checkpoint."""
    with socket.socket(socket.AF_UNIX) as listening:
        with contextlib.chdir(node.path.parent):  # the whole path may be longer than an address can be
            listening.bind("nvidia-gpu.sock")
        listening.listen()
        yield listening


def checkpoint(node: NodeRoot, registered: object, *, entries: object = None) -> Path:
    path = node.path.parent / "kubelet_internal_checkpoint"
    data = {"Data": {"PodDeviceEntries": entries, "RegisteredDevices": registered}, "Checksum": 1234567890}
    path.write_text(json.dumps(data))
    return path


def test_all_registered(node: NodeRoot) -> None:
    node.install(3)
    path = checkpoint(node, {"other.example/gpu": ["x"], "nvidia.com/gpu": list(reversed(node.uuids()))})
    assert node.run("ready", "--root", node.path, "--checkpoint", path).stdout == "ready: the kubelet has all 3 GPUs\n"


def test_shared_and_mixed_resources_count(node: NodeRoot) -> None:
    node.install(2)
    one, two = node.uuids()
    path = checkpoint(node, {"nvidia.com/gpu.shared": [f"{one}::0", f"{one}::1"], "nvidia.com/mig-1g.5gb": [two]})
    node.run("ready", "--root", node.path, "--checkpoint", path)


def test_one_missing_is_named(node: NodeRoot) -> None:
    node.install(5)
    uuids = node.uuids()
    path = checkpoint(node, {"nvidia.com/gpu": uuids[:3] + uuids[4:]})
    done = node.run("ready", "--root", node.path, "--checkpoint", path, code=1)
    shown(done, [f"the kubelet has 4 of 5 GPUs, {uuids[3]} is missing"])


def test_gpus_of_other_vendors_or_of_allocations_do_not_count(node: NodeRoot) -> None:
    node.install(2)
    entries = [{"ResourceName": "nvidia.com/gpu", "DeviceIDs": {"-1": node.uuids()}}]
    path = checkpoint(node, {"example.com/gpu": node.uuids(), "nvidia.com/gpu": None}, entries=entries)
    shown(node.run("ready", "--root", node.path, "--checkpoint", path, code=1), ["0 of 2"])


@pytest.mark.parametrize(
    "text",
    ["", "null", "{", '{"Data":', '{"Data":{"RegisteredDevices":null}', "[" * 100000, '{"Data":"Registered"}', '"\\'],
)
def test_a_checkpoint_that_is_none(node: NodeRoot, text: str) -> None:
    node.install(1)
    path = node.path.parent / "checkpoint"
    path.write_text(text)
    shown(node.run("ready", "--root", node.path, "--checkpoint", path, code=1), ["not ready: "])


def test_no_checkpoint_or_no_inventory(node: NodeRoot) -> None:
    absent = node.path.parent / "absent"
    shown(node.run("ready", "--root", node.path, "--checkpoint", absent, code=1), ["there is no inventory"])
    node.install(1)
    shown(node.run("ready", "--root", node.path, "--checkpoint", absent, code=1), [str(absent), "No such file"])


def test_without_a_kubelet(node: NodeRoot) -> None:
    shown(node.run("ready", "--root", node.path, "--no-kubelet", code=1), ["there is no inventory"])
    node.install(6)
    assert node.run("ready", "--root", node.path, "--no-kubelet").stdout == "ready: the inventory has 6 GPUs\n"
    shown(node.run("ready", "--root", node.path, code=2), ["--checkpoint is missing"])


def test_gpus_that_were_taken_away_need_not_be_registered(node: NodeRoot) -> None:
    node.install(4)
    node.install(2)
    path = checkpoint(node, {"nvidia.com/gpu": node.uuids()})
    assert "all 2 GPUs" in node.run("ready", "--root", node.path, "--checkpoint", path).stdout


def test_a_kubelet_that_only_remembers_is_not_enough(node: NodeRoot) -> None:
    node.install(3)
    with tempfile.TemporaryDirectory(prefix="gs") as short, socket.socket(socket.AF_UNIX) as listening:
        kept = Path(short) / "kubelet_internal_checkpoint"
        kept.write_bytes(checkpoint(node, {"nvidia.com/gpu": node.uuids()}).read_bytes())
        words = ("ready", "--root", node.path, "--checkpoint", kept)
        shown(node.run(*words, code=1), [f"{short}: not ready: ", "no device plugin answers here"])
        listening.bind(f"{short}/nvidia-gpu.sock")  # there, and nobody behind it
        shown(node.run(*words, code=1), ["no device plugin answers here; delete this pod"])
        listening.listen()
        assert "all 3 GPUs" in node.run(*words).stdout


def test_gpus_that_are_broken_need_not_be_registered(node: NodeRoot) -> None:
    node.install(4)
    uuids = node.uuids()
    words = ("ready", "--root", node.path, "--checkpoint")
    path = checkpoint(node, {"nvidia.com/gpu": uuids[:2]})
    node.run("ctl", "xid", "--gpu", 3, 79, "--root", node.path)
    shown(node.run(*words, path, code=1), [f"the kubelet has 2 of 4 GPUs, {uuids[2]} is missing"])
    node.run("ctl", "lost", "--gpu", 2, "--root", node.path)
    assert node.run(*words, path).stdout == "ready: the kubelet has 2 of 4 GPUs, 2 broken\n"
    node.run("ctl", "lost", "--gpu", "all", "--root", node.path)
    path = checkpoint(node, {"nvidia.com/gpu": []})
    shown(node.run(*words, path, code=1), ["the kubelet has 0 of 4 GPUs, all are broken; see gpu-sim ctl status"])
