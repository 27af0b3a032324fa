# SPDX-License-Identifier: Apache-2.0
"""Two branches on two dedicated nodes of one cluster, made by the generator, installed by the commands it prints."""

import pytest
import yaml

from tests.e2e.branches import Branch
from tests.e2e.scenes import gpu_pod
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster

BETA = ("--gpus", "3", "--memory-mb", "70007", "--profile", "h100-80gb-hbm3")


@pytest.fixture
def branches(stage, node_a, node_b, tmp_path):
    """feat/alpha with 4 small GPUs on the first node, feat_beta with 3 large ones on the second, both installed."""
    stage.clear(node_a)
    stage.clear(node_b)
    made = (
        Branch.make(stage, "feat/alpha", node_a, tmp_path, "--gpus", "4", "--memory-mb", "11111"),
        Branch.make(stage, "feat_beta", node_b, tmp_path, *BETA),
    )
    try:
        for branch in made:
            branch.dedicate()
            branch.install()
        for branch, count in zip(made, (4, 3), strict=True):
            stage.wait_gpus(branch.node, count)
        yield made
    finally:
        for branch in made:
            branch.remove()


def test_one_branch_is_upgraded_and_removed_while_the_other_stays_untouched(branches, stage, namespace):
    alpha, beta = branches
    assert alpha.release != beta.release
    namespace.create(beta.workload(gpu_pod("beta-holder", 2)))
    namespace.wait_phase("beta-holder", "Running", 30)
    before = stage.fingerprint(beta.node)
    dips = stage.watch_allocatable(beta.node)

    small, large = stage.host(alpha.node).inventory(), stage.host(beta.node).inventory()
    assert {gpu.memory_mib for gpu in small} == {11111}
    assert {(gpu.name, gpu.memory_mib) for gpu in large} == {("NVIDIA H100 80GB HBM3", 70007)}
    assert not {gpu.uuid for gpu in small} & {gpu.uuid for gpu in large}

    for count in (8, 2):
        alpha.generate("--gpus", str(count), "--memory-mb", "11111")
        alpha.install()
        stage.wait_gpus(alpha.node, count, deadline_s=60)
        pod = f"alpha-{count}"
        namespace.create(alpha.workload(gpu_pod(pod, 2)))
        report = namespace.report(pod)
        assert [gpu["memory_mib"] for gpu in report["gpus"]] == [11111, 11111]
        assert namespace.node_of(pod) == alpha.node
        namespace.delete_pods(pod)

    alpha.uninstall()
    stage.wait_no_gpus(alpha.node)
    assert stage.fingerprint(beta.node) == before
    assert dips() == {3}, "allocatable of the other branch's node changed on the way"
    assert namespace.phase("beta-holder") == "Running"


def test_no_pod_of_one_branch_lands_on_the_node_of_the_other(branches, stage, namespace):
    alpha, beta = branches
    # More pods than alpha has GPUs, while beta has free ones; and a pod of nobody, with no selector and no toleration.
    for index in range(5):
        namespace.create(alpha.workload(gpu_pod(f"alpha-{index}", 1)))
    namespace.create(gpu_pod("stranger", 1, tolerations=[]))
    wait_until(
        "four of alpha's pods to run",
        lambda: sum(namespace.phase(f"alpha-{index}") == "Running" for index in range(5)) == 4, 40,
    )  # fmt: skip
    waiting = next(f"alpha-{index}" for index in range(5) if namespace.phase(f"alpha-{index}") != "Running")
    wait_until("the scheduler's reason", lambda: "Insufficient nvidia.com/gpu" in namespace.unschedulable(waiting), 15)
    wait_until("the stranger's reason", lambda: "untolerated taint" in namespace.unschedulable("stranger"), 15)
    nodes = {namespace.node_of(f"alpha-{index}") for index in range(5)}
    assert nodes == {alpha.node, None}
    assert stage.allocations(beta.node) == {}


def test_the_raw_branch_name_is_on_the_daemonset(branches, stage):
    for branch, raw in zip(branches, ("feat/alpha", "feat_beta"), strict=True):
        values = yaml.safe_load(branch.file.read_text())
        daemonset = stage.daemonset(branch.release)
        assert daemonset["metadata"]["annotations"]["gpu-sim.io/branch-name"] == raw
        assert daemonset["metadata"]["labels"]["gpu-sim.io/branch"] == values["branch"]["slug"]
