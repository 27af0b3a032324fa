# SPDX-License-Identifier: Apache-2.0
"""From snapshots in the order of time to violations: what a rule finds and what outlasts its time to settle.

Called by watch. The clock is the caller's, so tests need not wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.harness.audit.model import Snapshot
from tests.harness.audit.rules import Rule
from tests.harness.audit.settle import SETTLE, SIGHTINGS


class Violation(NamedTuple):
    rule: str
    sentence: str
    at: str  # when it was first seen, as a clock on the wall shows it

    def __str__(self) -> str:
        return f"{self.sentence} at {self.at}"


@dataclass
class _Open:
    since: float
    at: str
    sightings: int = 0
    told: bool = False


@dataclass
class Judge:
    rules: Mapping[Rule, float] = field(default_factory=lambda: SETTLE)
    violations: list[Violation] = field(default_factory=list)
    checks: int = 0
    seen: set[str] = field(default_factory=set)  # pods with devices
    allocations: set[tuple] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)  # pods that a kubelet did not let in
    _open: dict[tuple, _Open] = field(default_factory=dict)

    def look(self, snapshot: Snapshot, now: float, clock: str) -> list[Violation]:
        """The violations that are proven by this snapshot, for the first time."""
        self.checks += 1
        self._count(snapshot)
        found = []
        still: dict[tuple, _Open] = {}
        for rule, settle_s in self.rules.items():
            for finding in rule(snapshot):
                key = (rule.__name__, *finding.key)
                case = still[key] = self._open.get(key) or _Open(now, clock)
                case.sightings += 1
                lasted = now - case.since >= settle_s and (not settle_s or case.sightings >= SIGHTINGS)
                if lasted and not case.told:
                    case.told = True
                    found.append(Violation(rule.__name__, finding.sentence, case.at))
        self._open = still
        self.violations += found
        return found

    @property
    def unsettled(self) -> int:
        """Findings that are not old enough to be held against anybody."""
        return sum(not case.told for case in self._open.values())

    def _count(self, snapshot: Snapshot) -> None:
        pods = snapshot.pod()
        self.refused.update({pod.key: pod.refused for pod in snapshot.pods if pod.refused})
        self.seen.update(pod.uid for pod in snapshot.pods if pod.asks)
        for reading in snapshot.readings:
            for grant in reading.grants or ():
                uid = pods[grant.pod].uid if grant.pod in pods else grant.pod
                self.allocations.update((uid, grant.container, device) for device in grant.ids)


def by_rule(rules: Iterable[Rule], violations: Iterable[Violation]) -> dict[str, list[Violation]]:
    """Every rule, with its violations or none."""
    found: dict[str, list[Violation]] = {rule.__name__: [] for rule in rules}
    for violation in violations:
        found[violation.rule].append(violation)
    return found
