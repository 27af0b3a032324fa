# SPDX-License-Identifier: Apache-2.0
"""More than 12 whole GPUs on a node: which requests are instant, and the one that stalls NVIDIA's allocator."""

import pytest

from tests.e2e.scenes import gpu_pod
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster


def test_a_pod_of_three_on_sixteen_gpus_waits_for_the_plugins_allocator(stage, node_a, namespace, real_plugin):
    """Documents upstream: best-effort allocation tries every partition of 16 GPUs; 3 take most of a minute."""
    stage.simulate(node_a, gpuSim={"deviceCount": 16})
    namespace.create(gpu_pod("instant", 1, node_a))
    namespace.wait_phase("instant", "Running", 15)
    namespace.delete_pods("instant")
    namespace.create(gpu_pod("stalled", 3, node_a))
    wait_until("the pod to be bound", lambda: namespace.node_of("stalled") == node_a, 10)
    wait_until("ten seconds of waiting for the plugin", lambda: namespace.age_s("stalled") > 10, 20)
    assert namespace.phase("stalled") == "Pending", "upstream became fast: lift the 12 GPU limit in schema and README"
    namespace.wait_phase("stalled", "Running", 240)
