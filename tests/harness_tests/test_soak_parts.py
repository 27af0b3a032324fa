# SPDX-License-Identifier: Apache-2.0
"""Parts of a soak without a cluster: who does what in which order, what counts as growth, and the verdict."""

from __future__ import annotations

import os
import threading
from types import SimpleNamespace

import pytest

from tests.harness import control
from tests.harness.embedded import process
from tests.harness.soak import command, kills, memory, workers
from tests.harness.soak.memory import GROWTH, GROWTH_KIB, Sample, trends
from tests.harness.soak.plan import Action
from tests.harness.soak.run import PODS_PER_MINUTE, Soak

pytestmark = pytest.mark.unit


# ---- workers ----
@pytest.fixture
def crew(monkeypatch):
    told, asked = [], []
    made = workers.Workers(
        "the cluster", lambda action: asked.append(("upgrade", *action.words)), told.append,
        lambda node: ["allocation"] if node == "n2" else [],
    )  # fmt: skip
    monkeypatch.setattr(kills, "kill", lambda cluster, node, victim: asked.append((cluster, node, victim)))
    return SimpleNamespace(workers=made, told=told, asked=asked)


def test_actions_go_to_whom_they_concern_and_are_counted(crew, monkeypatch):
    def ctl(cluster, node, words, timeout):
        if words[0] == "lost":
            threading.Event().wait(0.2)  # what is slow is still before what was planned after it
        crew.asked.append((node, *words))

    monkeypatch.setattr(control, "ctl", ctl)
    for action in (
        Action(1, "fault", "n1", ("lost", "--gpu", "3")), Action(2, "repair", "n1", ("clear", "--gpu", "3")),
        Action(3, "kill", "n2", ("agent",)), Action(4, "upgrade", "", ("memoryMB=7",)),
    ):  # fmt: skip
        crew.workers.put(action)
    assert crew.workers.end(10) == []
    assert crew.workers.done == {
        "fault": 1, "repair": 1, "kill agent": 1, "upgrade": 1, "kill during allocation": 1,
    }  # fmt: skip
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
def test_a_soak_says_which_device_plugin_it_is_about(monkeypatch, capsys):
    monkeypatch.setattr(command.preflight, "require", lambda **options: None)
    monkeypatch.setattr(command.up, "archives", lambda *words: [])
    monkeypatch.setattr(command.provider, "start", lambda *words, **options: 1 / 0)
    monkeypatch.setenv("DEVICE_PLUGIN_IMAGE_ARCHIVE", __file__)
    with pytest.raises(ZeroDivisionError):
        command.run(5, 7, "soak-words", SimpleNamespace(say=print))
    assert capsys.readouterr().out.splitlines() == [
        "gpu-sim: soak of 5 s on 3 nodes, SEED=7",
        f"gpu-sim: device plugin: NVIDIA's image, from {__file__}",
    ]


def test_a_soak_that_did_too_little_is_red(tmp_path):
    cluster = SimpleNamespace(nodes=["n1", "n2"], provider="kubeconfig", kube=None)
    soak = Soak(cluster, 3, 60, tmp_path / "log", say=lambda text: None)
    soak.churn.made, soak.churn.ran, soak.churn.refused = 44, 21, PODS_PER_MINUTE - 1 - 21
    soak.workers.done.update({"kill agent": 2, "kill kubelet": 1, "kill containerd": 2})
    assert soak._too_little() == [
        f"{PODS_PER_MINUTE - 1} pods ran or were refused in 1 min, at least {PODS_PER_MINUTE} a minute must",
        "21 of 44 pods ran, at least 50% must",
        "device-plugin was killed 0 times of 2",
        "kubelet was killed 1 times of 2",
        "the oracle saw no allocation at all",
    ]
    soak.churn.ran = 22
    soak.workers.done.update({"kill device-plugin": 2, "kill kubelet": 1})
    soak.audit.judge.allocations.add(("u", "c", "GPU-1"))
    assert soak._too_little() == []
    assert soak.summary().splitlines()[1] == "  pods run                            22"
    assert soak.summary().splitlines()[-1] == "seed 3: run it again with SEED=3 SECONDS=60"
    assert soak._alive() == (
        "60 s are planned; pods run 22, refused 13, allocations checked 1, checks 0, faults 0, repairs 0, kills 8, "
        "upgrades 0, violations 0, problems 0"
    )
