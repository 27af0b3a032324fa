# SPDX-License-Identifier: Apache-2.0
"""`ctl clear` with a device plugin beside it: success is told when the kubelet has exactly what is not broken."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.node import stepped
from tests.node.control import ctl, status
from tests.node.fake_plugin import Plugin, plugin, wait_until
from tests.node.node_root import NodeRoot, bare_environment, shown

pytestmark = pytest.mark.native


@pytest.fixture
def beside(node: NodeRoot) -> Iterator[Plugin]:
    node.install(8)
    with plugin(node.path) as running:
        yield running


def break_one(node: NodeRoot, beside: Plugin, *words: object) -> None:
    count = len(beside.devices())
    ctl(node, *words, *beside.options())
    wait_until(f"{words}: one GPU less", lambda: len(beside.devices()) == count - 1)


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


def test_a_repair_that_is_killed_leaves_the_lost_lost(node: NodeRoot, beside: Plugin) -> None:
    """It held them back while the plugin started; the file itself says until when."""
    beside.start("--stuck")
    ctl(node, "lost", "--gpu", 5)
    wait_until("the lost one goes", lambda: len(beside.devices()) == 7)
    break_one(node, beside, "xid", "--gpu", 3, 79)
    words = [str(node.program), "ctl", "clear", "--gpu", "3", *beside.options(timeout=1)]
    clearing = subprocess.Popen(words, env=bare_environment(GPU_SIM_ROOT=str(node.path)), stdout=subprocess.PIPE)
    assert clearing.stdout.readline() == b"gpu-sim: the device plugin looks for its GPUs anew\n"
    clearing.kill()
    clearing.communicate()
    assert len(node.uuids()) == 8, "the lost one was not held back"
    wait_until("it is lost again", lambda: len(lost_view(node)) == 7, 10)


def lost_view(node: NodeRoot) -> list[str]:
    """What nvidia-smi can name."""
    program = node.path / "driver/usr/bin/nvidia-smi"
    done = subprocess.run([program, "-L"], capture_output=True, text=True, env=bare_environment())
    return [line for line in done.stdout.splitlines() if "(UUID: GPU-" in line]


def test_two_repairs_take_turns(node: NodeRoot, beside: Plugin) -> None:
    beside.start("--deaf", "0.3")
    for index in (1, 3, 6):
        break_one(node, beside, "xid", "--gpu", index, 79)
    environment = bare_environment(GPU_SIM_ROOT=str(node.path))
    running = [
        subprocess.Popen(
            [str(node.program), "ctl", "clear", "--gpu", str(index), *beside.options()],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for index in (1, 3)
    ]
    said = [process.communicate(timeout=40)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    assert set(node.uuids()) - set(beside.devices()) == {node.uuids()[6]}


def test_sockets_of_dead_plugins_are_not_waited_for(node: NodeRoot, beside: Plugin) -> None:
    with contextlib.chdir(beside.folder), socket.socket(socket.AF_UNIX) as dead:
        dead.bind("nvidia-mig-1g.5gb.sock")
    beside.start()
    break_one(node, beside, "xid", "--gpu", 3, 79)
    assert "the kubelet has 8 of 8 GPUs" in ctl(node, "clear", "--gpu", 3, *beside.options()).stdout


def test_what_a_new_plugin_has_missed_is_raised_by_the_next_clear(node: NodeRoot, beside: Plugin) -> None:
    beside.start()
    break_one(node, beside, "xid", "--gpu", 2, 79)
    beside.stop()
    beside.start()
    assert len(beside.devices()) == 8, "a restart hides it, as on real hardware"
    starts = beside.history().count(8)
    assert (
        "the kubelet has 7 of 8 GPUs; still broken: GPU 2" in ctl(node, "clear", "--gpu", 0, *beside.options()).stdout
    )
    assert beside.history().count(8) == starts, "for that it needs no new start"
    beside.stop()
    assert "nothing to repair" in ctl(node, "clear", "--gpu", 0, *beside.options()).stdout


def test_killed_before_any_system_call_the_next_repair_finishes(node: NodeRoot, beside: Plugin) -> None:
    """GPU 5 is lost throughout; whatever the killed one held back is lost again after its time."""
    beside.start()
    ctl(node, "lost", "--gpu", 5)
    wait_until("the lost one goes", lambda: len(beside.devices()) == 7)
    break_one(node, beside, "xid", "--gpu", 3, 79)
    words = [str(node.program), "ctl", "clear", "--gpu", "3", "--root", str(node.path), *beside.options(timeout=30)]
    for step in (60, 90, 120, 150, 180):
        stepped.run(words, lambda count, number, step=step: count == step)
        done = ctl(node, "clear", "--gpu", 3, *beside.options())
        assert "nothing to repair" in done.stdout or "the kubelet has 7 of 8 GPUs; still broken: GPU 5" in done.stdout
        wait_until("the lost one is gone again", lambda: len(beside.devices()) == 7)
        assert status(node)["gpus"][5]["health"] == "lost"
        if len(lost_view(node)) == 8:
            break_one(node, beside, "xid", "--gpu", 3, 79)
            ctl(node, "clear", "--gpu", 3, *beside.options())
            assert len(lost_view(node)) == 7
        break_one(node, beside, "xid", "--gpu", 3, 79)
