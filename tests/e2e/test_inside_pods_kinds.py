# SPDX-License-Identifier: Apache-2.0
"""Pods that are not like most: several containers, init containers, rights on the host, no GPU, no CDI."""

from __future__ import annotations

import pytest

from tests.e2e.inside import COMMON, LOAD, Inside
from tests.e2e.scenes import containers, gpu_pod, load, on_node
from tests.harness.embedded import kubelet
from tests.harness.kube import KubeError

pytestmark = pytest.mark.cluster
BOARD = {"deviceCount": 5, "profile": "tesla-t4", "memoryMB": 3456}
# What Pod Security asks for at its strictest level.
RESTRICTED = {
    "runAsNonRoot": True,
    "runAsUser": 4567,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.fixture
def run(stage, node_a, namespace, pod_image):
    """Starts a pod like Debian's, with so many GPUs and these fields; its inside."""

    def start(name: str, gpus: int, security: dict | None = None, **spec) -> Inside:
        pod = gpu_pod(name, gpus, node_a, **spec)
        (container,) = containers(pod)
        container |= {"image": pod_image("debian"), "command": ["/bin/sleep", "3600"]}
        container |= {"securityContext": security} if security else {}
        if not gpus:
            del container["resources"]
        namespace.create(pod)
        namespace.wait_phase(name, "Running")
        return Inside(namespace, name)

    return start


def assert_sees_its_own(inside: Inside, stage, node: str) -> None:
    """Its GPUs, by two clients, and their device nodes."""
    every = [gpu.uuid for gpu in stage.host(node).inventory()]
    own = sorted(stage.allocated(node, inside.space.name, inside.pod), key=every.index)
    for look in (Inside.by_smi, Inside.by_python):
        assert [(gpu.uuid, gpu.name, gpu.memory_mib) for gpu in look(inside)] == [
            (uuid, "Tesla T4", 3456) for uuid in own
        ]
    devices = {device for device in inside.devices() if device.removeprefix("/dev/nvidia").isdigit()}
    assert devices == {f"/dev/nvidia{every.index(uuid)}" for uuid in own}


def test_what_it_is_given_are_the_nodes_own_files_where_programs_look(run, stage, node_a):
    stage.simulate(node_a, gpuSim=BOARD)
    inside, host = run("given", 2), stage.host(node_a)
    library = inside.run("python3", "-c", LOAD).strip()
    assert inside.inode(library) == host.driver_file("libnvidia-ml.so.1").stat().st_ino
    inventory = host.inventory_file()
    assert inside.inode(f"/usr/lib64/{inventory.name}") == inventory.stat().st_ino
    assert inside.run("sh", "-c", "command -v nvidia-smi").strip() == "/usr/bin/nvidia-smi"
    assert inside.inode("/usr/bin/nvidia-smi") == host.driver_file("usr/bin/nvidia-smi").stat().st_ino


def test_a_pod_cannot_write_what_it_is_given(run, stage, node_a):
    stage.simulate(node_a, gpuSim=BOARD)
    inside, inventory = run("writer", 1), stage.host(node_a).inventory_file()
    for path in (f"/usr/lib64/{inventory.name}", inside.run("python3", "-c", LOAD).strip(), "/usr/bin/nvidia-smi"):
        said = inside.run("sh", "-c", f"echo x >>{path}", code=1)
        assert "Read-only file system" in said, path


def test_an_init_container_sees_the_gpu_that_it_prepares(stage, node_a, namespace, pod_image):
    pod_image("busybox")
    stage.simulate(node_a, gpuSim=BOARD)
    namespace.create(*on_node(load("init-container"), node_a))
    namespace.wait_phase("prepared", "Running")
    (gpu,) = Inside(namespace, "prepared", "main").by_smi()
    assert stage.allocated(node_a, namespace.name, "prepared") == [gpu.uuid]
    prepared = namespace.kube.pod_log(namespace.name, "prepared", "prepare")
    assert prepared == f"GPU 0: Tesla T4 (UUID: {gpu.uuid})\n"


def test_a_pod_that_asked_for_none_finds_nothing(run, stage, node_a):
    stage.simulate(node_a, gpuSim=BOARD)
    inside = run("without", 0)
    assert inside.devices() == set()
    assert inside.run("sh", "-c", "find / -xdev -name '*libnvidia*'; command -v nvidia-smi || true") == ""
    assert "libnvidia-ml.so.1: cannot open shared object file" in inside.run("python3", "-c", LOAD, code=1)


@pytest.mark.parametrize(
    ("spec", "security"),
    [
        ({"hostPID": True}, None),
        ({}, {"privileged": True}),
        ({"hostPID": True, "hostNetwork": True}, {"privileged": True}),
    ],
    ids=["host-pid", "privileged", "all-of-the-host"],
)
def test_rights_on_the_host_do_not_get_in_the_way(run, stage, node_a, spec, security):
    stage.simulate(node_a, gpuSim=BOARD)
    assert_sees_its_own(run("mighty", 2, security, **spec), stage, node_a)


def test_a_namespace_that_allows_nothing_takes_gpu_pods(run, stage, node_a, namespace):
    stage.simulate(node_a, gpuSim=BOARD)
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    namespace.kube.patch("v1", "Namespace", namespace.name, {"metadata": {"labels": labels}})
    with pytest.raises(KubeError, match='violates PodSecurity "restricted:latest"'):
        run("refused", 1)
    assert_sees_its_own(run("restricted", 2, RESTRICTED), stage, node_a)


def test_device_specs_and_cdi_together_give_each_device_once(run, stage, node_a):
    stage.simulate(node_a, gpuSim=BOARD, devicePlugin={"passDeviceSpecs": True})
    inside = run("both-ways", 2)
    assert_sees_its_own(inside, stage, node_a)
    assert {*COMMON} < inside.devices()


@pytest.mark.parametrize("specs", [False, True], ids=["environment-only", "device-specs"])
def test_without_cdi_in_the_strategy_the_pod_runs_without_a_driver(run, stage, node_a, specs):
    plugin = {"deviceListStrategy": ["envvar"], "passDeviceSpecs": specs}
    stage.simulate(node_a, gpuSim=BOARD, devicePlugin=plugin)
    assert_runs_without_a_driver(run("no-cdi", 2), stage, node_a, specs)


@pytest.mark.parametrize("specs", [False, True], ids=["environment-only", "device-specs"])
def test_on_a_runtime_without_cdi_the_pod_runs_without_a_driver(run, stage, node_a, runtime_without_cdi, specs):
    stage.simulate(node_a, gpuSim=BOARD, devicePlugin={"passDeviceSpecs": specs})
    assert_runs_without_a_driver(run("no-cdi", 2), stage, node_a, specs)


def assert_runs_without_a_driver(inside: Inside, stage, node: str, specs: bool) -> None:
    every = [gpu.uuid for gpu in stage.host(node).inventory()]
    own = stage.allocated(node, inside.space.name, inside.pod)
    assert len(own) == 2
    assert sorted(inside.environment()["NVIDIA_VISIBLE_DEVICES"].split(",")) == own
    assert "libnvidia-ml.so.1: cannot open shared object file" in inside.run("python3", "-c", LOAD, code=1)
    assert inside.devices() == ({f"/dev/nvidia{every.index(uuid)}" for uuid in own} if specs else set())


@pytest.fixture
def runtime_without_cdi(stage, node_a):
    """containerd as it is configured where nobody switched CDI on."""
    node = stage.cluster.node(node_a)
    config = node.host_path(f"{kubelet.ETC}/containerd.toml")
    text = config.read_text()
    assert "enable_cdi = true" in text
    config.write_text(text.replace("enable_cdi = true", "enable_cdi = false"))
    node.restart_containerd()
    yield
    config.write_text(text)
    node.restart_containerd()
