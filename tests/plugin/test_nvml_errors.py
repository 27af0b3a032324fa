# SPDX-License-Identifier: Apache-2.0
"""NVML's errors, as `gpu-sim ctl` makes them, and what a device plugin does then: NVIDIA's own does the same."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import versions
from tests.harness.wait import wait_until
from tests.plugin.stage import Stage

pytestmark = pytest.mark.native

# function, a code that the plugin takes for an answer, whether it starts: what `ctl clear` refuses to repair.
HINDERING = re.findall(
    r'\{"(nvml\w+)", NVML_(?:ERROR_)?(\w+), (true|false)\}',
    (versions.CHECKOUT / "native/node/repair_hinder.c").read_text(),
)


@pytest.fixture
def ctl(start: Callable, native: Path) -> Callable[..., str]:
    """No folder of plugins is named: a clear is a change of the inventory and nothing else."""

    def run(*words: object) -> str:
        argv = [native / "gpu-sim", "ctl", *map(str, words), "--root", start.root.parent]
        return subprocess.run(argv, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout

    return run


def health(stage: Stage) -> list[str]:
    """Of each GPU, in the last list that the kubelet got, in no order."""
    return sorted([event["devices"] for event in stage.events if event["event"] == "devices"][-1].values())


def wait_health(stage: Stage, *expected: str) -> None:
    wait_until(f"{expected}", lambda: health(stage) == sorted(expected), 15, seen=lambda: (health(stage), stage.said()))


def begin_again(stage: Stage) -> None:
    after = len(stage.events)
    stage.signal(signal.SIGHUP)
    stage.expect("registered", after)
    stage.expect("devices", after)


def wait_said(stage: Stage, text: str, times: int = 1) -> None:
    wait_until(f"the plugin to say {text!r}", lambda: stage.said().count(text) >= times, 15, seen=stage.said)


def test_one_wait_that_fails_makes_all_unhealthy(stage: Stage, start: Callable, ctl: Callable) -> None:
    start()
    wait_said(stage, "Ignoring the following XIDs")
    ctl("fault", "nvmlEventSetWait_v2", "UNKNOWN", "--count", 1)
    wait_health(stage, "Unhealthy", "Unhealthy", "Unhealthy")
    assert stage.said().count("Error waiting for event: Unknown Error; Marking all devices as unhealthy") == 1
    begin_again(stage)
    wait_health(stage, "Healthy", "Healthy", "Healthy")


def test_gpus_whose_events_cannot_be_asked_for_are_unhealthy(stage: Stage, start: Callable, ctl: Callable) -> None:
    uuids = start()
    ctl("fault", "nvmlDeviceGetSupportedEventTypes", "UNKNOWN", "--gpu", "0,2")
    begin_again(stage)
    wait_health(stage, "Healthy", "Unhealthy", "Unhealthy")
    for uuid in (uuids[0], uuids[2]):
        said = f"unable to determine the supported events for {uuid}: Unknown Error; marking it as unhealthy"
        assert said in stage.said()


def test_gpus_that_are_too_old_for_events_stay_healthy(stage: Stage, start: Callable, ctl: Callable) -> None:
    uuids = start()
    ctl("fault", "nvmlDeviceRegisterEvents", "NOT_SUPPORTED")
    begin_again(stage)
    wait_said(stage, "is too old to support healthchecking.", 3)
    assert f"Device {uuids[1]} is too old to support healthchecking." in stage.said()
    assert health(stage) == ["Healthy"] * 3


def test_an_ecc_error_is_skipped_and_the_xid_after_it_is_not(stage: Stage, start: Callable, ctl: Callable) -> None:
    uuids = start()
    wait_said(stage, "Ignoring the following XIDs")
    ctl("ecc", "--gpu", 1, "--uncorrected", 3)
    wait_said(stage, "Skipping non-nvmlEventTypeXidCriticalError event: {")
    ctl("xid", "--gpu", 1, 31)
    wait_said(stage, "Skipping event {")
    assert health(stage) == ["Healthy"] * 3
    ctl("xid", "--gpu", 1, 48)
    wait_health(stage, "Healthy", "Healthy", "Unhealthy")
    assert f"XidCriticalError: Xid=48 on Device={uuids[1]}; marking device as unhealthy." in stage.said()


def test_one_lost_gpu_fails_every_preferred_allocation_and_the_next_start(
    stage: Stage, start: Callable, ctl: Callable
) -> None:
    uuids = start()
    wait_said(stage, "Ignoring the following XIDs")
    assert "v0.20.0" in ctl("lost", "--gpu", 2)
    wait_said(stage, f"Xid=79 on Device={uuids[2]}")
    answer = stage.ask(f"prefer 1 {uuids[0]},{uuids[1]}", "preferred")
    assert "unable to get device link information" in answer["message"]
    stage.signal(signal.SIGHUP)
    assert stage.ended() == 1
    assert "GPU is lost" in stage.said()


@pytest.mark.parametrize(("function", "harmless", "starts"), HINDERING, ids=[row[0] for row in HINDERING])
def test_what_ctl_clear_takes_for_a_hindrance_is_one(
    stage: Stage, start: Callable, ctl: Callable, function: str, harmless: str, starts: str
) -> None:
    assert len(HINDERING) > 8
    start()
    wait_said(stage, "Ignoring the following XIDs")
    if harmless != "SUCCESS":
        ctl("fault", function, harmless)
        begin_again(stage)
        wait_said(stage, "Ignoring the following XIDs", 2)
        assert health(stage) == ["Healthy"] * 3
    ctl("fault", function, "UNKNOWN")
    stage.signal(signal.SIGHUP)
    if starts == "true":
        wait_health(stage, "Unhealthy", "Unhealthy", "Unhealthy")
    else:
        assert stage.ended() == 1
