# SPDX-License-Identifier: Apache-2.0
# The one form in which every problem is told: `<file>:<path>: <what is wrong>, got <value>; <what to do>`.
# Raised by all modules with all problems at once; only cli.py prints it. A line never holds a raw control character,
# since branch names and files come from other people and the line goes to a terminal or a CI log.

from __future__ import annotations

import json
from dataclasses import dataclass

from generator.quoting import escape_unprintable

# Stands for "no value to show": None is a value (YAML's null).
NOTHING = object()
LONGEST_VALUE = 120


@dataclass(frozen=True)
class Problem:
    file: str
    path: str
    what: str
    todo: str
    value: object = NOTHING

    def __str__(self) -> str:
        where = f"{self.file}:{self.path}" if self.path else self.file
        got = "" if self.value is NOTHING else f", got {shown(self.value)}"
        return escape_unprintable(f"{where}: {self.what}{got}; {self.todo}")


class InputError(Exception):
    """What the user gave is wrong. Carries every problem found, never only the first."""

    def __init__(self, *problems: Problem):
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def shown(value: object) -> str:
    """A value as YAML or JSON would write it, so that "8" (a string) and 8 look different."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
