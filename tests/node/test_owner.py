# SPDX-License-Identifier: Apache-2.0
"""Whose node it is: who is refused, told what, and what may be taken over."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.node_root import NodeRoot, shown

pytestmark = pytest.mark.native


@contextlib.contextmanager
def agent_of(node: NodeRoot) -> Iterator[None]:
    """Holds the lock as the living agent of the release that the file names."""
    with (node.path / "owner").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def plugin_at(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield


def test_a_second_release_is_refused_in_words_and_touches_nothing(node: NodeRoot) -> None:
    node.install(4, release="first")
    since = (node.path / "owner").read_text().splitlines()[3].removeprefix("time=")
    message = node.path.parent / "termination-log"
    message.write_text("")
    with agent_of(node):
        before = node.tree()
        done = node.install(2, release="second", namespace="team-b", node="worker-7", code=1)
        assert node.tree() == before
    expected = (
        f"gpu-sim: node worker-7 is owned by release first in namespace team-a since {since}; "
        "uninstall it first (helm uninstall first -n team-a) or label another node\n"
    )
    assert expected in done.stderr
    assert message.read_text() == expected


def test_the_same_release_name_in_another_namespace_is_another_owner(node: NodeRoot) -> None:
    node.install(4)
    with agent_of(node):
        shown(node.install(4, namespace="team-b", code=1), ["owned by release r1 in namespace team-a"])


def test_the_wait_is_as_long_as_asked_and_says_why(node: NodeRoot) -> None:
    node.install(1, release="first")
    with agent_of(node):
        start = time.monotonic()
        done = node.install(1, release="second", wait=2, code=1)
        assert 2 <= time.monotonic() - start < 4
    shown(done, ["waiting up to 2 s"])


def test_an_owner_that_leaves_while_we_wait_makes_room(node: NodeRoot) -> None:
    node.install(4, release="first")
    (node.path / "other").touch()  # in a pod the root is a mount, which stays
    with contextlib.ExitStack() as stack:
        stack.enter_context(agent_of(node))
        program = subprocess.Popen(node.words(2, release="second", wait=30), stderr=subprocess.PIPE, text=True)
        assert "waiting" in program.stderr.readline() + program.stderr.readline()
        node.run("clean-node", "--root", node.path, "--release", "first", "--namespace", "team-a")
    assert program.wait(timeout=20) == 0, program.stderr.read()
    program.stderr.close()
    assert len(node.uuids()) == 2
    assert "release=second" in (node.path / "owner").read_text()


def test_a_pod_that_is_deleted_while_it_waits_never_takes_the_node(node: NodeRoot) -> None:
    node.install(4, release="first")
    # As process 1, as in a container: there the kernel ignores a SIGTERM that nobody handles.
    words = ["unshare", "--pid", "--fork", "--kill-child", *node.words(2, release="second", wait=30)]
    with agent_of(node):
        before = node.tree()
        program = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        assert "waiting" in program.stderr.readline() + program.stderr.readline()
        inner = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()[0]
        os.kill(int(inner), signal.SIGTERM)
    assert program.wait(timeout=5) == 1
    assert "node node-1: told to stop while waiting; nothing was changed" in program.stderr.read()
    program.stderr.close()
    assert node.tree() == before


def test_a_dead_owner_is_taken_over_after_some_seconds(node: NodeRoot) -> None:
    node.install(4, release="first")
    old = node.uuids()
    start = time.monotonic()
    done = node.install(3, release="second")
    assert 4.5 < time.monotonic() - start < 15
    shown(done, ["taken over from release first in namespace team-a"])
    assert len(node.uuids()) == 3
    assert not set(node.uuids()) & set(old)


def test_an_owner_that_comes_back_meanwhile_keeps_the_node(node: NodeRoot) -> None:
    node.install(4, release="first")
    before = node.tree()
    program = subprocess.Popen(node.words(2, release="second"), stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    with agent_of(node):
        _, said = program.communicate(timeout=20)
    assert program.returncode == 1
    assert "owned by release first" in said
    assert node.tree() == before


def test_the_owner_itself_comes_again_at_once_and_keeps_its_time(node: NodeRoot) -> None:
    node.install(4)
    text = (node.path / "owner").read_text().replace("time=2", "time=1")
    (node.path / "owner").write_text(text)
    start = time.monotonic()
    node.install(5, pod="r1-later")
    assert time.monotonic() - start < 3
    assert (node.path / "owner").read_text() == text.replace("pod=r1-x", "pod=r1-later")


def test_our_own_stopping_pod_is_waited_for(node: NodeRoot) -> None:
    node.install(4)
    with agent_of(node):
        shown(node.install(4, pod="r1-y", code=1), ["pod r1-x of this release is still stopping"])


@pytest.mark.parametrize("name", ["nvidia-gpu.sock", "nvidia-mig-1g.5gb.sock", "nvidiaGPU-1712.sock", "nvidia.sock"])
def test_another_device_plugin_is_refused(node: NodeRoot, name: str) -> None:
    plugins = node.path.parent / "plugins"
    with plugin_at(plugins / name):
        done = node.install(2, plugin_dir=plugins, node="worker-7", code=1)
        assert not (node.path / "owner").exists()
        assert not (node.path / "driver").exists()
        node.install(2, plugin_dir=plugins, allow_foreign=True)
    shown(done, [f"node worker-7: another NVIDIA device plugin answers at {plugins / name}", "allowForeign=true"])


def test_dead_and_other_sockets_and_our_own_plugin_are_no_hindrance(node: NodeRoot) -> None:
    plugins = node.path.parent / "plugins"
    with plugin_at(plugins / "nvidia-gpu.sock"):
        pass
    with plugin_at(plugins / "kubelet.sock"), plugin_at(plugins / "amd-gpu.sock"):
        node.install(2, plugin_dir=plugins)
    (plugins / "nvidia-gpu.sock").unlink()
    with plugin_at(plugins / "nvidia-gpu.sock"):
        node.install(4, plugin_dir=plugins)


def test_a_real_driver_is_refused(node: NodeRoot) -> None:
    proc = node.path.parent / "proc"
    (proc / "driver/nvidia").mkdir(parents=True)
    (proc / "driver/nvidia/version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15\nGCC\n")
    done = node.install(2, proc=proc, code=1, wait=30)
    driver = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15"
    shown(done, [f"has a real NVIDIA driver ({driver})", "allowForeign=true"])
    assert list(node.path.iterdir()) == []
    node.install(2, proc=proc, allow_foreign=True)


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ({"lib64/libnvidia-ml.so.550.54": "file"}, "/usr/lib64/libnvidia-ml.so.550.54"),
        ({"lib/x86_64-linux-gnu/libnvidia-ml.so.1": "/etc/alternatives/x"},
         "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"),
        ({"lib/wsl/lib/libnvidia-ml.so.1": "file"}, "/usr/lib/wsl/lib/libnvidia-ml.so.1"),
        ({"local/nvidia/lib64/libnvidia-ml.so.1": "libnvidia-ml.so.5", "local/nvidia/lib64/libnvidia-ml.so.5": "file"},
         "/usr/local/nvidia/lib64/libnvidia-ml.so."),
        ({"lib64/libnvidia-ml.so.1": "libnvidia-ml.so.470"}, None),
        ({"lib64/libnvidia-cfg.so.1": "file", "share/libnvidia-ml.so.1": "file"}, None),
    ],
)  # fmt: skip
def test_a_real_drivers_library_is_refused(node: NodeRoot, made: dict[str, str], found: str | None) -> None:
    """Also where no driver is loaded. A dangling link is what an uninstalled driver left behind."""
    usr = node.path.parent / "usr"
    for name, what in made.items():
        (usr / name).parent.mkdir(parents=True, exist_ok=True)
        if what == "file":
            (usr / name).write_bytes(b"\x7fELF")
        else:
            (usr / name).symlink_to(what)
    if not found:
        node.install(2, host_usr=usr)
        return
    done = node.install(2, host_usr=usr, code=1, wait=30)
    shown(done, [f"has a real NVIDIA driver ({found}", "allowForeign=true"])
    assert list(node.path.iterdir()) == []
    node.install(2, host_usr=usr, allow_foreign=True)


def test_many_installs_at_once_end_as_one(node: NodeRoot) -> None:
    """Of one pod, as beside its agent, whose lock is not theirs. Several rounds, since each is a race."""
    for _ in range(5):
        programs = [
            subprocess.Popen(node.words(4, wait=30), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for _ in range(12)
        ]
        said = [program.communicate(timeout=60)[1] for program in programs]
        assert [program.returncode for program in programs] == [0] * 12, said
        assert not any("owned by" in words for words in said), said
        assert len(node.uuids()) == 4
        assert (node.path / "owner").read_text().startswith("release=")
        assert not list(node.path.rglob(".*")), "staged files are left"
        node.run("clean-node", "--root", node.path, "--release", "r1", "--namespace", "team-a")


@contextlib.contextmanager
def turn_of_another(node: NodeRoot) -> Iterator[None]:
    """Holds the lock of a program that changes the node."""
    node.path.mkdir(parents=True, exist_ok=True)
    root = os.open(node.path, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(root, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(root)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, path
        time.sleep(0.01)


def test_an_install_waits_for_its_turn_and_begins_anew_after_a_clean(node: NodeRoot) -> None:
    with turn_of_another(node):
        program = subprocess.Popen(node.words(4, wait=30), stderr=subprocess.PIPE, text=True)
        wait_for(node.path / "owner")
        time.sleep(0.3)
        assert program.poll() is None
        assert [path.name for path in node.path.iterdir()] == ["owner"]
        (node.path / "owner").unlink()
    assert program.wait(timeout=20) == 0, program.stderr.read()
    assert (node.path / "owner").read_text().startswith("release=r1\n")
    assert len(node.uuids()) == 4


def test_an_install_that_begins_anew_keeps_no_other_waiting(node: NodeRoot) -> None:
    """Both held what the other waited for, until one gave up."""
    with turn_of_another(node):
        first = subprocess.Popen(node.words(4, wait=30), stderr=subprocess.DEVNULL)
        wait_for(node.path / "owner")
        time.sleep(0.3)
        (node.path / "owner").unlink()
        second = subprocess.Popen(node.words(4, wait=30, pod="r1-y"), stderr=subprocess.DEVNULL)
        wait_for(node.path / "owner")
        time.sleep(0.3)
    assert [program.wait(timeout=10) for program in (first, second)] == [0, 0]


def test_an_install_whose_root_a_clean_removed_makes_it_again(node: NodeRoot) -> None:
    with turn_of_another(node):
        program = subprocess.Popen(node.words(4), stderr=subprocess.PIPE, text=True)
        wait_for(node.path / "owner")
        time.sleep(0.3)
        (node.path / "owner").unlink()
        node.path.rmdir()
    said = program.communicate(timeout=10)[1]
    assert program.returncode == 0, said
    assert len(node.uuids()) == 4


def test_a_pod_that_is_deleted_while_it_waits_for_its_turn_never_takes_the_node(node: NodeRoot) -> None:
    words = ["unshare", "--pid", "--fork", "--kill-child", *node.words(4)]
    with turn_of_another(node):
        program = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        wait_for(node.path / "owner")
        time.sleep(0.3)
        inner = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()[0]
        os.kill(int(inner), signal.SIGTERM)
        said = program.communicate(timeout=5)[1]
        assert program.returncode == 1
        assert "node node-1: told to stop while waiting; nothing was changed" in said
        assert list(node.path.iterdir()) == []


def test_a_clean_waits_for_its_turn(node: NodeRoot) -> None:
    node.install(4)
    before = node.tree()
    words = [node.program, "clean-node", "--root", node.path, "--release", "r1", "--namespace", "team-a"]
    with turn_of_another(node):
        program = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        assert program.poll() is None
        assert node.tree() == before
    assert program.wait(timeout=20) == 0
    assert not node.path.exists() or not list(node.path.iterdir())


def test_an_owner_file_that_names_nobody_yet_is_no_owner(node: NodeRoot) -> None:
    """Another installer has just made it: to name it would be to name nobody."""
    node.path.mkdir(parents=True)
    (node.path / "owner").touch()
    with agent_of(node):
        done = node.install(4, code=1, wait=0)
    shown(done, ["node node-1: its owner file is being changed by others; the next try follows by itself"])
    assert "owned by" not in done.stderr
    node.install(4)


def test_two_releases_at_once_never_mix(node: NodeRoot) -> None:
    counts = {"first": 3, "second": 5}
    done: dict[str, int] = {}

    def install(release: str) -> None:
        words = node.words(counts[release], release=release)
        done[release] = subprocess.run(words, capture_output=True, timeout=60).returncode

    threads = [threading.Thread(target=install, args=(release,)) for release in counts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    owner = (node.path / "owner").read_text().splitlines()[0].removeprefix("release=")
    assert done[owner] == 0
    assert len(node.uuids()) == counts[owner]
