# SPDX-License-Identifier: Apache-2.0
"""From nothing to usable GPUs, with its parts: an embedded cluster as `make up` makes it, other values, the end.

Called by `python -m tests.bench`. Needs what `make up` needs; a warm cache, since upstream's programs are built once.
Made twice, so that a reader sees how far figures of one machine differ.
"""

from __future__ import annotations

import time

from tests.bench import memory
from tests.harness import providers
from tests.harness.progress import Progress, took
from tests.harness.runs import Run
from tests.harness.up import Options, Up
from tests.harness.versions import CHECKOUT

NAME = "bench"
BEFORE, AFTER = "a100-x4.yaml", "h100-x8.yaml"
RUNS = 2


def _up(values: str) -> dict[str, float]:
    """Its steps with their seconds, the whole as the first."""
    started, parts = time.monotonic(), Progress()
    up = Up(Options(NAME, provider="embedded", nodes=1, values=CHECKOUT / "values" / values), parts)
    cluster = up.cluster()
    up.release(cluster)
    up.finish(cluster)
    return {"all": time.monotonic() - started, **parts.times}


def _down(progress: Progress) -> float:
    started = time.monotonic()
    run = Run(NAME)
    run.lock()
    providers.destroy(run, progress)
    return time.monotonic() - started


def until_usable(parts: dict[str, float]) -> float:
    """From helm's start to the moment at which the kubelet has all GPUs."""
    return sum(seconds for title, seconds in parts.items() if title.startswith("helm ") or title.endswith(" usable"))


def _memory() -> list[tuple[str, int]]:
    run = Run(NAME)
    run.load()
    return memory.by_program(machine["holder"][0] for machine in run.state["machines"].values())


def once(progress: Progress) -> tuple[dict[str, float], list[tuple[str, int]]]:
    """Name → seconds in the order of a user's steps, and the memory by program. Nothing is left running."""
    try:
        made = _up(BEFORE)
        used = _memory()
        changed = _up(AFTER)
    finally:
        down = _down(progress)
    times = {"`make up`: one node, 4 GPUs, a pod on one of them": made.pop("all")}
    times |= {f"– {title}": seconds for title, seconds in made.items()}
    times["helm install → 4 GPUs usable"] = until_usable(made)
    times[f"helm upgrade to values/{AFTER} → 8 GPUs of another model usable"] = until_usable(changed)
    times["`make down`"] = down
    return times, used


def measure(progress: Progress) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Rows of times, one column for each run; and the memory of the last."""
    found = [once(progress) for _ in range(RUNS)]
    rows = [[name, *(took(times[name]) for times, _ in found)] for name in found[0][0]]
    used = found[-1][1]
    total = ("all", sum(size for _, size in used))
    return rows, [(name, f"{size / 1024:,.1f} MiB") for name, size in [total, *used]]
