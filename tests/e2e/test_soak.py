# SPDX-License-Identifier: Apache-2.0
"""A short soak on the shared cluster; `make soak` is the long one."""

import pytest

from tests.harness import needs
from tests.harness.soak.run import Soak

pytestmark = pytest.mark.cluster
SEED, SECONDS = 20261130, 75


@pytest.mark.timeout(900)
def test_everything_at_once_loses_and_doubles_no_device(stage, node_a, node_b, evidence):
    if stage.cluster.provider != "embedded":
        needs.skip("embedded", "a soak kills programs of the nodes, which only this provider can reach")
    for node in (node_a, node_b):
        stage.clear(node)
    soak = Soak(stage.cluster, SEED, SECONDS, evidence / "actions.log", [node_a, node_b])
    try:
        good = soak.run()
    finally:
        soak.scene.leave()
    assert good, "\n".join([*soak.problems, soak.summary()])
    assert soak.workers.done["upgrade"] and soak.workers.done["fault"] == soak.workers.done["repair"]
    for node in (node_a, node_b):
        stage.wait_no_gpus(node)
