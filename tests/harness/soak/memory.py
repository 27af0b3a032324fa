# SPDX-License-Identifier: Apache-2.0
"""Does a program of ours grow? Resident memory of each over time; the last third of a soak against the first. Pure,
but for `resident`.

Called by run. On nodes whose programs are killed and replaced, growth within one life does not show; on the steady node
it does.
"""

from __future__ import annotations

import os
from pathlib import Path
from statistics import median
from typing import NamedTuple

# A Go program's resident memory moves with its garbage collector by some MiB of some tens; a leak of one
# reconcile (a few KiB, every 3 s) is beyond this within ten minutes, one of a page at each NVML call long before.
GROWTH, GROWTH_KIB = 0.15, 2048
YOUNG_S = 10.0  # until then a program is still setting itself up
FEWEST = 3  # samples in a third; with fewer nothing can be said


class Sample(NamedTuple):
    at: float
    node: str
    program: str
    kib: int
    age_s: float = 1e9


class Trend(NamedTuple):
    node: str
    program: str
    first_kib: int
    last_kib: int

    @property
    def flat(self) -> bool:
        return self.last_kib <= self.first_kib * (1 + GROWTH) + GROWTH_KIB

    def __str__(self) -> str:
        return f"{self.program} on {self.node} grew from {self.first_kib} to {self.last_kib} KiB"


def resident(pid: int) -> int:
    """KiB; 0 when the process has ended."""
    try:
        rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(row.split()[1]) for row in rows if row.startswith("VmRSS:")), 0)


def trends(samples: list[Sample], seconds: float) -> list[Trend]:
    """One for each program of a node of which enough was seen in both thirds."""
    found = []
    grown = [sample for sample in samples if sample.age_s >= YOUNG_S and sample.kib]
    for node, program in sorted({(sample.node, sample.program) for sample in grown}):
        mine = [sample for sample in grown if (sample.node, sample.program) == (node, program)]
        first = [sample.kib for sample in mine if sample.at < seconds / 3]
        last = [sample.kib for sample in mine if sample.at >= seconds * 2 / 3]
        if min(len(first), len(last)) >= FEWEST:
            found.append(Trend(node, program, round(median(first)), round(median(last))))
    return found


def age_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return float(Path("/proc/uptime").read_text().split()[0]) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
