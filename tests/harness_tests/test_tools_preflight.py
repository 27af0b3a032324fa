# SPDX-License-Identifier: Apache-2.0
"""Preflight: every reason at once, quickly, with its own exit code."""

import os
import shutil
import socket
import subprocess
import sys
import time

import pytest

from tests.harness import debian, needs, preflight, privileges
from tests.harness.versions import CHECKOUT

pytestmark = pytest.mark.unit


@pytest.fixture
def able(monkeypatch):
    """A machine that can do it all."""
    monkeypatch.setattr(preflight.platform, "system", lambda: "Linux")
    monkeypatch.setattr(preflight.os, "geteuid", lambda: 0)
    monkeypatch.setattr(preflight, "privileges", list)
    monkeypatch.setattr(preflight, "memory", list)
    monkeypatch.setattr(preflight, "space", lambda *_: [])
    monkeypatch.setattr(debian, "missing", lambda *_: [])


def test_an_able_machine_has_no_problems(able):
    assert preflight.problems() == []
    preflight.require()


def test_all_reasons_are_listed_and_nothing_is_installed(able, monkeypatch):
    monkeypatch.setattr(preflight.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(preflight, "memory", lambda: ["memory: too little"])
    monkeypatch.setattr(debian, "missing", lambda *_: [debian.Need("runc", "runc", "starts containers", lambda: False)])
    monkeypatch.setattr(debian, "install", lambda *_: pytest.fail("installed on a machine that cannot run it"))
    with pytest.raises(preflight.NotHereError) as refused:
        preflight.require()
    text = str(refused.value)
    assert "(3 found)" in text
    assert "user: needs root, got uid 1000" in text and "memory: too little" in text
    assert "runc: starts containers; apt-get install runc" in text


def test_missing_programs_alone_are_installed(able, monkeypatch):
    installed = []
    wanted = [debian.Need("runc", "runc", "starts containers", lambda: False)]
    monkeypatch.setattr(debian, "missing", lambda *_: wanted)
    monkeypatch.setattr(debian, "can_install", lambda: True)
    monkeypatch.setattr(debian, "install", lambda missing, say: installed.extend(missing))
    preflight.require()
    assert installed == wanted


def test_another_system_is_sent_to_kind(able, monkeypatch):
    monkeypatch.setattr(preflight.platform, "system", lambda: "Darwin")
    with pytest.raises(preflight.NotHereError, match="needs Linux, got Darwin; use kind: make up PROVIDER=kind"):
        preflight.require()


def test_a_full_disk_is_named_with_what_is_there(tmp_path):
    assert preflight.space(tmp_path / "not" / "yet", 0, "x") == []
    (problem,) = preflight.space(tmp_path / "not" / "yet", 10**6, "the cache")
    assert problem.startswith(f"{tmp_path}/not/yet: disk space for the cache, got ")
    assert problem.endswith("GiB of 1e+06; free some or name another folder")


def test_a_taken_port_is_named():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        assert preflight.ports([("127.0.0.1", port)]) == [
            f"port 127.0.0.1:{port}: cannot be listened on, got Address already in use; stop what uses it"]  # fmt: skip
    assert preflight.ports([("127.0.0.1", port)]) == []


def test_little_memory_is_named(monkeypatch, tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 16000000 kB\nMemAvailable:  1048576 kB\n")
    monkeypatch.setattr(preflight, "Path", lambda _: tmp_path / "meminfo")
    assert preflight.memory() == ["memory: available for the cluster, got 1.0 GiB of 2"]


def test_every_try_that_is_refused_is_reported_but_not_beyond_the_mounts():
    def refuse():
        raise PermissionError(1, "Operation not permitted")

    tries = [("one", refuse, "first"), ("two", lambda: None, "second"), ("three", refuse, "third")]
    assert list(privileges.tried(tries)) == [
        "one: first; refused: Operation not permitted", "three: third; refused: Operation not permitted"]  # fmt: skip


def test_without_mounts_of_its_own_nothing_else_is_tried(monkeypatch):
    def no_mounts(flag):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(privileges, "unshare", no_mounts)
    tries = [privileges.TRIES[0], ("next", lambda: pytest.fail("touched the machine"), "")]
    first, second = privileges.tried(tries)
    assert first == "mounts of its own: each node has its own /var/lib/kubelet; refused: Operation not permitted"
    assert second.startswith("nothing else was tried")


def test_a_user_namespace_is_not_enough():
    """Root there has every capability bit, and still may not make a device node."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode:
        needs.skip("user-namespaces", "unshare -Ur does not work here")
    began = time.monotonic()
    done = subprocess.run(
        ["unshare", "-Ur", sys.executable, "-m", "tests.harness.preflight"],
        cwd=CHECKOUT, env=os.environ, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert time.monotonic() - began < 5
    assert done.returncode == 77, done.stderr
    assert "device nodes (mknod): /dev/nvidia0 and the others; refused: Operation not permitted" in done.stderr
    assert "reading /dev/kmsg" in done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""
