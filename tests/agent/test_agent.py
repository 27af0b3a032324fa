# SPDX-License-Identifier: Apache-2.0
"""The node agent: its Go tests, and the built program with a real file lock and an API server that is not there."""

from __future__ import annotations

import fcntl
import http.server
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import cache, command, go_build, golang, needs, versions
from tests.harness.wait import wait_until

pytestmark = pytest.mark.native

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:PORT"}}]
contexts: [{name: c, context: {cluster: c, user: ""}}]
current-context: c
"""


def write_owner(root: Path, release: str) -> None:
    (root / "owner").write_text(f"release={release}\nnamespace=team\npod=p-1\ntime=2031-02-03T04:05:06Z\n")


def write_kubeconfig(folder: Path, port: int) -> Path:
    path = folder / "kubeconfig"
    path.write_text(KUBECONFIG.replace("PORT", str(port)))
    return path


class NothingThere(http.server.BaseHTTPRequestHandler):
    """An API server without the DaemonSet: what is left of a release after its uninstall."""

    def do_GET(self) -> None:
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
        text = json.dumps(status | {"details": {"name": "mock", "group": "apps", "kind": "daemonsets"}})
        self.send_response(404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def emptied_api() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), NothingThere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    write_owner(tmp_path, "feat-a")
    write_kubeconfig(tmp_path, 9)  # nobody listens there
    program = tmp_path / "gpu-sim"
    program.write_text(f"#!/bin/sh\n[ $1 != clean-node ] || echo cleaned >{tmp_path}/cleaned\n")
    program.chmod(0o755)
    return [
        *("run", "--root", str(tmp_path), "--release", "feat-a", "--namespace", "team", "--node", "n7"),
        *("--pod", "p-1", "--daemonset", "mock", "--daemonset-namespace", "gpus", "--program", str(program)),
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


def test_node_of_another_release_is_waited_for_and_never_cleaned(
    tmp_path: Path, options: list[str], emptied_api: int
) -> None:
    write_owner(tmp_path, "first")
    write_kubeconfig(tmp_path, emptied_api)
    taken = (
        "node n7 is owned by release first in namespace team since 2031-02-03T04:05:06Z; "
        "uninstall it first (helm uninstall first -n team) or label another node"
    )
    log = tmp_path / "log"
    with log.open("w") as out:
        agent = subprocess.Popen([go_build.agent(), *options], stderr=out)
    try:
        wait_until("the first release to be named", lambda: taken in log.read_text(), 10, seen=log.read_text)
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(15) == 0
    finally:
        agent.kill()
        agent.wait()
    assert f"nothing to clean on node n7: {taken}" in log.read_text()
    assert not (tmp_path / "cleaned").exists()


def test_uninstalled_release_leaves_nothing(tmp_path: Path, native: Path, emptied_api: int) -> None:
    """With the node program as built: installed, held, and cleaned while the agent still has the lock."""
    if os.geteuid():
        needs.skip("root", "the installer makes device nodes")
    root = tmp_path / "node"
    place = ["--root", root, "--release", "feat-a", "--namespace", "team"]
    install = [native / "gpu-sim", "install", *place, "--count", "3", "--node", "n7", "--pod", "p-1"]
    command.run([*install, "--library", native / "libnvidia-ml-mock.so", "--proc", tmp_path / "none"])
    assert (root / "driver/dev/nvidia2").is_char_device()
    log = tmp_path / "log"
    watched = ["--node", "n7", "--pod", "p-1", "--daemonset", "mock", "--daemonset-namespace", "gpus"]
    access = ["--program", native / "gpu-sim", "--kubeconfig", write_kubeconfig(tmp_path, emptied_api)]
    with log.open("w") as out:
        agent = subprocess.Popen([go_build.agent(), "run", *place, *watched, *access], stderr=out)
    try:
        wait_until("the agent to hold the node", lambda: "is held for" in log.read_text(), 10, seen=log.read_text)
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(20) == 0, log.read_text()
    finally:
        agent.kill()
        agent.wait()
    assert "node n7 is cleaned: DaemonSet gpus/mock" in log.read_text()
    assert not root.exists()


def test_allocation_and_faults_reach_the_inventory(tmp_path: Path, native: Path) -> None:
    """The agent in a Go test with a fake API and a kubelet's socket, the node program as built."""
    if os.geteuid():
        needs.skip("root", "the installer makes device nodes")
    root, program = tmp_path / "node", native / "gpu-sim"
    place = ["--root", root, "--release", "feat-a", "--namespace", "team", "--node", "n7", "--pod", "p-1"]
    library = ["--library", native / "libnvidia-ml-mock.so", "--proc", tmp_path / "none"]
    command.run([program, "install", *place, "--count", "4", *library])
    extra = golang.environment() | {"GPU_SIM_AGENT_PROGRAM": str(program), "GPU_SIM_AGENT_ROOT": str(root)}
    argv = [golang.go(), "test", "-v", "-count=1", "-run", "^TestWithTheNodeProgram$", "."]
    done = command.run(argv, cwd=go_build.AGENT, extra=extra)
    assert "--- PASS: TestWithTheNodeProgram" in done.out


def test_an_installer_of_the_same_pod_runs_beside_its_agent(tmp_path: Path, native: Path) -> None:
    """After a killed installer, or when all containers are started again, the agent has the node first."""
    if os.geteuid():
        needs.skip("root", "the installer makes device nodes")
    root = tmp_path / "node"
    place = ["--root", root, "--release", "feat-a", "--namespace", "team", "--node", "n7"]
    install = [native / "gpu-sim", "install", *place, "--library", native / "libnvidia-ml-mock.so"]
    install += ["--proc", tmp_path / "none", "--wait", "1"]
    command.run([*install, "--count", "3", "--pod", "p-1"])
    watched = ["--pod", "p-1", "--daemonset", "mock", "--daemonset-namespace", "gpus"]
    access = ["--program", native / "gpu-sim", "--kubeconfig", write_kubeconfig(tmp_path, 9)]
    log = tmp_path / "log"
    with log.open("w") as out:
        agent = subprocess.Popen([go_build.agent(), "run", *place, *watched, *access], stderr=out)
    try:
        wait_until("the agent to hold the node", lambda: "is held for" in log.read_text(), 10, seen=log.read_text)
        command.run([*install, "--count", "5", "--pod", "p-1"])
        assert (root / "driver/dev/nvidia4").is_char_device()
        with pytest.raises(command.CommandError) as failure:
            command.run([*install, "--count", "7", "--pod", "p-2"])
        assert "pod p-1 of this release is still stopping there" in failure.value.output
        assert not (root / "driver/dev/nvidia6").exists()
    finally:
        agent.kill()
        agent.wait()


def test_says_all_that_is_missing() -> None:
    with pytest.raises(command.CommandError) as failure:
        command.run([go_build.agent(), "run"], extra={"HOME": os.devnull})
    assert failure.value.code == 2
    for name in ("root", "release", "namespace", "node", "daemonset", "daemonset-namespace"):
        assert f"gpu-sim-agent: --{name}: must be given" in failure.value.output
