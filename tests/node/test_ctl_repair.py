# SPDX-License-Identifier: Apache-2.0
"""`ctl clear` with a device plugin beside it: success is told when the kubelet has exactly what is not broken."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest

from tests.node.control import break_one, ctl, lost_view, status
from tests.node.fake_plugin import Plugin, wait_until
from tests.node.node_root import NodeRoot, bare_environment, shown

pytestmark = pytest.mark.native


def test_a_cleared_gpu_comes_back(node: NodeRoot, beside: Plugin) -> None:
    beside.start()
    break_one(node, beside, "xid", "--gpu", 3, 79)
    assert [gpu["kubelet"] for gpu in status(node, *beside.options())["gpus"]].count("unhealthy") == 1
    done = ctl(node, "clear", "--gpu", 3, *beside.options())
    assert "the kubelet has 8 of 8 GPUs\n" in done.stdout
    assert len(beside.devices()) == 8
    assert {gpu["kubelet"] for gpu in status(node, *beside.options())["gpus"]} == {"healthy"}


def test_what_is_still_broken_is_broken_before_success_is_told(node: NodeRoot, beside: Plugin) -> None:
    """The plugin listens only a second after it has registered: an Xid raised at once would be missed."""
    beside.start("--deaf", "1")
    uuids = node.uuids()
    for index in (3, 5, 6):
        break_one(node, beside, "xid", "--gpu", index, 48)
    done = ctl(node, "clear", "--gpu", 3, *beside.options())
    assert set(uuids) - set(beside.devices()) == {uuids[5], uuids[6]}
    assert "the kubelet has 6 of 8 GPUs; still broken: GPUs 5,6\n" in done.stdout
    assert [gpu["xids"] for gpu in status(node)["gpus"]] == [[], [], [], [], [], [48], [48], []]


def test_ignored_xids_are_not_waited_for(node: NodeRoot, beside: Plugin) -> None:
    beside.start()
    said = ctl(node, "xid", "--gpu", 5, 43, *beside.options()).stderr
    assert "the device plugin ignores Xid 43" in said
    wait_until("the plugin sees the ignored one", lambda: beside.xids() == [43])
    break_one(node, beside, "xid", "--gpu", 3, 94)
    done = ctl(node, "clear", "--gpu", 3, *beside.options())
    assert "the kubelet has 8 of 8 GPUs\n" in done.stdout
    assert beside.xids() == [43, 94], "an ignored Xid was raised again"
    before = beside.registered()
    assert "GPU 5 healthy to the kubelet, nothing to repair" in ctl(node, "clear", "--gpu", 5, *beside.options()).stdout
    assert beside.registered() == before
    assert status(node)["gpus"][5]["xids"] == []


@pytest.mark.parametrize(
    ("environment", "xid", "ignored"),
    [
        ({"DP_DISABLE_HEALTHCHECKS": "79"}, 79, "DP_DISABLE_HEALTHCHECKS names it"),
        ({"DP_DISABLE_HEALTHCHECKS": "abc, 94 ,7"}, 94, "DP_DISABLE_HEALTHCHECKS names it"),
        ({"DP_DISABLE_HEALTHCHECKS": "XIDS"}, 48, "switches all health checks off"),
        ({"DP_DISABLE_HEALTHCHECKS": "all", "DP_ENABLE_HEALTHCHECKS": "79"}, 79, "switches all health checks off"),
        ({"DP_ENABLE_HEALTHCHECKS": "45,13"}, 13, None),
        ({"DP_DISABLE_HEALTHCHECKS": "79,48", "DP_ENABLE_HEALTHCHECKS": "48"}, 48, None),
        ({"DP_DISABLE_HEALTHCHECKS": "7"}, 79, None),
        ({}, 31, "it means an error of an application"),
    ],
)
def test_the_plugins_own_variables_count(node: NodeRoot, environment: dict, xid: int, ignored: str | None) -> None:
    node.install(2)
    said = ctl(node, "xid", "--gpu", 1, xid, env=environment).stderr
    assert said == "" if ignored is None else ignored in said


def test_lost_gpus_do_not_kill_the_plugin_and_are_lost_afterwards(node: NodeRoot, beside: Plugin) -> None:
    beside.start("--deaf", "0.5")
    said = ctl(node, "lost", "--gpu", 5, *beside.options()).stderr
    assert "v0.20.0 refuses every pod of this node that asks for GPUs" in said
    wait_until("the lost one goes", lambda: len(beside.devices()) == 7)
    break_one(node, beside, "xid", "--gpu", 3, 79)
    ctl(node, "clear", "--gpu", 3, *beside.options())
    assert beside.process.poll() is None, "the plugin died of the lost GPU"
    assert len(beside.devices()) == 7
    assert len(lost_view(node)) == 7
    assert status(node)["gpus"][5]["health"] == "lost"


def test_a_plugin_that_dies_of_the_signal_and_comes_back(node: NodeRoot, beside: Plugin) -> None:
    beside.start("--mortal")
    break_one(node, beside, "xid", "--gpu", 3, 79)
    break_one(node, beside, "xid", "--gpu", 0, 79)
    words = [str(node.program), "ctl", "clear", "--gpu", "3", *beside.options()]
    environment = bare_environment(GPU_SIM_ROOT=str(node.path))
    clearing = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
    assert beside.process.wait(timeout=10) == -signal.SIGHUP
    beside.stop()
    assert clearing.poll() is None, "it did not wait for the plugin's return"
    beside.start()
    assert clearing.communicate(timeout=20)[0].endswith("the kubelet has 7 of 8 GPUs; still broken: GPU 0\n")
    assert len(beside.devices()) == 7


def test_a_checkpoint_from_before_the_plugin_registered_is_none(node: NodeRoot, beside: Plugin) -> None:
    beside.start("--early")
    break_one(node, beside, "xid", "--gpu", 3, 79)
    before = beside.history()
    ctl(node, "clear", "--gpu", 3, *beside.options())
    assert beside.history() == [*before, 8, 8], "success was told by the first, which says nothing of the plugin"


def test_a_plugin_that_does_not_listen_is_told_within_the_time(node: NodeRoot, beside: Plugin) -> None:
    beside.start("--stuck")
    break_one(node, beside, "xid", "--gpu", 3, 79)
    started = time.monotonic()
    done = ctl(node, "clear", "--gpu", 3, *beside.options(timeout=2), code=3)
    assert 1.5 < time.monotonic() - started < 8
    shown(done, ["cleared, but not repaired within 2 s", "waited for new sockets of the device plugin", "the old ones"])
    assert status(node)["gpus"][3]["health"] == "ok"


def test_without_a_plugin_it_only_clears(node: NodeRoot, beside: Plugin) -> None:
    ctl(node, "lost", "--gpu", 4)
    shown(ctl(node, "clear", "--gpu", 4, *beside.options()), ["no process nvidia-device-plugin here; cleared only"])
    assert status(node)["gpus"][4]["health"] == "ok"
    shown(ctl(node, "clear", "--gpu", 4), ["cleared only: no folder of device plugins is named"])
    shown(ctl(node, "clear", "--gpu", 4, "--plugin-dir=/absent"), ["cleared only: there is no folder /absent"])


def test_a_plugin_that_may_have_started_under_a_fault_starts_again(node: NodeRoot, beside: Plugin) -> None:
    """One that could not register for events calls its GPUs healthy for ever."""
    beside.start()
    anew = "the device plugin looks for its GPUs anew"
    for words in (["nvmlDeviceRegisterEvents", "NOT_SUPPORTED", "--gpu", "2"], ["nvmlEventSetCreate", "UNKNOWN"]):
        ctl(node, "fault", *words)
        said = ctl(node, "clear", "--gpu", "all", *beside.options()).stdout
        assert anew in said and "the kubelet has 8 of 8 GPUs" in said
    ctl(node, "set", "--gpu", 2, "temperature=80C")
    assert anew not in ctl(node, "clear", "--gpu", 2, *beside.options()).stdout
