# SPDX-License-Identifier: Apache-2.0
"""What the first `make up` on a machine does before it starts anything: a clone, an empty cache, and nothing kept.

Called by `python -m tests.bench --cold`. It takes minutes, and what it downloads depends on the network.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path

from tests.harness import command
from tests.harness.progress import Progress, took
from tests.harness.versions import CHECKOUT

STEP = re.compile(r"  \[\d+/\d+\] (\S.*?) +done +(\d.*)")  # as progress prints one of the upstream programs


def steps(lines: list[str]) -> list[tuple[str, str]]:
    """The parts that a command told of."""
    return [(f"– {found[1]}", found[2]) for found in map(STEP.fullmatch, lines) if found]


def measure(progress: Progress) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpu-sim-cold-") as folder:
        checkout = Path(folder) / "checkout"
        command.run(["git", "clone", "--quiet", CHECKOUT, checkout])
        extra = {"GPU_SIM_CACHE": str(Path(folder) / "cache"), "PIP_NO_CACHE_DIR": "1", "CI": "1"}

        def part(title: str, argv: list[object]) -> list[str]:
            lines: list[str] = []
            with progress.step(title):
                command.follow(argv, lines.append, cwd=checkout, extra=extra)
            rows.append((title, took(progress.times[title])))
            return lines

        system = Path(sys.base_prefix, "bin", "python3")
        python = part("Python environment", [system, "tests/harness/bootstrap.py"])[-1]
        rows += steps(part("upstream's programs", [python, "-m", "tests.harness.toolchain"]))
        part("library, programs, images", [python, "-m", "tests.harness.images", "build"])
    return [("before the first cluster", took(time.monotonic() - started)), *rows]
