# SPDX-License-Identifier: Apache-2.0
"""A soak's plan: the same from the same seed, and all that it promises to do is in it."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from tests.harness.soak.plan import (
    DURING_UPGRADE_S,
    GPUS,
    NODES_OWN,
    OURS,
    QUIET_S,
    SIZES,
    Action,
    plan,
)

pytestmark = pytest.mark.unit
NODES = ["n1", "n2", "n3"]
SEEDS = (0, 7, 123456)
# Whoever replays an old seed must get the old plan; a change here is one to be made knowingly.
WRITTEN = [
    "+1.4s pod 1 6.1 stays",
    "+1.9s pod 1 9.8 stays",
    "+2.7s pod 1 6.2 stays",
    "+4.5s pod 2 5.4 stays",
    "+4.9s pod 12 9.5 stays",
    "+5.5s pod 4 5.1 stays",
]


def of(actions: list[Action], what: str) -> list[Action]:
    return [action for action in actions if action.what == what]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_seed_is_the_same_plan(seed):
    assert plan(seed, 600, NODES) == plan(seed, 600, NODES)
    assert plan(seed, 600, NODES) != plan(seed + 1, 600, NODES)


def test_a_plan_that_was_written_down_is_still_the_same():
    assert [str(action) for action in plan(4242, 600, NODES)[:6]] == WRITTEN


@pytest.mark.parametrize("seed", SEEDS)
def test_ten_minutes_have_all_that_is_promised(seed):
    actions = plan(seed, 600, NODES)
    assert len(of(actions, "upgrade")) == 10
    assert Counter(action.words[0] for action in of(actions, "kill")) == dict.fromkeys((*OURS, *NODES_OWN), 20)
    assert {int(action.words[0]) for action in of(actions, "pod")} == set(SIZES)
    assert {action.words[2] for action in of(actions, "pod")} == {"ends", "stays"}
    assert 500 < len(of(actions, "pod")) < 700
    assert {action.words[0] for action in of(actions, "fault")} == {"xid", "lost", "ecc", "fault", "set", "throttle"}
    assert max(action.at for action in actions) <= 600 - QUIET_S
    assert actions == sorted(actions)


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_meet_upgrades_and_spare_the_steady_nodes_programs(seed):
    actions = plan(seed, 600, NODES)
    upgrades = [action.at for action in of(actions, "upgrade")]
    for victim in (*OURS, *NODES_OWN):
        kills = [action for action in of(actions, "kill") if action.words == (victim,)]
        assert sum(any(0 <= kill.at - at <= DURING_UPGRADE_S for at in upgrades) for kill in kills) >= 5
        assert {kill.node for kill in kills} == set(NODES[:2] if victim in OURS else NODES)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_fault_has_its_repair_before_the_next(seed):
    for node in NODES:
        mine = [a for a in plan(seed, 600, NODES) if a.node == node and a.what in ("fault", "repair")]
        assert len(mine) > 20
        for fault, repair in zip(mine[::2], mine[1::2], strict=True):
            assert (fault.what, repair.what) == ("fault", "repair")
            gpu = fault.words[fault.words.index("--gpu") + 1]
            assert repair.words == ("clear", "--gpu", gpu) and 0 <= int(gpu) < GPUS


def test_upgrades_change_something_each_time():
    words = [action.words for action in of(plan(1, 600, NODES), "upgrade")]
    assert all(one != other for one, other in itertools.pairwise(words))


@pytest.mark.parametrize("nodes", [["a"], ["a", "b"]])
def test_a_short_one_has_something_of_everything(nodes):
    actions = plan(5, 75, nodes)
    assert Counter(action.words[0] for action in of(actions, "kill")) == dict.fromkeys((*OURS, *NODES_OWN), 2)
    assert {action.what for action in actions} == {"pod", "fault", "repair", "kill", "upgrade"}
