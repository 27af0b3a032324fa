# SPDX-License-Identifier: Apache-2.0
"""What a soak does and when: a pure function of seed, seconds and nodes, so that a red run can be run again.

Called by run. The last node is steady: neither upgraded, nor are its plugin and agent killed, so that their memory can
be watched for the whole time. Everything else happens to all.
"""

from __future__ import annotations

import random
from typing import NamedTuple

GPUS = 12  # on each node: above, the plugin's own allocator stalls (chart README)
POD_EVERY_S = 1.0
SIZES = {1: 10, 2: 6, 4: 3, GPUS: 1}  # GPUs of a pod, and how often
LIFE_S = (2.0, 14.0)
ENDS = 0.3  # the share of pods that end by themselves
UPGRADE_EVERY_S, FIRST_UPGRADE_S = 60.0, 30.0
MEMORIES_MIB = (12288, 23456, 34567)
KILL_EVERY_S = 30.0  # of each of the four: 20 in 600 s
OURS, NODES_OWN = ("device-plugin", "agent"), ("kubelet", "containerd")
DURING_UPGRADE_S = 10.0  # every fourth kill comes so soon after an upgrade began
FAULT_EVERY_S, BROKEN_S = (18.0, 36.0), (3.0, 14.0)
QUIET_S = 12.0  # nothing new at the end
FATAL_XIDS, IGNORED_XIDS = (48, 62, 63, 74, 79, 94, 95, 119), (13, 31, 43, 45, 68, 109)


class Action(NamedTuple):
    at: float
    what: str  # pod, fault, repair, kill, upgrade
    node: str = ""  # empty: the scheduler's choice, or no one node's
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([f"+{self.at:.1f}s", self.what, *([self.node] if self.node else []), *self.words])


def plan(seed: int, seconds: float, nodes: list[str]) -> list[Action]:
    """In the order of time. Kinds draw from generators of their own: a change to one leaves the others as they were."""
    until = max(seconds - QUIET_S, seconds / 2)
    upgrades = _upgrades(random.Random(f"{seed} upgrades"), until)
    found = [
        *upgrades,
        *_pods(random.Random(f"{seed} pods"), until),
        *_kills(random.Random(f"{seed} kills"), seconds, until, nodes, [action.at for action in upgrades]),
    ]
    for node in nodes:
        found += _faults(random.Random(f"{seed} faults {node}"), until, node)
    return sorted(found)


def _upgrades(draw: random.Random, until: float) -> list[Action]:
    found, at, memory = [], FIRST_UPGRADE_S, 0
    while at < until:
        memory = draw.choice([other for other in MEMORIES_MIB if other != memory])
        found.append(Action(at, "upgrade", "", (f"memoryMB={memory}",)))
        at += UPGRADE_EVERY_S
    return found


def _pods(draw: random.Random, until: float) -> list[Action]:
    found, at = [], 0.0
    while (at := at + draw.uniform(0, 2 * POD_EVERY_S)) < until:
        size = draw.choices(list(SIZES), list(SIZES.values()))[0]
        kind = "ends" if draw.random() < ENDS else "stays"
        found.append(Action(at, "pod", "", (str(size), f"{draw.uniform(*LIFE_S):.1f}", kind)))
    return found


def _kills(draw: random.Random, seconds: float, until: float, nodes: list[str], upgrades: list[float]) -> list[Action]:
    """Each in a stretch of its own, so that one is never waited for by the next, at a random moment of it."""
    found = []
    count = max(1, round(seconds / KILL_EVERY_S))
    for victim in (*OURS, *NODES_OWN):
        among = nodes[:-1] if victim in OURS and len(nodes) > 1 else nodes
        for number in range(count):
            at = (number + draw.random()) * until / count
            if number % 4 == 1 and upgrades:
                at = min(draw.choice(upgrades) + draw.uniform(0, DURING_UPGRADE_S), until)
            found.append(Action(at, "kill", draw.choice(among), (victim,)))
    return found


def _faults(draw: random.Random, until: float, node: str) -> list[Action]:
    """One after the other, each with its repair."""
    found, at = [], draw.uniform(2, FAULT_EVERY_S[0])
    while at < until:
        gpu = str(draw.randrange(GPUS))
        repaired = min(at + draw.uniform(*BROKEN_S), until)
        found.append(Action(at, "fault", node, _fault(draw, gpu)))
        found.append(Action(repaired, "repair", node, ("clear", "--gpu", gpu)))
        at = repaired + draw.uniform(*FAULT_EVERY_S) / 2
    return found


def _fault(draw: random.Random, gpu: str) -> tuple[str, ...]:
    at = ("--gpu", gpu)
    return draw.choice(
        [
            ("xid", *at, str(draw.choice(FATAL_XIDS))),
            ("xid", *at, str(draw.choice(IGNORED_XIDS))),
            ("lost", *at),
            ("ecc", *at, "--corrected", str(draw.randint(1, 99))),
            ("ecc", *at, "--uncorrected", str(draw.randint(1, 9))),
            ("fault", "nvmlDeviceGetTemperature", "UNKNOWN", *at, "--count", str(draw.randint(1, 50))),
            ("fault", "nvmlDeviceGetPowerUsage", "SUCCESS", *at, "--delay", f"{draw.randint(1, 50)}ms"),
            ("set", *at, f"temperature={draw.randint(40, 95)}C"),
            ("throttle", *at, draw.choice(("hw-slowdown", "sw-power-cap"))),
        ]
    )
