# SPDX-License-Identifier: Apache-2.0
"""A device plugin when GPUs, its library or its options are not well."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import cgo, upstream
from tests.harness.wait import wait_until
from tests.plugin.stage import Stage, driver_root

pytestmark = pytest.mark.native


def test_critical_xid_takes_one_gpu_out_and_ignored_ones_none(stage: Stage, start: Callable, native: Path) -> None:
    uuids = start(DP_DISABLE_HEALTHCHECKS="95", DP_ENABLE_HEALTHCHECKS="45")
    wait_until("the health check", lambda: "Ignoring the following XIDs" in stage.said(), 10)

    def xid(gpu: int, number: int) -> None:
        tool = [native / "tests/inventory_tool", start.inventory, "event", str(gpu), "8", str(number)]
        subprocess.run(tool, check=True)

    for ignored in (13, 95):
        xid(0, ignored)
    xid(1, 79)
    xid(2, 45)
    expected = dict(zip(uuids, ("Healthy", "Unhealthy", "Unhealthy"), strict=True))

    def health() -> dict[str, str]:
        return [event["devices"] for event in stage.events if event["event"] == "devices"][-1]

    wait_until("both GPUs to be unhealthy", lambda: health() == expected, 15, seen=lambda: (health(), stage.said()))
    assert f"XidCriticalError: Xid=79 on Device={uuids[1]}" in stage.said()
    # There is no way back but to start again.
    after = len(stage.events)
    stage.signal(signal.SIGHUP)
    assert stage.expect("devices", after)["devices"] == dict.fromkeys(uuids, "Healthy")


def test_without_a_library(stage: Stage, program: Path, tmp_path: Path) -> None:
    stage.plugin(program, CONTAINER_DRIVER_ROOT=str(tmp_path / "nowhere"))
    assert stage.ended() == 1
    assert "nvml init failed: ERROR_LIBRARY_NOT_FOUND" in stage.said()


def test_without_a_library_when_told_to_go_on(stage: Stage, program: Path, tmp_path: Path) -> None:
    stage.plugin(program, CONTAINER_DRIVER_ROOT=str(tmp_path / "nowhere"), FAIL_ON_INIT_ERROR="false")
    wait_until(
        "the plugin's patience", lambda: "No devices found. Waiting indefinitely." in stage.said(), 10, seen=stage.said
    )
    assert stage.stop() == 0
    assert [event["event"] for event in stage.events] == ["listening"]


def test_library_without_a_function_ends_it_by_name(stage: Stage, program: Path, tmp_path: Path) -> None:
    """Symbols are bound when first called; a missing one is the loader's error, not NVML's."""
    source, library = tmp_path / "poor.c", tmp_path / "poor.so"
    source.write_text("int nvmlInit_v2(void) { return 0; }\n")
    compiler = [cgo.zig(), "cc", "-target", cgo.TARGETS[upstream.arch()], "-shared", "-fPIC"]
    subprocess.run([*compiler, source, "-o", library], check=True)
    stage.plugin(program, CONTAINER_DRIVER_ROOT=str(driver_root(tmp_path / "driver", library, 1)))
    assert stage.ended() == 127
    assert "undefined symbol: nvml" in stage.said()


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"DEVICE_LIST_STRATEGY": "envvar,cdi"}, "invalid --device-list-strategy option: invalid strategy: cdi"),
        ({"DEVICE_ID_STRATEGY": "name"}, "invalid --device-id-strategy option: name"),
        ({"DEVICE_DISCOVERY_STRATEGY": "csv"}, "invalid --device-discovery-strategy option csv"),
        ({"MIG_STRATEGY": "some"}, "unknown MIG strategy: some"),
        ({"CONFIG_FILE": "/nowhere.yaml"}, "error opening config file: open /nowhere.yaml"),
    ],
)
def test_wrong_options(stage: Stage, program: Path, tmp_path: Path, environment: dict[str, str], message: str) -> None:
    stage.plugin(program, CONTAINER_DRIVER_ROOT=str(tmp_path), **environment)
    assert stage.ended() == 1
    assert message in stage.said()


@pytest.mark.usefixtures("only_the_stand_in")
def test_what_the_stand_in_cannot_do_is_refused(stage: Stage, program: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("sharing:\n  timeSlicing:\n    resources: [{name: nvidia.com/gpu, replicas: 4}]\n")
    stage.plugin(program, CONTAINER_DRIVER_ROOT=str(tmp_path), CONFIG_FILE=str(file), MIG_STRATEGY="single")
    assert stage.ended() == 1
    assert "the stand-in does not do this: sharing (time-slicing, MPS), MIG strategy single" in stage.said()
