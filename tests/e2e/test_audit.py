# SPDX-License-Identifier: Apache-2.0
"""The oracle on a real kubelet: quiet while all is well, by both of its sources; loud about what is made wrong."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.e2e.host import ROOT
from tests.e2e.scenes import gpu_pod, load
from tests.harness import control
from tests.harness.anycluster import AnyCluster
from tests.harness.audit import Audit, rules
from tests.harness.audit.settle import SETTLE
from tests.harness.audit.sources import AgentSource, HostSource
from tests.harness.versions import CHECKOUT
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def nodes(stage, node_a, node_b):
    stage.simulate(node_a, gpuSim={"deviceCount": 5})
    stage.simulate(node_b, gpuSim={"deviceCount": 3})
    return node_a, node_b


def held(reading) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for grant in reading.grants:
        found.setdefault(grant.pod, set()).update(grant.ids)
    return found


def forge(stage, node: str, text: str) -> None:
    """Make the inventory tell what is not so; the agent writes only what is new to it."""
    program = f"exec -a gpu-sim {ROOT}/driver/usr/bin/nvidia-smi allocate --root {ROOT}"
    stage.cluster.node(node).run(["bash", "-c", program], stdin=text)


def typed(cluster, *words: str) -> tuple[int, str, str]:
    argv = [sys.executable, "-m", "tests.harness", "audit", "--kubeconfig", str(cluster.kubeconfig), *words]
    done = subprocess.run(argv, cwd=CHECKOUT, capture_output=True, text=True, timeout=200)
    return done.returncode, done.stdout, done.stderr


def test_pods_that_come_and_go_are_watched_without_a_word(nodes, stage, namespace):
    node_a, node_b = nodes
    with Audit(stage.cluster, say=lambda text: None) as audit:
        for number in range(3):
            namespace.create(gpu_pod(f"a{number}", 2, node_a), gpu_pod(f"b{number}", 3, node_b))
            for name in (f"a{number}", f"b{number}"):
                namespace.wait_phase(name, "Running")
            wait_until("the oracle to see both", lambda n=number: len(audit.judge.allocations) >= 5 * (n + 1), 15)
            namespace.delete_pods(f"a{number}", f"b{number}", grace_s=1)
        assert audit.violations == []
        assert audit.nodes == set(nodes)
    assert len(audit.judge.seen) == 6
    assert ["allocations checked", "15"] in [line.strip().rsplit(None, 1) for line in audit.summary().splitlines()]


def test_both_sources_tell_the_same(nodes, stage, namespace):
    node, _ = nodes
    namespace.create(gpu_pod("two", 2, node), gpu_pod("one", 1, node))
    for name in ("one", "two"):
        namespace.wait_phase(name, "Running")
    below, agent = HostSource(stage.cluster), AgentSource(stage.kube)
    true = {f"{namespace.name}/{name}": set(stage.allocated(node, namespace.name, name)) for name in ("one", "two")}
    assert held(below.read(node)) == true
    wait_until("the agent to know", lambda: held(agent.read(node)) == true, 15, seen=lambda: agent.read(node))
    shown = lambda: {pod: {g.uuid for g in below.read(node).gpus if pod in g.pods} for pod in true}  # noqa: E731
    assert shown() == true
    namespace.delete_pods("two")
    wait_until("the agent to forget", lambda: list(held(agent.read(node))) == [f"{namespace.name}/one"], 15)


def test_a_scheduler_that_ignores_what_is_taken_is_seen(nodes, stage, namespace):
    """Bound by name, past the scheduler: the kubelet refuses it, and nobody gets anything twice."""
    node, _ = nodes
    with Audit(stage.cluster, say=lambda text: None) as audit:
        namespace.create(gpu_pod("first", 4, node))
        namespace.wait_phase("first", "Running")
        namespace.create(gpu_pod("forced", 2, nodeName=node))
        namespace.wait_phase("forced", "Failed")
        wait_until("the refusal", lambda: f"{namespace.name}/forced" in audit.judge.refused, 10)
    assert audit.judge.refused[f"{namespace.name}/forced"] == "UnexpectedAdmissionError"
    assert audit.violations == []


def test_an_inventory_that_shows_nobody_is_told(nodes, stage, namespace):
    node, _ = nodes
    namespace.create(gpu_pod("mine", 1, node))
    namespace.wait_phase("mine", "Running")
    (uuid,) = stage.allocated(node, namespace.name, "mine")
    source = HostSource(stage.cluster)
    wait_until("the agent to show it", lambda: any(gpu.pods for gpu in source.read(node).gpus), 15)
    audit = Audit(stage.cluster, say=lambda text: None)
    audit.judge.rules = {**SETTLE, rules.inventory: 2}
    with audit:
        forge(stage, node, "")
        wait_until("the sentence", lambda: audit.violations, 20)
    assert audit.violations[0].sentence == (
        f"the inventory of {node} shows {uuid} with nobody, but {namespace.name}/mine holds it"
    )


def test_anybodys_cluster_is_audited_by_its_kubeconfig_alone(nodes, stage, namespace, tmp_path):
    namespace.create(*load("quota"), gpu_pod("fine", 2, nodes[0]))
    namespace.wait_phase("fine", "Running")
    wait_until("the agent to know", lambda: held(AgentSource(stage.kube).read(nodes[0])), 15)
    code, said, err = typed(stage.cluster, "--watch", "--seconds", "8", "--junit", str(tmp_path / "out.xml"))
    assert (code, err) == (0, "")
    rows = dict(line.strip().rsplit(None, 1) for line in said.splitlines())
    assert (rows["nodes checked"], rows["allocations checked"], rows["violations"]) == ("2", "2", "0")
    assert int(rows["checks"]) > 1
    suite = ElementTree.parse(tmp_path / "out.xml").getroot().find("testsuite")
    assert (suite.get("failures"), len(suite.findall("testcase"))) == ("0", len(SETTLE))


def test_a_device_that_was_given_twice_is_told_at_once_and_is_a_failure(nodes, stage, namespace, tmp_path):
    """Made up in the inventory, since the kubelet does no such thing: it is what the agent tells of another kubelet."""
    node, _ = nodes
    namespace.create(gpu_pod("x", 1, node), gpu_pod("y", 1, node))
    for name in ("x", "y"):
        namespace.wait_phase(name, "Running")
    (uuid,) = stage.allocated(node, namespace.name, "x")
    agent = AgentSource(stage.kube)
    wait_until("the agent to know both", lambda: len(held(agent.read(node))) == 2, 15)
    line = f"{uuid} {namespace.name}/{{}} c pid={{}} memory=none utilization=none\n"
    forge(stage, node, line.format("x", 200001) + line.format("y", 200002))
    told = []
    audit = Audit(AnyCluster(stage.cluster.kubeconfig), say=told.append)
    with audit:
        wait_until("the sentence", lambda: told, 15)
    assert told[0].startswith(f"{uuid} given to {namespace.name}/x and {namespace.name}/y at ")
    code, said, _ = typed(stage.cluster, "--seconds", "3", "--junit", str(tmp_path / "out.xml"))
    assert code == 1
    assert f"{uuid} given to {namespace.name}/x and {namespace.name}/y at " in said.splitlines()[0]
    assert ElementTree.parse(tmp_path / "out.xml").getroot().find("testsuite").get("failures") == "1"


def test_a_cluster_without_simulated_gpus_is_no_success(stage, node_a, node_b):
    for node in (node_a, node_b):
        stage.clear(node)
    code, said, err = typed(stage.cluster)
    assert code == 1
    assert "nothing was checked: no node has simulated GPUs that can be read" in err
    assert "nodes checked" in said
    with pytest.raises(control.ControlError, match="is the chart installed"):
        control.node_pod(stage.kube, node_a)
