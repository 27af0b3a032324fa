# SPDX-License-Identifier: Apache-2.0
"""A device plugin with the simulated driver and a fake kubelet: what it registers, asks of NVML, and answers."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plugin import sequence
from tests.plugin.conftest import GPUS
from tests.plugin.stage import DRIVER, Stage

pytestmark = pytest.mark.native
CDI = "k8s.device-plugin.nvidia.com/gpu"
SPEC = "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json"


def test_registers_every_gpu_as_healthy(stage: Stage, start: Callable) -> None:
    uuids = start()
    registered = stage.expect("registered")
    assert registered == {
        "event": "registered",
        "resource": "nvidia.com/gpu",
        "endpoint": "nvidia-gpu.sock",
        "version": "v1beta1",
        "preferred": True,
    }
    assert len(set(uuids)) == GPUS
    assert stage.expect("devices")["devices"] == dict.fromkeys(uuids, "Healthy")


@pytest.mark.usefixtures("only_the_stand_in")
def test_first_line_says_that_it_is_a_stand_in(stage: Stage, start: Callable) -> None:
    start()
    assert "GPU-SIM STAND-IN, NOT NVIDIA'S DEVICE PLUGIN" in stage.said().splitlines()[0]


def test_asks_nvml_what_nvidias_plugin_asks(program: Path, native: Path, tmp_path: Path) -> None:
    found = sequence.differences(sequence.record(program, native / "libnvidia-ml-mock.so", tmp_path))
    assert not found, found


@pytest.mark.parametrize(("index_names", "key"), [(False, "uuid"), (True, "index")])
def test_strategies_by_environment_and_cdi_cri(stage: Stage, start: Callable, index_names: bool, key: str) -> None:
    uuids = start(DEVICE_LIST_STRATEGY="envvar,cdi-cri", DEVICE_ID_STRATEGY=key, NVIDIA_CDI_HOOK_PATH="/on/host/hook")
    names = ["0", "2"] if index_names else [uuids[0], uuids[2]]
    answer = stage.ask(f"allocate {uuids[0]},{uuids[2]}", "allocated")
    assert answer["cdi"] == [f"{CDI}={name}" for name in names]
    assert answer["env"] == {"NVIDIA_VISIBLE_DEVICES": ",".join(names)}
    assert (answer["mounts"], answer["nodes"], answer["annotations"]) == ([], [], None)
    spec = json.loads(stage.output("cat", SPEC))
    assert spec["kind"] == CDI
    devices = {device["name"]: device["containerEdits"] for device in spec["devices"]}
    everyone = ["0", "1", "2"] if index_names else uuids
    assert sorted(devices) == sorted(everyone)
    nodes = devices[everyone[1]]["deviceNodes"]
    assert [(node["path"], node["hostPath"]) for node in nodes] == [("/dev/nvidia1", "/on/host/dev/nvidia1")]
    mounts = {mount["containerPath"]: mount["hostPath"] for mount in spec["containerEdits"]["mounts"]}
    carried = (f"usr/lib64/libnvidia-ml.so.{DRIVER}", f"usr/lib64/libnvidia-gpu-sim.so.{DRIVER}", "usr/bin/nvidia-smi")
    assert mounts == {f"/{path}": f"/on/host/{path}" for path in carried}
    assert {hook["path"] for hook in spec["containerEdits"]["hooks"]} == {"/on/host/hook"}


def test_strategies_by_annotations_and_mounts(stage: Stage, start: Callable) -> None:
    uuids = start(DEVICE_LIST_STRATEGY="volume-mounts,cdi-annotations", CDI_ANNOTATION_PREFIX="x.example/")
    answer = stage.ask(f"allocate {uuids[1]}", "allocated")
    folder = "/var/run/nvidia-container-devices"
    assert answer["mounts"] == [f"/dev/null:{folder}/{uuids[1]}"]
    assert answer["env"] == {"NVIDIA_VISIBLE_DEVICES": folder}
    ((key, value),) = answer["annotations"].items()
    assert key.startswith("x.example/nvidia-device-plugin_")
    assert value == f"{CDI}={uuids[1]}"
    assert answer["cdi"] == []


def test_configuration_file_and_who_wins(stage: Stage, start: Callable, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "version: v1\nflags:\n  nvidiaDevRoot: /dev/root\n"
        "  plugin:\n    deviceListStrategy: [volume-mounts, cdi-cri]\n"
        "    deviceIDStrategy: uuid\n    passDeviceSpecs: true\n"
    )
    uuids = start(CONFIG_FILE=str(file), DEVICE_ID_STRATEGY="index")
    answer = stage.ask(f"allocate {uuids[2]}", "allocated")
    assert answer["mounts"] == ["/dev/null:/var/run/nvidia-container-devices/2"], "the environment wins over the file"
    assert answer["cdi"] == [f"{CDI}=2"]
    assert answer["nodes"][-1] == "/dev/root/dev/nvidia2:/dev/nvidia2:rw"


def test_preferred_allocation(stage: Stage, start: Callable) -> None:
    uuids = start()
    assert sorted(stage.ask("prefer 3", "preferred")["ids"]) == sorted(uuids)
    chosen = stage.ask(f"prefer 1 {uuids[2]},{uuids[1]}", "preferred")["ids"]
    assert len(chosen) == 1
    assert chosen[0] in uuids[1:]
    unknown = stage.ask("prefer 1 GPU-00000000-0000-0000-0000-000000000000", "preferred")
    assert "unable to retrieve list of available devices" in unknown["message"]


def test_unknown_device_is_refused(stage: Stage, start: Callable) -> None:
    start()
    answer = stage.ask("allocate GPU-nobody", "allocated")
    assert 'invalid allocation request for "nvidia.com/gpu"' in answer["message"]
    assert "unknown device: GPU-nobody" in answer["message"]


@pytest.mark.parametrize("how", ["kubelet", "SIGHUP"])
def test_registers_again(stage: Stage, start: Callable, how: str) -> None:
    uuids = start()
    after = len(stage.events)
    if how == "kubelet":
        stage.ask("restart", "registered")
    else:
        stage.signal(signal.SIGHUP)
    stage.expect("registered", after)
    assert stage.expect("devices", after)["devices"] == dict.fromkeys(uuids, "Healthy")
    assert sorted(stage.ask("prefer 3", "preferred")["ids"]) == sorted(uuids)


def test_ends_on_sigterm_and_takes_its_socket_along(stage: Stage, start: Callable) -> None:
    start()
    assert stage.stop() == 0
    assert stage.output("ls", "/var/lib/kubelet/device-plugins").split() == ["kubelet.sock"]
