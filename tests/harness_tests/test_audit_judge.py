# SPDX-License-Identifier: Apache-2.0
"""When a sentence becomes a violation: at once, or after it has lasted; and what is counted."""

from __future__ import annotations

import pytest

from tests.harness.audit.judge import Judge, by_rule
from tests.harness.audit.model import Gpu, Grant, Node, Pod, Reading, Snapshot
from tests.harness.audit.settle import HEAL_S, NODE_STATUS_S, SETTLE

pytestmark = pytest.mark.unit
TWICE = Snapshot(readings=(Reading("n1", (Grant("a/x", ("GPU-1",)), Grant("b/y", ("GPU-1",)))),))


def node(allocatable: int) -> Snapshot:
    gpus = tuple(Gpu(f"GPU-{i}") for i in range(8))
    return Snapshot(nodes=(Node("n1", True, 8, allocatable),), readings=(Reading("n1", (), gpus),))


def judged(*looks: tuple[float, Snapshot]) -> list[str]:
    judge = Judge()
    for now, snapshot in looks:
        judge.look(snapshot, now, f"12:00:{now:02.0f}")
    return [str(violation) for violation in judge.violations]


def test_a_double_counts_at_once_and_is_told_once():
    assert judged((3, TWICE), (4, TWICE), (5, TWICE)) == ["GPU-1 given to a/x and b/y at 12:00:03"]


def test_what_lasts_counts_with_the_time_when_it_began():
    lasting = HEAL_S + NODE_STATUS_S
    assert judged((0, node(8)), (1, node(0)), (30, node(0)), (lasting, node(0))) == []
    assert judged((0, node(8)), (1, node(0)), (30, node(0)), (lasting + 1, node(0))) == [
        "node n1 Ready with 0 of 8 at 12:00:01"
    ]


def test_what_passes_begins_anew():
    looks = [(t, node(8 if t % 60 == 0 else 0)) for t in range(0, 600, 5)]
    assert judged(*looks) == []


def test_two_looks_far_apart_prove_nothing_between_them():
    assert judged((0, node(0)), (500, node(0))) == []
    assert len(judged((0, node(0)), (500, node(0)), (501, node(0)))) == 1


def test_what_changes_while_it_is_wrong_is_still_the_same():
    told = judged((0, node(0)), (20, node(3)), (40, node(0)), (80, node(2)))
    assert told == ["node n1 Ready with 2 of 8 at 12:00:00"]


def test_young_findings_are_unsettled():
    judge = Judge()
    judge.look(node(0), 0, "")
    assert (judge.unsettled, judge.violations) == (1, [])
    judge.look(node(8), 1, "")
    assert judge.unsettled == 0


def test_what_is_counted():
    pods = (Pod("a", "x", "u1", "n1", asks=2), Pod("b", "y", "u2", "n1"), Pod("c", "z", "u3", "n1", "Failed", asks=1,
            refused="UnexpectedAdmissionError"))  # fmt: skip
    one = Snapshot(pods, (), (Reading("n1", (Grant("a/x", ("GPU-1", "GPU-2"), "c"),)),))
    again = one._replace(pods=(pods[0]._replace(uid="u9"), *pods[1:]))
    judge = Judge()
    for number, snapshot in enumerate((one, one, again)):
        judge.look(snapshot, number, "")
    assert judge.checks == 3
    assert judge.seen == {"u1", "u3", "u9"}
    assert len(judge.allocations) == 4, "a pod of the same name is another pod"
    assert judge.refused == {"c/z": "UnexpectedAdmissionError"}


def test_every_rule_is_reported_even_without_violations():
    judge = Judge()
    judge.look(TWICE, 0, "12:00:03")
    found = by_rule(SETTLE, judge.violations)
    assert set(found) == {rule.__name__ for rule in SETTLE}
    assert [rule for rule, told in found.items() if told] == ["doubled"]
