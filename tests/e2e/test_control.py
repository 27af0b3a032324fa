# SPDX-License-Identifier: Apache-2.0
"""gpu-sim ctl by the node's name, from outside: what a person types and what a test calls are the same."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.harness.control import ControlError, ctl
from tests.harness.versions import CHECKOUT
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster


def typed(cluster, *words: str, stdin: str = "") -> tuple[int, str, str]:
    """The command with the cluster's kubeconfig alone, as for a cluster that the harness does not know."""
    argv = [sys.executable, "-m", "tests.harness", "ctl", "--kubeconfig", str(cluster.kubeconfig), *words]
    done = subprocess.run(argv, cwd=CHECKOUT, input=stdin, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def gpus(cluster, node: str) -> list[dict]:
    return json.loads(ctl(cluster, node, ["status", "--json"]))["gpus"]


@pytest.fixture
def nodes(stage, node_a, node_b):
    stage.simulate(node_a, gpuSim={"deviceCount": 5})
    stage.simulate(node_b, gpuSim={"deviceCount": 3})
    yield node_a, node_b
    ctl(stage.cluster, node_a, ["clear", "--gpu", "all"])


def test_each_node_is_asked_by_its_name(nodes, stage):
    for node, count in zip(nodes, (5, 3), strict=True):
        found = gpus(stage.cluster, node)
        assert [gpu["uuid"] for gpu in found] == [gpu.uuid for gpu in stage.host(node).inventory()]
        code, said, err = typed(stage.cluster, "--node", node, "--", "status", "--json")
        assert (code, err) == (0, "")
        assert [gpu["uuid"] for gpu in json.loads(said)["gpus"]] == [gpu["uuid"] for gpu in found]
        assert len(found) == count


def test_a_change_is_there_and_a_refusal_is_passed_on(nodes, stage):
    node, other = nodes
    ctl(stage.cluster, node, ["set", "--gpu", "3", "temperature=87C"])
    assert [gpu["temperature_c"] == 87 for gpu in gpus(stage.cluster, node)] == [False] * 3 + [True, False]
    assert all(gpu["temperature_c"] != 87 for gpu in gpus(stage.cluster, other))
    with pytest.raises(ControlError) as refused:
        ctl(stage.cluster, node, ["set", "--gpu", "7", "temperature=87C"])
    code, said, err = typed(stage.cluster, "--node", node, "--", "set", "--gpu", "7", "temperature=87C")
    assert (code, said, err.strip()) == (refused.value.code, "", refused.value.message)
    assert code != 0 and "7" in err and "Traceback" not in err


def test_a_timeline_comes_by_standard_input(nodes, stage):
    node, _ = nodes
    code, _, err = typed(stage.cluster, "--node", node, "--", "timeline", stdin="+0s set --gpu 2 temperature=77C\n")
    assert code == 0, err
    wait_until("GPU 2 to be warm", lambda: gpus(stage.cluster, node)[2]["temperature_c"] == 77, 10)


def test_a_node_without_a_pod_is_named_with_those_that_have_one(nodes, stage):
    code, said, err = typed(stage.cluster, "--node", "nowhere", "--", "status")
    assert (code, said) == (1, "")
    assert err == (
        f"gpu-sim: node nowhere: must have a gpu-sim pod, got none; the nodes {', '.join(sorted(nodes))} have one\n"
    )
