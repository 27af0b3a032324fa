# SPDX-License-Identifier: Apache-2.0
"""The node agent: its Go tests, and the built program with a real file lock and an API server that is not there."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.harness import cache, command, go_build, versions
from tests.harness.wait import wait_until

pytestmark = pytest.mark.native

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: c, context: {cluster: c, user: ""}}]
current-context: c
"""


def write_owner(root: Path, release: str) -> None:
    (root / "owner").write_text(f"release={release}\nnamespace=team\npod=p-1\ntime=2031-02-03T04:05:06Z\n")


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    write_owner(tmp_path, "feat-a")
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    program = tmp_path / "gpu-sim"
    program.write_text(f"#!/bin/sh\necho cleaned >{tmp_path}/cleaned\n")
    program.chmod(0o755)
    return [
        *("run", "--root", str(tmp_path), "--release", "feat-a", "--namespace", "team", "--node", "n7"),
        *("--daemonset", "mock", "--daemonset-namespace", "gpus", "--program", str(program)),
        *("--kubeconfig", str(tmp_path / "kubeconfig")),
    ]


def test_go_tests() -> None:
    go_build.test(go_build.AGENT)


def test_program_is_small_static_and_there_for_both_architectures() -> None:
    for arch, machine in (("amd64", 62), ("arm64", 183)):
        data = go_build.agent(arch).read_bytes()
        assert (data[:4], int.from_bytes(data[18:20], "little")) == (b"\x7fELF", machine)
        assert b"/ld-linux" not in data
        assert len(data) < 16 << 20
        for folder in (cache.root(), versions.CHECKOUT):
            assert str(folder).encode() not in data, "a path of the machine that built it"


def test_holds_the_node_and_keeps_it_when_nobody_answers(tmp_path: Path, options: list[str]) -> None:
    log = tmp_path / "log"
    with log.open("w") as out:
        agent = subprocess.Popen([go_build.agent(), *options], stderr=out)
    try:
        wait_until(
            "the agent to hold the node",
            lambda: "is held for release feat-a" in log.read_text(),
            10,
            seen=log.read_text,
        )
        with (tmp_path / "owner").open() as owner, pytest.raises(BlockingIOError):
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(15) == 0
    finally:
        agent.kill()
        agent.wait()
    assert "node n7 is kept: no answer from the API" in log.read_text()
    assert not (tmp_path / "cleaned").exists()
    with (tmp_path / "owner").open() as owner:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_node_of_another_release(tmp_path: Path, options: list[str]) -> None:
    write_owner(tmp_path, "first")
    ended = subprocess.run([go_build.agent(), *options], capture_output=True, text=True, timeout=20)
    assert ended.returncode == 1
    expected = (
        "gpu-sim-agent: node n7 is owned by release first in namespace team since 2031-02-03T04:05:06Z; "
        "uninstall it first (helm uninstall first -n team) or label another node"
    )
    assert expected in ended.stderr


def test_says_all_that_is_missing() -> None:
    with pytest.raises(command.CommandError) as failure:
        command.run([go_build.agent(), "run"], extra={"HOME": os.devnull})
    assert failure.value.code == 2
    for name in ("root", "release", "namespace", "node", "daemonset", "daemonset-namespace"):
        assert f"gpu-sim-agent: --{name}: must be given" in failure.value.output
