# SPDX-License-Identifier: Apache-2.0
"""Parts of a soak without a cluster: the life of its pods, who does what in which order, and what counts as growth."""

from __future__ import annotations

import os
import threading
from types import SimpleNamespace

import pytest

from tests.harness import control
from tests.harness.embedded import process
from tests.harness.soak import kills, memory, workers
from tests.harness.soak.churn import NAMESPACE, PATIENCE_S, Churn, manifest
from tests.harness.soak.memory import GROWTH, GROWTH_KIB, Sample, trends
from tests.harness.soak.plan import Action
from tests.harness.soak.run import PODS_PER_MINUTE, Soak

pytestmark = pytest.mark.unit


# ---- pods ----
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


@pytest.mark.parametrize(("reason", "refused", "failed"), [("UnexpectedAdmissionError", 1, 0), ("", 0, 1)])
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


# ---- workers ----
@pytest.fixture
def crew(monkeypatch):
    told, asked = [], []
    made = workers.Workers("the cluster", lambda action: asked.append(("upgrade", *action.words)), told.append)
    monkeypatch.setattr(kills, "kill", lambda cluster, node, victim: asked.append((cluster, node, victim)))
    return SimpleNamespace(workers=made, told=told, asked=asked)


def test_actions_go_to_whom_they_concern_and_are_counted(crew, monkeypatch):
    monkeypatch.setattr(control, "ctl", lambda cluster, node, words, timeout: crew.asked.append((node, *words)))
    for action in (
        Action(1, "fault", "n1", ("lost", "--gpu", "3")), Action(2, "repair", "n1", ("clear", "--gpu", "3")),
        Action(3, "kill", "n2", ("agent",)), Action(4, "upgrade", "", ("memoryMB=7",)),
    ):  # fmt: skip
        crew.workers.put(action)
    assert crew.workers.end(10) == []
    assert crew.workers.done == {"fault": 1, "repair": 1, "kill agent": 1, "upgrade": 1}
    mine = [one for one in crew.asked if one[0] == "n1"]
    assert mine == [("n1", "lost", "--gpu", "3"), ("n1", "clear", "--gpu", "3")]
    assert ("the cluster", "n2", "agent") in crew.asked and ("upgrade", "memoryMB=7") in crew.asked


def test_a_repair_is_begun_again_and_wrong_usage_is_not(crew, monkeypatch):
    answers = [control.ControlError("killed", 137), control.ControlError("no pod"), "done"]

    def ctl(cluster, node, words, timeout):
        crew.asked.append(words)
        if words[0] != "clear":
            raise control.ControlError("no such option", 2)
        if isinstance(answer := answers.pop(0), Exception):
            raise answer

    monkeypatch.setattr(control, "ctl", ctl)
    crew.workers.put(Action(1, "repair", "n1", ("clear",)))
    crew.workers.put(Action(2, "fault", "n1", ("xid", "--wrong")))
    assert crew.workers.end(10) == ["+2.0s fault n1 xid --wrong: no such option"]
    assert crew.workers.done == {"repair": 1}
    assert len(crew.asked) == 4
    assert "+2.0s fault n1 xid --wrong: FAILED: no such option" in crew.told


def test_work_that_does_not_end_is_told(crew, monkeypatch):
    forever = threading.Event()
    monkeypatch.setattr(kills, "kill", lambda *words: forever.wait(20))
    crew.workers.put(Action(1, "kill", "n1", ("agent",)))
    assert crew.workers.end(0.3) == ["kill n1: did not end within 0.3 s; 0 things were not begun"]
    forever.set()


def test_the_first_process_of_a_container(tmp_path):
    for pid, group in ((os.getpid(), "0::/pod/abc"), (os.getpid() + 100000, "0::/pod/abc"), (1, "0::/pod/other")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cgroup").write_text(group)
    (tmp_path / "self").mkdir()
    assert kills.first_process("abc", tmp_path) == process.of(os.getpid())
    assert kills.first_process("def", tmp_path) is None


# ---- memory ----
def samples(first: int, last: int, node="n1", program="agent", **more) -> list[Sample]:
    return [Sample(at, node, program, first if at < 300 else last, **more) for at in range(0, 600, 50)]


@pytest.mark.parametrize(
    ("last", "flat"),
    [(20000, True), (15000, True), (20000 + int(20000 * GROWTH) + GROWTH_KIB, True), (26000, False)],
)
def test_growth_beyond_the_tolerance(last, flat):
    (trend,) = trends(samples(20000, last), 600)
    assert (trend.first_kib, trend.last_kib, trend.flat) == (20000, last, flat)
    assert str(trend) == f"agent on n1 grew from 20000 to {last} KiB"


def test_one_sample_that_is_out_of_line_is_no_growth():
    mine = samples(20000, 20000)
    mine[-1] = mine[-1]._replace(kib=90000)
    assert trends(mine, 600)[0].flat


def test_programs_are_told_apart_and_young_or_few_ones_left_out():
    all_of = [*samples(1, 2), *samples(3, 4, program="device-plugin"), *samples(5, 6, node="n2")]
    young = samples(7, 8, node="n3", age_s=2.0)
    few = [sample for sample in samples(9, 10, node="n4") if sample.at < 450]
    found = trends([*all_of, *young, *few], 600)
    assert [(t.node, t.program, t.first_kib, t.last_kib) for t in found] == [
        ("n1", "agent", 1, 2), ("n1", "device-plugin", 3, 4), ("n2", "agent", 5, 6),
    ]  # fmt: skip


def test_the_memory_of_a_process():
    assert memory.resident(os.getpid()) > 1000 and memory.age_s(os.getpid()) > 0
    assert memory.resident(2**22 + 1) == 0 and memory.age_s(2**22 + 1) == 0


# ---- the verdict ----
def test_a_soak_that_did_too_little_is_red(tmp_path):
    cluster = SimpleNamespace(nodes=["n1", "n2"], provider="kubeconfig", kube=None)
    soak = Soak(cluster, 3, 60, tmp_path / "log", say=lambda text: None)
    soak.churn.ran = PODS_PER_MINUTE - 1
    soak.workers.done.update({"kill agent": 2, "kill kubelet": 1, "kill containerd": 2})
    assert soak._too_little() == [
        f"{PODS_PER_MINUTE - 1} pods ran in 1 min, at least {PODS_PER_MINUTE} a minute must",
        "device-plugin was killed 0 times of 2",
        "kubelet was killed 1 times of 2",
        "the oracle saw no allocation at all",
    ]
    soak.churn.ran += 1
    soak.workers.done.update({"kill device-plugin": 2, "kill kubelet": 1})
    soak.audit.judge.allocations.add(("u", "c", "GPU-1"))
    assert soak._too_little() == []
    assert soak.summary().splitlines()[1] == f"  pods run                            {PODS_PER_MINUTE}"
    assert soak.summary().splitlines()[-1] == "seed 3: run it again with SEED=3 SECONDS=60"
