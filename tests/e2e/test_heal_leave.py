# SPDX-License-Identifier: Apache-2.0
"""When a node is given back and when it is not: a lost label and a removal clean it, an eviction does not."""

import re
import shlex

import pytest

from tests.e2e import accidents
from tests.e2e.healed import healed
from tests.e2e.host import ROOT
from tests.harness.versions import CHECKOUT
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster

FOUR = {"gpuSim": {"deviceCount": 4, "memoryMB": 28008}}


def test_an_evicted_node_pod_takes_nothing_with_it(stage, node_a, namespace):
    stage.simulate(node_a, **FOUR)
    uuids = [gpu.uuid for gpu in stage.host(node_a).inventory()]
    files = {name for name in stage.host(node_a).files() if "/driver/" in name}
    missing, meta = stage.host(node_a).watch_missing(files), stage.node_pod(node_a)["metadata"]
    stage.kube.evict(meta["namespace"], meta["name"])
    wait_until("another pod", lambda: stage.node_pod(node_a) or stage.kube.pod(meta["namespace"], meta["name"]), 40)
    wait_until("the evicted pod to be gone", lambda: not stage.kube.pod(meta["namespace"], meta["name"]), 40)
    healed(stage, node_a, FOUR, namespace, uuids)
    assert missing() == set()


def test_a_node_that_loses_its_label_is_cleaned_and_comes_back_with_it(stage, node_a, namespace):
    release = stage.simulate(node_a, **FOUR)
    uuids = [gpu.uuid for gpu in stage.host(node_a).inventory()]
    stage.kube.label_node(node_a, {"gpu-sim": None})
    try:
        stage.wait_no_gpus(node_a)
        wait_until(
            "the node to be clean", lambda: not stage.host(node_a).files(), 60, seen=lambda: stage.host(node_a).files()
        )
        assert stage.daemonset(release), "the release itself goes on"
    finally:
        stage.kube.label_node(node_a, {"gpu-sim": "true"})
    healed(stage, node_a, FOUR, namespace, uuids)


def test_a_node_that_was_down_during_the_uninstall_is_cleaned_as_documented(stage, node_a):
    """By the command of the README, in which only the node's name is filled in."""
    readme = (CHECKOUT / "README.md").read_text()
    (documented,) = re.findall(r"`kubectl (debug node/<node> [^`]*clean-node[^`]*)`", readme)
    stage.simulate(node_a, **FOUR)
    meta = stage.node_pod(node_a)["metadata"]
    try:
        accidents.power_cut(stage, node_a)
        release, _ = stage.standing.pop(node_a)
        stage.helm.uninstall(release, "default", wait=False)
        wait_until("the DaemonSet to be gone", lambda: not stage.daemonset(release), 30)
        stage.kube.delete("v1", "Pod", meta["name"], meta["namespace"], grace_s=0)
    finally:
        stage.cluster.node(node_a).start()
    wait_until("the node to be back", lambda: node_a in stage.kube.ready_nodes(), 40)
    left = stage.host(node_a).files()
    assert f"{ROOT}/owner" in left and any("/cdi/" in name for name in left), "nobody was there to clean"

    said = stage.kubectl(*shlex.split(documented.replace("<node>", node_a)))
    pod = re.search(r"node-debugger-\S+", said)[0]
    try:
        stage.kube.wait_pod("default", pod, "Succeeded", 60)
    finally:
        print(stage.kube.pod_log("default", pod))
        stage.kube.delete("v1", "Pod", pod, "default", grace_s=0)
    stage.clear(node_a)
