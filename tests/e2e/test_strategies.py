# SPDX-License-Identifier: Apache-2.0
"""How GPUs reach pods: by CDI, by an environment variable alone, with device specs; with plain runc each time."""

import pytest

from tests.e2e.scenes import gpu_pod, load, on_node

pytestmark = pytest.mark.cluster


def said(namespace, pod: str) -> dict[str, list[str]]:
    lines = namespace.log_until(pod, "end").splitlines()
    pairs = [line.split("=", 1) for line in lines if "=" in line]
    return {key: [value for name, value in pairs if name == key] for key in ("visible", "found")}


def test_the_environment_alone_names_the_gpus_and_brings_nothing_else(stage, node_a, namespace):
    stage.clear(node_a)  # a CDI spec from before would stay, for pods from before
    stage.simulate(node_a, gpuSim={"deviceCount": 3}, devicePlugin={"deviceListStrategy": ["envvar"]})
    namespace.create(*on_node(load("ways-into-the-pod"), node_a))
    seen = said(namespace, "environment")
    (visible,) = seen["visible"]
    assert sorted(visible.split(",")) == sorted(stage.allocated(node_a, namespace.name, "environment"))
    assert len(visible.split(",")) == 2
    assert seen["found"] == []
    assert not [name for name in stage.host(node_a).files() if "/cdi/" in name], "a CDI spec was written"


def test_device_specs_bring_exactly_the_pods_own_devices(stage, node_a, namespace):
    stage.simulate(
        node_a, gpuSim={"deviceCount": 3}, devicePlugin={"deviceListStrategy": ["envvar"], "passDeviceSpecs": True}
    )
    namespace.create(*on_node(load("ways-into-the-pod"), node_a))
    found = said(namespace, "environment")["found"]
    devices = [path for path in found if path.removeprefix("/dev/nvidia").isdigit()]
    assert len(devices) == 2, f"two GPUs were asked for, got {found}"


def test_by_cdi_alone_a_pod_gets_its_gpus(stage, node_a, namespace):
    stage.simulate(
        node_a, gpuSim={"deviceCount": 3, "memoryMB": 8888}, devicePlugin={"deviceListStrategy": ["cdi-cri"]}
    )
    namespace.create(gpu_pod("by-cdi", 2, node_a))
    report = namespace.report("by-cdi")
    assert [gpu["memory_mib"] for gpu in report["gpus"]] == [8888, 8888]
    assert sorted(gpu["uuid"] for gpu in report["gpus"]) == sorted(stage.allocated(node_a, namespace.name, "by-cdi"))


def test_volume_mounts_put_one_file_for_each_gpu_into_the_pod(stage, node_a, namespace):
    stage.simulate(node_a, gpuSim={"deviceCount": 3}, devicePlugin={"deviceListStrategy": ["volume-mounts"]})
    namespace.create(*on_node(load("ways-into-the-pod"), node_a))
    seen = said(namespace, "environment")
    uuids = stage.allocated(node_a, namespace.name, "environment")
    assert seen["visible"] == ["/var/run/nvidia-container-devices"]
    assert sorted(seen["found"]) == [f"/var/run/nvidia-container-devices/{uuid}" for uuid in uuids]


def test_a_pod_that_asked_for_none_sees_none(stage, node_a, namespace):
    stage.simulate(node_a, gpuSim={"deviceCount": 3})
    (pod,) = on_node(load("ways-into-the-pod"), node_a)
    pod["spec"]["containers"][0].pop("resources")
    namespace.create(pod)
    assert said(namespace, "environment") == {"visible": [""], "found": []}
