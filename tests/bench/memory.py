# SPDX-License-Identifier: Apache-2.0
"""Memory by program, of everything below given processes: proportional shares, so that what programs share counts once.

Called by cluster, with the first processes of an embedded cluster's machines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.harness.embedded import process

SMALL_KIB = 1024  # programs below this are one row together


def below(pids: Iterable[int]) -> list[int]:
    """They and their descendants."""
    found = list(pids)
    for pid in found:
        found.extend(process.children(pid))
    return found


def kib(pid: int) -> int:
    """Its proportional share; 0 for one that has ended meanwhile, and for a zombie."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(re.search(r"^Pss: +(\d+) kB", text, flags=re.MULTILINE)[1])


def program(pid: int) -> str:
    try:
        return Path(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()).name
    except (FileNotFoundError, ProcessLookupError):
        return ""


def by_program(pids: Iterable[int]) -> list[tuple[str, int]]:
    """Program → KiB, the largest first; the small ones together as the last."""
    total: Counter[str] = Counter()
    for pid in below(pids):
        total[program(pid)] += kib(pid)
    large = [(name, size) for name, size in total.most_common() if size >= SMALL_KIB]
    return [*large, ("all others", sum(size for size in total.values() if size < SMALL_KIB))]
