# SPDX-License-Identifier: Apache-2.0
"""From nothing to usable GPUs, with its parts: an embedded cluster as `make up` makes it, another values file, the end.

Called by `python -m tests.bench`. Needs what `make up` needs; a warm cache, since upstream's programs are built once.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from tests.harness import providers
from tests.harness.progress import Progress, took
from tests.harness.runs import Run
from tests.harness.up import Options, Up
from tests.harness.versions import CHECKOUT

NAME = "bench"
BEFORE, AFTER = "a100-x4.yaml", "h100-x8.yaml"


def available_mib() -> int:
    """What the machine could still give."""
    return int(re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())[1]) // 1024


def _up(values: str, progress: Progress) -> float:
    started = time.monotonic()
    up = Up(Options(NAME, provider="embedded", nodes=1, values=CHECKOUT / "values" / values), progress)
    cluster = up.cluster()
    up.release(cluster)
    up.finish(cluster)
    return time.monotonic() - started


def _down(progress: Progress) -> float:
    started = time.monotonic()
    run = Run(NAME)
    run.lock()
    providers.destroy(run, progress)
    return time.monotonic() - started


def measure(progress: Progress) -> list[tuple[str, str]]:
    """What was measured and its value, in the order of a user's steps. Nothing is left running."""
    rows: list[tuple[str, str]] = []
    memory = available_mib()
    parts = Progress()
    try:
        rows.append(("`make up`: one node, 4 GPUs, a pod on one of them", took(_up(BEFORE, parts))))
        rows += [(f"– {title}", took(seconds)) for title, seconds in parts.times.items()]
        rows.append(("memory of the cluster", f"{memory - available_mib():,} MiB"))
        changed = took(_up(AFTER, Progress()))
        rows.append((f"`make up VALUES=values/{AFTER}`: 8 GPUs of another model instead", changed))
    finally:
        down = _down(progress)
    rows.append(("`make down`", took(down)))
    return rows
