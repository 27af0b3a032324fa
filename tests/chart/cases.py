# SPDX-License-Identifier: Apache-2.0
"""tests/chart/cases as data: see its README for the form. Called by test_cases.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"
KEYS = ("Scenario", "judge", "path", "message", "fix")


@dataclass
class Mistake:
    path: str
    message: str = ""
    fix: str = ""


@dataclass
class Case:
    file: Path
    scenario: str = ""
    judge: str = ""
    mistakes: list[Mistake] = field(default_factory=list)


def read(file: Path) -> Case:
    case = Case(file)
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("# ") or line.startswith("# SPDX-"):
            continue
        key, _, value = line[2:].partition(": ")
        assert key in KEYS, f"{file}: no such line, got {line!r}"
        if key == "path":
            case.mistakes.append(Mistake(value))
        elif key in ("message", "fix"):
            setattr(case.mistakes[-1], key, value)
        else:
            setattr(case, key.lower(), value)
    return case


def positive() -> list[Case]:
    return [read(file) for file in sorted(FOLDER.glob("positive/*.yaml"))]


def negative() -> list[Case]:
    return [read(file) for file in sorted(FOLDER.glob("negative/*.yaml"))]
