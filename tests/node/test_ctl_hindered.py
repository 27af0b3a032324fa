# SPDX-License-Identifier: Apache-2.0
"""`ctl clear` beside an answer with which no device plugin takes a GPU: it says so at once, and changes nothing."""

from __future__ import annotations

import time

import pytest

from tests.node.control import break_one, ctl, refused, status
from tests.node.fake_plugin import Plugin, wait_until
from tests.node.node_root import NodeRoot

pytestmark = pytest.mark.native

ANEW = "the device plugin looks for its GPUs anew"


def all_gone(node: NodeRoot, beside: Plugin, *words: object) -> None:
    ctl(node, "fault", *words)
    wait_until("all GPUs are gone", lambda: beside.devices() == [])


def test_a_wait_that_always_fails_is_named_with_its_remedy(node: NodeRoot, beside: Plugin) -> None:
    beside.start()
    break_one(node, beside, "xid", "--gpu", 3, 79)
    all_gone(node, beside, "nvmlEventSetWait_v2", "UNKNOWN")
    started = time.monotonic()
    said = [
        "ctl clear: nothing changed: GPU 3 cannot come back while the node answers nvmlEventSetWait_v2 with UNKNOWN, "
        "and then the device plugin holds every GPU for broken; gpu-sim ctl clear --gpu all takes that back too",
    ]
    refused(node, ["clear", "--gpu", 3, *beside.options()], said)
    refused(node, ["reset", "--gpu", 3, *beside.options()], ["ctl reset: nothing changed: GPU 3 cannot come back"])
    refused(node, ["clear", "--gpu", "0,1", *beside.options()], ["GPUs 0,1 cannot come back while the node answers"])
    assert time.monotonic() - started < 5
    assert "the kubelet has 8 of 8 GPUs" in ctl(node, "clear", "--gpu", "all", *beside.options()).stdout
    assert status(node)["faults"] == []


def test_a_timeline_goes_on_after_what_is_hindered(node: NodeRoot, beside: Plugin) -> None:
    beside.start()
    all_gone(node, beside, "nvmlEventSetWait_v2", "UNKNOWN")
    lines = "+0s clear --gpu 3\n+100ms clear --gpu all\n"
    done = ctl(node, "timeline", "--seed", 1, *beside.options(), code=1, input=lines)
    assert "stdin:1: nothing changed: GPU 3 cannot come back while the node answers nvmlEventSetWait_v2" in done.stderr
    assert "the kubelet has 8 of 8 GPUs" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["nvmlEventSetWait_v2", "TIMEOUT"],
        ["nvmlEventSetWait_v2", "SUCCESS", "--delay", "1ms"],
        ["nvmlSystemGetNVMLVersion", "UNKNOWN"],
        ["nvmlDeviceGetMemoryInfo", "UNKNOWN", "--gpu", 5],
        ["nvmlDeviceGetMigMode", "NOT_SUPPORTED", "--gpu", 5],
    ],
)
def test_what_hinders_no_plugin_hinders_no_repair(node: NodeRoot, beside: Plugin, words: list) -> None:
    beside.start()
    break_one(node, beside, "xid", "--gpu", 3, 79)
    ctl(node, "fault", *words)
    said = ctl(node, "clear", "--gpu", 3, *beside.options()).stdout
    assert ANEW in said and "the kubelet has 8 of 8 GPUs" in said


def test_a_wait_that_failed_once_hinders_none(node: NodeRoot, beside: Plugin) -> None:
    beside.start()
    all_gone(node, beside, "nvmlEventSetWait_v2", "UNKNOWN", "--count", 1)
    assert "the kubelet has 8 of 8 GPUs" in ctl(node, "clear", "--gpu", 3, *beside.options()).stdout


def test_what_may_hinder_is_told_when_the_time_is_over(node: NodeRoot, beside: Plugin) -> None:
    """Without an event set the plugin hears of no Xid, which matters only where one stands."""
    beside.start()
    break_one(node, beside, "xid", "--gpu", 3, 79)
    break_one(node, beside, "xid", "--gpu", 5, 79)
    ctl(node, "fault", "nvmlEventSetCreate", "UNKNOWN")
    done = ctl(node, "clear", "--gpu", 3, *beside.options(timeout=2), code=3)
    assert "not repaired within 2 s" in done.stderr
    assert "the node answers nvmlEventSetCreate with UNKNOWN, which may be why" in done.stderr


def test_another_gpu_that_the_plugin_cannot_list_is_named(node: NodeRoot, beside: Plugin) -> None:
    beside.start()
    break_one(node, beside, "xid", "--gpu", 3, 79)
    ctl(node, "fault", "nvmlDeviceGetUUID", "UNKNOWN", "--gpu", 5)
    said = [
        "ctl clear: nothing changed: GPU 3 cannot come back while GPU 5 answers nvmlDeviceGetUUID with UNKNOWN, and "
        "then the device plugin does not start; clear that GPU too, or all"
    ]
    refused(node, ["clear", "--gpu", 3, *beside.options()], said)
    assert "the kubelet has 8 of 8 GPUs" in ctl(node, "clear", "--gpu", "3,5", *beside.options()).stdout


def test_where_no_repair_is_needed_nothing_hinders_it(node: NodeRoot, beside: Plugin) -> None:
    """A plugin that runs asks for no new init, and without one nothing waits."""
    ctl(node, "fault", "nvmlEventSetWait_v2", "UNKNOWN")
    ctl(node, "xid", "--gpu", 2, 79)
    ctl(node, "clear", "--gpu", 2)
    ctl(node, "clear", "--gpu", "all", *beside.options())
    beside.start()
    ctl(node, "fault", "nvmlInit_v2", "DRIVER_NOT_LOADED")
    ctl(node, "set", "--gpu", 2, "temperature=80C")
    done = ctl(node, "clear", "--gpu", 2, *beside.options())
    assert (done.stdout, done.stderr) == ("gpu-sim: GPU 2 healthy to the kubelet, nothing to repair\n", "")
    assert status(node)["gpus"][2]["faults"] == []


def test_declared_ones_are_kept_in_words_and_repaired_when_they_go(node: NodeRoot, beside: Plugin) -> None:
    """The agent must not wait for what cannot come, and what the node's own line had broken is repaired after it."""
    beside.start()
    wait = "fault nvmlEventSetWait_v2 UNKNOWN\n"
    ctl(node, "declare", *beside.options(), input=wait + "xid --gpu 1 79\n")
    wait_until("all GPUs are gone", lambda: beside.devices() == [])
    refused(
        node,
        ["clear", "--gpu", "all", *beside.options()],
        ["while the node answers nvmlEventSetWait_v2 with UNKNOWN", "take its line out of gpuSim.faults or gpu-sim.io"],
    )
    started = time.monotonic()
    done = ctl(node, "declare", *beside.options(), input=wait)
    assert time.monotonic() - started < 5
    assert "not repaired, since the node answers nvmlEventSetWait_v2 with UNKNOWN, and then the device" in done.stderr
    assert status(node)["gpus"][1]["xids"] == []
    done = ctl(node, "declare", *beside.options(), input="")
    assert ANEW in done.stdout and "the kubelet has 8 of 8 GPUs" in done.stdout
    assert len(beside.devices()) == 8
