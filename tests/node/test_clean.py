# SPDX-License-Identifier: Apache-2.0
"""`gpu-sim clean-node`: all of ours goes, nothing of anybody else's."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.node.node_root import NodeRoot, shown
from tests.node.test_owner import agent_of, plugin_at

pytestmark = pytest.mark.native
SPECIFICATION = "k8s.device-plugin.nvidia.com-gpu.json"


def ours(release: str = "r1") -> tuple[str, ...]:
    return "--release", release, "--namespace", "team-a"


def test_everything_of_ours_is_removed(node: NodeRoot) -> None:
    node.install(4)
    node.install(2, driver_version="580.65.06")
    done = node.run("clean-node", "--root", node.path, *ours())
    assert not node.path.exists()
    assert done.stdout == f"gpu-sim: {node.path} is clean\n"
    assert "is clean" in node.run("clean-node", "--root", node.path, *ours()).stdout, "twice is fine"


def test_by_the_agent_that_holds_the_lock(node: NodeRoot) -> None:
    node.install(4)
    with agent_of(node):
        node.run("clean-node", "--root", node.path, *ours())
    assert not node.path.exists()


def test_other_files_under_the_root_stay(node: NodeRoot) -> None:
    node.install(4)
    (node.path / "notes").write_text("mine")
    node.run("clean-node", "--root", node.path, *ours())
    assert [path.name for path in node.path.iterdir()] == ["notes"]


def test_links_are_removed_and_not_followed(node: NodeRoot) -> None:
    node.install(1)
    outside = node.path.parent / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    (node.path / "driver/usr/lib64/link").symlink_to(outside)
    node.run("clean-node", "--root", node.path, *ours())
    assert (outside / "kept").exists()


def test_a_second_owners_node_is_not_touched(node: NodeRoot) -> None:
    node.install(4, release="second")
    before = node.tree()
    done = node.run("clean-node", "--root", node.path, *ours("first"), code=1)
    shown(done, ["owned by release second in namespace team-a", "not by first", "nothing was removed"])
    assert node.tree() == before


def test_force_takes_from_the_dead_only(node: NodeRoot) -> None:
    node.install(4)
    with agent_of(node):
        before = node.tree()
        done = node.run("clean-node", "--root", node.path, "--force", code=1)
        shown(done, ["release r1 in namespace team-a runs here", "helm uninstall r1 -n team-a"])
        assert node.tree() == before
    node.run("clean-node", "--root", node.path, "--force")
    assert not node.path.exists()


def test_after_an_install_that_never_came_to_an_owner(node: NodeRoot) -> None:
    (node.path / "driver/usr").mkdir(parents=True)
    node.run("clean-node", "--root", node.path, *ours())
    assert not node.path.exists()


def test_specification_and_dead_socket_of_the_plugin(node: NodeRoot, tmp_path: Path) -> None:
    node.install(2)
    cdi, plugins = tmp_path / "cdi", tmp_path / "plugins"
    cdi.mkdir()
    (cdi / SPECIFICATION).write_text('{"hostPath": "/x/driver/usr/lib64/libnvidia-gpu-sim.so.550.163.01"}')
    (cdi / "other.json").write_text("libnvidia-gpu-sim.so.")
    with plugin_at(plugins / "nvidia-gpu.sock"):
        pass
    with socket.socket(socket.AF_UNIX) as kubelet:
        kubelet.bind(str(plugins / "kubelet.sock"))
        node.run("clean-node", "--root", node.path, *ours(), "--cdi-dir", cdi, "--plugin-dir", plugins)
    assert [path.name for path in cdi.iterdir()] == ["other.json"]
    assert [path.name for path in plugins.iterdir()] == ["kubelet.sock"]


def test_a_real_drivers_specification_and_a_living_plugin_stay(node: NodeRoot, tmp_path: Path) -> None:
    node.install(2)
    cdi, plugins = tmp_path / "cdi", tmp_path / "plugins"
    cdi.mkdir()
    (cdi / SPECIFICATION).write_text('{"hostPath": "/usr/lib64/libnvidia-ml.so.550.163.01"}')
    with plugin_at(plugins / "nvidia-gpu.sock"):
        done = node.run("clean-node", "--root", node.path, *ours(), "--cdi-dir", cdi, "--plugin-dir", plugins)
    shown(done, [f"{plugins}/nvidia-gpu.sock: a device plugin still answers"])
    assert (cdi / SPECIFICATION).exists()
    assert (plugins / "nvidia-gpu.sock").exists()


def test_whose_node_must_be_said(node: NodeRoot) -> None:
    for words in ((), ("--release", "r1"), ("--force", *ours())):
        done = node.run("clean-node", "--root", node.path, *words, code=2)
        shown(done, ["either --release and --namespace, or --force"])
