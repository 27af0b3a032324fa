# SPDX-License-Identifier: Apache-2.0
"""The library is taken away on the host: what the plugin does then, and how it comes back, strategy by strategy."""

import os
import signal

import pytest

from tests.harness.kube import KubeError
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def library(stage, node_a):
    """Moves the node's library out of the plugin's sight and back; it is back afterwards whatever the test did."""
    moved = []

    class Library:
        def away(self):
            real = stage.host(node_a).driver_file("libnvidia-ml.so.1")
            hidden = real.with_name("moved-away")
            real.rename(hidden)
            moved.append((hidden, real))

        def back(self):
            while moved:
                hidden, real = moved.pop()
                hidden.rename(real)

    library = Library()
    yield library
    library.back()
    stage.clear(node_a)  # the next test gets a fresh plugin


def test_a_plugin_that_fails_on_errors_heals_by_itself(stage, node_a, library):
    stage.simulate(node_a, gpuSim={"deviceCount": 3}, devicePlugin={"deviceListStrategy": ["envvar"]})
    pod = stage.node_pod(node_a)["metadata"]["uid"]
    library.away()
    os.kill(stage.host(node_a).process("device-plugin"), signal.SIGKILL)
    wait_until("the GPUs to be gone", lambda: stage.gpus(node_a)[1] == 0, 30, seen=lambda: stage.gpus(node_a))
    log = wait_until(
        "the plugin's reason", lambda: _reason(stage.plugin_log(node_a, previous=True)), 30, retry=(OSError, KubeError)
    )
    assert "ERROR_LIBRARY_NOT_FOUND" in log
    assert stage.pod_identity(node_a)[1]["device-plugin"] > 0
    library.back()
    stage.wait_gpus(node_a, 3, deadline_s=60)
    assert stage.node_pod(node_a)["metadata"]["uid"] == pod, "nobody touched the pod"


def test_a_plugin_told_to_ignore_errors_waits_until_it_is_asked_to_look_again(stage, node_a, library):
    stage.simulate(
        node_a, gpuSim={"deviceCount": 3}, devicePlugin={"deviceListStrategy": ["envvar"], "failOnInitError": False}
    )
    library.away()
    os.kill(stage.host(node_a).process("device-plugin"), signal.SIGKILL)
    wait_until("the plugin to give up", lambda: "Waiting indefinitely" in stage.plugin_log(node_a), 30)
    wait_until("the GPUs to be gone", lambda: stage.gpus(node_a)[1] == 0, 30, seen=lambda: stage.gpus(node_a))
    library.back()
    # The trap: the library is there, the plugin lives, and nothing happens.
    wait_until("ten readings without GPUs", lambda: stage.gpus(node_a)[1] == 0, 15, reads=10)
    os.kill(stage.host(node_a).process("device-plugin"), signal.SIGHUP)
    stage.wait_gpus(node_a, 3, deadline_s=60)


def _reason(log: str) -> str:
    return next((line for line in log.splitlines() if "nvml init failed" in line), "")
