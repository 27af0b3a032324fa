# SPDX-License-Identifier: Apache-2.0
"""Repairs that are killed, that meet each other, and plugins that died or started while nobody looked."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import subprocess
import time

import pytest

from tests.node import stepped
from tests.node.control import break_one, ctl, lost_view, status
from tests.node.fake_plugin import Plugin, wait_until
from tests.node.node_root import NodeRoot, bare_environment, shown

pytestmark = pytest.mark.native


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


def test_two_repairs_take_turns(node: NodeRoot, beside: Plugin) -> None:
    """Else the end of the first could let GPU 6 be lost while the plugin starts for the second."""
    beside.start("--deaf", "1")
    uuids = node.uuids()
    for index in (1, 3):
        break_one(node, beside, "xid", "--gpu", index, 79)
    break_one(node, beside, "lost", "--gpu", 6)
    environment = bare_environment(GPU_SIM_ROOT=str(node.path))
    running = []
    for index in (1, 3):
        words = [str(node.program), "ctl", "clear", "--gpu", str(index), *beside.options()]
        running.append(subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True))
        time.sleep(0.8)
    said = [process.communicate(timeout=40)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    assert beside.process.poll() is None, "the plugin died of the lost GPU"
    assert set(uuids) - set(beside.devices()) == {uuids[6]}
    folder = os.open(node.path / "driver", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        done = ctl(node, "clear", "--gpu", 6, *beside.options(timeout=1), code=3)
        shown(done, ["another repair did not end within 1 s; try again"])
    finally:
        os.close(folder)
    assert "the kubelet has 8 of 8 GPUs" in ctl(node, "clear", "--gpu", 6, *beside.options()).stdout


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
    beside.start()
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


def test_another_clusters_plugin_on_the_same_machine_is_left_alone(node: NodeRoot, beside: Plugin) -> None:
    """Seen from outside of the pod, /proc has them all."""
    beside.start()
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        own = beside.proc / str(stranger.pid)
        own.mkdir()
        (own / "cmdline").write_bytes(b"/usr/bin/nvidia-device-plugin\0")
        break_one(node, beside, "xid", "--gpu", 3, 79)
        ctl(node, "clear", "--gpu", 3, *beside.options())
        assert beside.history()[-1] == 8
        assert stranger.poll() is None, "it got the signal as well"
    finally:
        stranger.kill()
        stranger.wait()
        (own / "cmdline").unlink()
        own.rmdir()
