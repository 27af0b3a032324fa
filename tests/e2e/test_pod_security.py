# SPDX-License-Identifier: Apache-2.0
"""Pod Security: what the node pods may do, as the kernel has it, and namespaces that refuse them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shlex
import time
from pathlib import Path

import pytest

from tests.e2e.host import Host, status_of
from tests.e2e.stage import LABEL
from tests.harness.progress import Progress
from tests.harness.rollout import RolloutError
from tests.harness.up import Options, Up
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster
CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
MKNOD, SYS_ADMIN = 1 << 27, 1 << 21  # as <linux/capability.h> numbers them
FILTER = "2"  # seccomp's mode where there is a profile
SECONDS = 20  # of which helm takes two
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "uts")


# ---- what they may do ----
def assert_has_no_rights_but(pid: int, capabilities: int, what: str) -> None:
    status = status_of(pid)
    has = {name: int(status[name], 16) for name in CAPABILITIES}
    allowed = {"CapInh": 0, "CapPrm": capabilities, "CapEff": capabilities, "CapBnd": capabilities, "CapAmb": 0}
    assert has == allowed, f"{what}: {has}"
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", FILTER), what
    mounts = [line.split() for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
    (root,) = [mount[5].split(",") for mount in mounts if mount[4] == "/"]
    assert "ro" in root, f"{what}: its root is mounted {root}"


def shared_with_the_node(pid: int, node) -> set[str]:
    """Kinds of namespaces that a process is in together with the programs of the node itself."""
    own = node.run(
        ["sh", "-c", f"for kind in {' '.join(NAMESPACES)}; do readlink /proc/self/ns/$kind; done"]
    ).out.split()
    return {
        kind
        for kind, name in zip(NAMESPACES, own, strict=True)
        if str(Path(f"/proc/{pid}/ns/{kind}").readlink()) == name
    }


@pytest.mark.parametrize(
    ("strategy", "of_the_plugin"),
    [(["envvar", "cdi-cri"], 0), (["volume-mounts"], SYS_ADMIN)],
    ids=["as-it-comes", "volume-mounts"],
)
def test_every_process_of_the_node_pod_has_only_the_rights_that_are_listed(stage, node_a, strategy, of_the_plugin):
    stage.simulate(node_a, gpuSim={"deviceCount": 3}, devicePlugin={"deviceListStrategy": strategy})
    host, spec = stage.host(node_a), stage.node_pod(node_a)["spec"]
    allowed = {"agent": 0, "device-plugin": of_the_plugin}
    running = {name: host.processes(name) for name in allowed}
    assert all(running.values()), f"not running: {running}"
    assert {each["name"] for each in [*spec["initContainers"], *spec["containers"]]} == {*allowed, "installer"}
    for name, pids in running.items():
        for pid in pids:
            assert_has_no_rights_but(pid, allowed[name], name)
            assert shared_with_the_node(pid, host.node) <= {"cgroup"}, name
            assert status_of(pid)["Uid"].split() == ["0"] * 4, "the host's directories belong to root"


def test_the_installer_may_make_device_nodes_and_nothing_else(stage, node_a):
    release = stage.simulate(node_a, gpuSim={"deviceCount": 3})
    values = {"gpuSim": {"deviceCount": 5}}
    old = stage.node_pod(node_a)["metadata"]["uid"]

    def installing() -> Host | None:
        pods = [pod for pod in stage.pods_of(release) if pod["metadata"]["uid"] != old]
        return next(
            (host for pod in pods if (host := Host(stage.cluster.node(node_a), pod)).processes("installer")), None
        )

    with held(stage.host(node_a).inventory_file().parent):  # so that it waits for us
        stage.install(release, node_a, values)
        host = wait_until("the installer of the next rollout", installing, 60)
        (pid,) = host.processes("installer")
        assert_has_no_rights_but(pid, MKNOD, "installer")
        assert shared_with_the_node(pid, host.node) <= {"cgroup"}
    stage.simulate(node_a, **values)


@contextlib.contextmanager
def held(folder: Path):
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(lock)


# ---- where they are refused ----
@pytest.fixture(params=["baseline", "restricted"])
def refusing(request, stage, node_a, node_b, cluster_objects) -> tuple[str, str]:
    """A namespace that enforces this level, and the level; nothing is on the nodes."""
    stage.clear(node_a)
    stage.clear(node_b)
    name = f"security-{secrets.token_hex(3)}"
    labels = {"pod-security.kubernetes.io/enforce": request.param}
    cluster_objects({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    return name, request.param


@pytest.fixture
def up(stage, node_a, refusing, tmp_path):
    """`make up` from its helm command on, for one node of the shared cluster."""
    namespace, _ = refusing
    file = tmp_path / "values.yaml"
    values = {
        "gpuSim": {"deviceCount": 3},
        "namespace": {"name": namespace},
        "nodeSelector": {**LABEL, "kubernetes.io/hostname": node_a},
    }
    file.write_text(json.dumps(values))
    made = Up(Options(name=stage.cluster.name, values=file), Progress(live=False))
    release = made.asked.name
    yield made
    stage.helm.uninstall(release)
    stage.wait_no_gpus(node_a)


def test_a_namespace_that_refuses_the_pods_is_told_within_seconds(up, refusing, stage, node_a):
    namespace, level = refusing
    started = time.monotonic()
    with pytest.raises(RolloutError) as caught:
        up.release(stage.cluster)
    took = time.monotonic() - started
    said = str(caught.value)
    assert took < SECONDS, f"it took {took:.0f} s"
    remedy = f"kubectl label namespace {namespace} pod-security.kubernetes.io/enforce=privileged --overwrite"
    assert said.startswith(f"release gpu-sim: namespace {namespace} takes none of its pods, got FailedCreate: ")
    assert f'is forbidden: violates PodSecurity "{level}:latest"' in said
    assert "hostPath" in said
    assert said.endswith(f"; {remedy}")
    stage.kubectl(*shlex.split(remedy)[1:])
    stage.wait_gpus(node_a, 3)
