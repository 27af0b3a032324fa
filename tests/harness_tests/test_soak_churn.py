# SPDX-License-Identifier: Apache-2.0
"""The life of a soak's pods, without a cluster."""

from __future__ import annotations

import pytest

from tests.harness.soak.churn import NAMESPACE, PATIENCE_S, Churn, is_given, manifest

pytestmark = pytest.mark.unit


class World:
    """An API with pods, and a clock."""

    def __init__(self):
        self.pods, self.now, self.deleted = {}, 0.0, []
        self.churn = Churn(self, lambda: list(self.pods.values()), lambda: self.now)

    def create(self, item: dict) -> None:
        self.pods[item["metadata"]["name"]] = {**item, "status": {"phase": "Pending"}}

    def delete(self, version, kind, name, namespace, deadline_s):
        assert (version, kind, namespace, deadline_s) == ("v1", "Pod", NAMESPACE, None)
        self.deleted.append((name, self.now))

    def at(self, now: float, **phases: str) -> None:
        for name, phase in phases.items():
            self.pods[name.replace("_", "-")]["status"] = {"phase": phase}
        self.now = now
        self.churn.tend()


def test_a_pod_lives_from_when_it_runs():
    world = World()
    world.churn.create(2, 5.0, False)
    world.at(3)
    world.at(4, pod_1="Running")
    world.at(8.9)
    assert world.deleted == []
    world.at(9)
    world.at(10)
    assert (world.deleted, world.churn.ran, world.churn.living) == ([("pod-1", 9)], 1, 1)
    world.pods.clear()
    world.at(11)
    assert world.churn.living == 0


def test_a_pod_that_is_not_seen_yet_is_not_taken_for_gone():
    world = World()
    world.churn.create(1, 5.0, False)
    made = world.pods.pop("pod-1")
    world.at(0.5)
    world.pods["pod-1"] = made
    world.at(1, pod_1="Running")
    assert world.churn.ran == 1


def test_a_pod_that_ended_by_itself_has_run_and_stays_for_its_time():
    world = World()
    world.churn.create(1, 5.0, True)
    world.at(1, pod_1="Succeeded")
    world.at(2)
    assert (world.churn.ran, world.deleted) == (1, [])
    world.at(6)
    assert world.deleted == [("pod-1", 6)]


def test_a_pod_without_gpus_is_not_waited_for_for_ever():
    world = World()
    world.churn.create(12, 5.0, False)
    world.at(PATIENCE_S - 0.1)
    assert world.deleted == []
    world.at(PATIENCE_S)
    world.at(PATIENCE_S + 1, pod_1="Running")
    assert (world.churn.waited, world.churn.ran, world.deleted) == (1, 0, [("pod-1", PATIENCE_S)])


@pytest.mark.parametrize(
    ("reason", "refused", "failed"), [("UnexpectedAdmissionError", 1, 0), ("Evicted", 0, 1), ("", 0, 1)]
)
def test_a_pod_that_failed_goes_at_once_and_has_not_run(reason, refused, failed):
    world = World()
    world.churn.create(1, 5.0, False)
    world.pods["pod-1"]["status"] = {"phase": "Failed", "reason": reason}
    world.at(1)
    counts = (world.churn.refused, world.churn.failed, world.churn.ran)
    assert (counts, world.deleted) == ((refused, failed, 0), [("pod-1", 1)])


def test_what_a_pod_asks_for():
    made = manifest("p", 4, ends=True)["spec"]["containers"][0]
    assert made["resources"] == {"limits": {"nvidia.com/gpu": 4}}
    assert made["args"] == ["nvidia-smi", "-L"] and "args" not in manifest("p", 4, ends=False)["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("namespace", "node", "phase", "given"),
    [(NAMESPACE, "n1", "Pending", True), (NAMESPACE, "n1", "Running", False), (NAMESPACE, None, "Pending", False),
     ("other", "n1", "Pending", False)],
)  # fmt: skip
def test_an_allocation_is_going_on_between_scheduler_and_start(namespace, node, phase, given):
    spec = {"nodeName": node} if node else {}
    assert is_given({"metadata": {"namespace": namespace}, "spec": spec, "status": {"phase": phase}}) is given
