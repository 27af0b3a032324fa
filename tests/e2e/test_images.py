# SPDX-License-Identifier: Apache-2.0
"""Nothing on the cluster comes from a place that `make images` does not name."""

import sys

import pytest

from tests.harness import command
from tests.harness.versions import CHECKOUT

pytestmark = pytest.mark.cluster


def test_every_image_of_a_running_release_is_in_the_list(stage, node_a):
    stage.simulate(node_a, gpuSim={"deviceCount": 3})
    listed = set(command.run([sys.executable, "-m", "tests.harness", "images"], cwd=CHECKOUT).out.split())
    spec = stage.node_pod(node_a)["spec"]
    containers = [*spec["initContainers"], *spec["containers"]]
    used = {container["image"] for container in containers}
    assert len(used) == 3
    assert used <= listed, f"not listed: {used - listed}"
    untagged = {image for image in listed if image.endswith(":latest") or ":" not in image.rpartition("/")[2]}
    assert untagged == set()
    assert {container["imagePullPolicy"] for container in containers} == {"IfNotPresent"}
