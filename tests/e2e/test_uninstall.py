# SPDX-License-Identifier: Apache-2.0
"""Whatever the chart put on a node, uninstalling removes."""

import pytest

from tests.e2e.scenes import gpu_pod
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster


def test_after_uninstall_the_node_is_as_before(stage, node_a, namespace):
    stage.clear(node_a)
    labels, files = stage.node_marks(node_a), stage.host(node_a).files()
    assert not [name for name in files if name.startswith("/var/lib/gpu-sim/")], "the node was not clean before"

    release = stage.simulate(node_a, gpuSim={"deviceCount": 6, "memoryMB": 31313})
    namespace.create(gpu_pod("user", 2, node_a))
    assert namespace.report("user")["count"] == 2
    added = stage.host(node_a).files() - files
    for part in ("/var/lib/gpu-sim/driver/", "/var/lib/gpu-sim/owner", "nvidia-gpu.sock", "/cdi/"):
        assert any(part in name for name in added), f"expected {part} among {sorted(added)}"
    namespace.delete_pods("user")

    stage.clear(node_a)
    wait_until(
        "the node's files to be as before", lambda: stage.host(node_a).files() == files, 30,
        seen=lambda: stage.host(node_a).files() ^ files,
    )  # fmt: skip
    assert stage.node_marks(node_a) == labels
    wait_until(
        "the release's objects to be gone", lambda: stage.objects_of(release) == [], 30,
        seen=lambda: stage.objects_of(release),
    )  # fmt: skip


def test_a_rollout_cleans_nothing_that_pods_still_use(stage, node_a, namespace):
    stage.simulate(node_a, gpuSim={"deviceCount": 3, "memoryMB": 31313})
    namespace.create(gpu_pod("witness", 1, node_a))
    namespace.wait_phase("witness", "Running", 30)
    files = {name for name in stage.host(node_a).files() if "/driver/" in name}
    missing = stage.host(node_a).watch_missing(files)
    stage.delete_node_pod(node_a)
    stage.wait_gpus(node_a, 3, deadline_s=60)
    assert missing() == set()
    assert namespace.phase("witness") == "Running"
