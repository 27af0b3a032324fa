# SPDX-License-Identifier: Apache-2.0
"""`gpu-sim idle`: sleeps, also as the first process of a container, and ends well when it is told to."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest

from tests.node.node_root import NodeRoot, shown

pytestmark = pytest.mark.native


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_ends_well_when_told(node: NodeRoot, told: signal.Signals) -> None:
    with subprocess.Popen([node.program, "idle"], stdout=subprocess.PIPE, text=True) as idle:
        assert idle.stdout.readline() == "gpu-sim: idle until SIGTERM\n"
        time.sleep(0.1)
        assert idle.poll() is None
        idle.send_signal(told)
        assert idle.wait(timeout=5) == 0


def test_takes_nothing(node: NodeRoot) -> None:
    shown(node.run("idle", "10", code=2), ["idle: no such option, got 10"])
