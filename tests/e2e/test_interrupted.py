# SPDX-License-Identifier: Apache-2.0
"""An install that was killed half-way does not block the next one."""

import json
import subprocess

import pytest

from tests.harness.versions import CHECKOUT
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def abandoned(stage, node_a, node_b, tmp_path):
    """A release whose helm was killed while it waited for pods that can never start."""
    stage.clear(node_a)
    stage.clear(node_b)
    values = tmp_path / "values.json"
    values.write_text(json.dumps({"image": {"tag": "not-there"}}))
    argv = [stage.cluster.programs["helm"], "--kubeconfig", stage.cluster.kubeconfig, "install", "cut-short"]
    argv += [CHECKOUT / "charts/gpu-sim", "-f", values, "-n", "default", "--wait", "--timeout=5m"]
    helm = subprocess.Popen([str(word) for word in argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until("the pods of the first try", lambda: len(stage.pods_of("cut-short")) == 2, 30)
    finally:
        helm.kill()
        helm.wait()
    yield "cut-short"
    stage.helm.uninstall("cut-short", "default")


def test_a_killed_install_is_put_right_by_the_next(abandoned, stage, node_a, node_b):
    assert stage.helm.status(abandoned, "default") == "pending-install"
    stage.install(abandoned, None, {"gpuSim": {"deviceCount": 3, "memoryMB": 19191}})
    for node in (node_a, node_b):
        stage.wait_gpus(node, 3)
        assert {gpu.memory_mib for gpu in stage.host(node).inventory()} == {19191}
    assert stage.helm.status(abandoned, "default") == "deployed"
