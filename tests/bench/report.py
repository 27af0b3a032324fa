# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks.md: one table and the machine that it was taken on. Called by `python -m tests.bench`."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterable
from pathlib import Path

from tests.bench.library import NAMES, Figure


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}".removesuffix(".0")


def machine() -> str:
    """What figures depend on, in one line."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} × {model}, {memory:.0f} GiB, Linux {platform.release()}, {platform.machine()}"


def table(figures: Iterable[Figure], other: str | None) -> list[str]:
    if other is None:
        return ["| | gpu-sim |", "|---|---:|", *(f"| {NAMES[one.name]} | {number(one.ours)} |" for one in figures)]
    rows = (
        f"| {NAMES[one.name]} | {number(one.ours)} | {number(one.other)} | {number(one.ratio)} |" for one in figures
    )
    return [f"| | gpu-sim | {other} | times |", "|---|---:|---:|---:|", *rows]


def pairs(rows: Iterable[tuple[str, str]]) -> list[str]:
    return ["| | |", "|---|---:|", *(f"| {what} | {value} |" for what, value in rows)]


def runs(rows: list[list[str]]) -> list[str]:
    """One column for each run."""
    columns = len(rows[0]) - 1
    head = " | ".join(["", *(f"run {number + 1}" for number in range(columns))])
    return [f"|{head} |", f"|---|{'---:|' * columns}", *(f"| {' | '.join(row)} |" for row in rows)]


def document(sections: dict[str, list[str]], today: datetime.date | None = None) -> str:
    """The whole page."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Nothing here is a test: figures of another or a busy machine differ; the ratio",
        "of two columns of one run does not.",
        "",
        f"Taken {today or datetime.date.today()} on {machine()}.",
    ]
    for title, rows in sections.items():
        lines += ["", f"## {title}", "", *rows]
    return "\n".join(lines) + "\n"
