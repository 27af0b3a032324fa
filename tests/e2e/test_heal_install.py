# SPDX-License-Identifier: Apache-2.0
"""Installs that are cut short: helm is killed, the pod is deleted, the release leaves before the agent is there."""

import json
import subprocess
import time

import pytest

from tests.e2e import accidents
from tests.e2e.healed import healed
from tests.e2e.host import ROOT
from tests.e2e.stage import CHART, LABEL
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster

THREE = {"gpuSim": {"deviceCount": 3, "memoryMB": 26006}}


@pytest.fixture
def bare(stage, node_a):
    """The name of the release that a test installs on a node without one; it is gone afterwards."""
    stage.clear(node_a)
    release = f"on-{node_a}"
    yield release
    stage.standing.pop(node_a, None)
    if stage.helm.status(release, "default"):
        stage.helm.uninstall(release, "default")
    stage.clear(node_a)


def kill_helm(stage, release: str, values: dict, folder, moment: float) -> None:
    """`helm install` or `upgrade`, ended without warning after `moment` seconds unless it is through by then."""
    file = folder / "values.json"
    file.write_text(json.dumps(values))
    verb = "upgrade" if stage.helm.status(release, "default") else "install"
    argv = [stage.cluster.programs["helm"], "--kubeconfig", stage.cluster.kubeconfig, verb, release, CHART]
    argv += ["-f", file, "-n", "default", "--wait", "--timeout=60s"]
    helm = subprocess.Popen([str(word) for word in argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        helm.wait(moment)
    except subprocess.TimeoutExpired:
        helm.kill()
        helm.wait()


def test_helm_is_killed_at_several_moments_and_the_next_try_is_right(bare, stage, node_a, namespace, tmp_path):
    """Each try finds what the one before left: nothing, a record, some objects, pods, or all of it."""
    dice = accidents.seeded()
    values = {"nodeSelector": {**LABEL, "kubernetes.io/hostname": node_a}, **THREE}
    states = []
    for moment in sorted(dice.uniform(0.1, 1.5) for _ in range(4)):
        kill_helm(stage, bare, values, tmp_path, moment)
        states.append((round(moment, 2), stage.helm.heal(bare, "default")))
    print(f"(seconds, state after putting right): {states}")
    stage.install(bare, node_a, THREE)
    stage.standing[node_a] = (bare, THREE)
    healed(stage, node_a, THREE, namespace)


def test_a_pod_deleted_between_its_containers(bare, stage, node_a, namespace):
    """Before and after the installer has claimed the node, again and again; the last one is left alone."""
    stage.install(bare, node_a, THREE)
    owner = stage.host(node_a).path(f"{ROOT}/owner")
    for _ in range(2):
        seen = wait_until("a pod", lambda: _pods(stage, bare), 30)
        mark = owner.stat().st_mtime_ns if owner.exists() else 0
        wait_until(
            "the installer to claim the node",
            lambda mark=mark: owner.exists() and owner.stat().st_mtime_ns != mark, 30,
        )  # fmt: skip
        for name in seen:
            stage.kube.delete("v1", "Pod", name, "gpu-sim", deadline_s=None)
        wait_until("another pod", lambda seen=seen: _pods(stage, bare) - seen, 40)
    stage.standing[node_a] = (bare, THREE)
    healed(stage, node_a, THREE, namespace)


def _pods(stage, release: str) -> set[str]:
    return {p["metadata"]["name"] for p in stage.pods_of(release) if "deletionTimestamp" not in p["metadata"]}


@pytest.mark.parametrize("mark", ["owner", "driver/usr/lib64", "driver/etc/gpu-sim/device-plugin.yaml"])
def test_a_release_that_leaves_while_it_is_being_installed_leaves_nothing(mark, bare, stage, node_a):
    """helm uninstall at the moment when this file appears: no agent may have seen the node yet."""
    there = stage.host(node_a).path(ROOT) / mark
    stage.install(bare, node_a, THREE)
    # The moment is a few milliseconds long.
    wait_until(f"{mark} to appear", there.exists, 30, sleep=lambda _: time.sleep(0.001))
    stage.helm.uninstall(bare, "default", wait=False)
    stage.clear(node_a)
    wait_until(
        "the release's objects to be gone", lambda: not stage.objects_of(bare), 30, seen=lambda: stage.objects_of(bare)
    )


def test_a_namespace_deleted_instead_of_an_uninstall(bare, stage, node_a):
    stage.install(bare, node_a, {**THREE, "namespace": {"name": "heal-me"}})
    stage.wait_gpus(node_a, 3)
    stage.kube.delete("v1", "Namespace", "heal-me", deadline_s=60)
    stage.clear(node_a)
