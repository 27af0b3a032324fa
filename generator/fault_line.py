# SPDX-License-Identifier: Apache-2.0
# A line of gpuSim.faults taken apart: its command, options, other words, and the GPUs that it is about. Called by
# faults.py, which judges what they say.

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

WORDS = 64  # of a line
_OPTIONS = {"nvlink-down": ("--gpu", "--link"), "fault": ("--gpu", "--count", "--delay")}
_OF_THE_AGENT = ("--root", "--plugin-dir", "--proc", "--timeout")

Found = tuple[str, str]  # what is wrong; what to do


@dataclass
class Line:
    """A line taken apart, and what it is about."""

    text: str
    verb: str = ""
    options: dict[str, str] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Board:
    name: str
    gpus: int
    plain: bool  # UUIDs are mock-gpu-N
    memory_mib: int
    facts: dict

    def range_of(self, key: str) -> tuple[int, int] | None:
        """Lowest and highest, in the key's unit; None where the board does not tell it."""
        if key not in self.facts["set"]:
            return None
        low, *high = self.facts["set"][key]
        if high:
            return low, high[0]
        reserved = self.facts["reservedMiB"]
        small = reserved * 8 > self.memory_mib
        return low, self.memory_mib * 7 // 8 if small else self.memory_mib - reserved


def taken_apart(text: str) -> Line:
    line = Line(text)
    line.verb, *words = re.sub("#.*", "", text).split()
    known = _OPTIONS.get(line.verb, ("--gpu",))
    takes = ", ".join(known)
    if len(words) >= WORDS:
        line.found.append((f"has more than {WORDS} words", "write several lines"))
        return line
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name in known:
            if not equals:
                value = words.pop(0) if words else ""
            if name in line.options:
                line.found.append((f"gives the same option twice ({name})", "give it once"))
            elif not value and name != "--gpu":
                line.found.append((f"gives an option without its value ({name})", "give one after it"))
            line.options[name] = value
        elif not word.startswith("-"):
            line.rest.append(word)
        else:
            if not equals and words and not words[0].startswith("-"):
                words.pop(0)
            if name in _OF_THE_AGENT:
                line.found.append((f"has {name}, which is the agent's business", "leave it out"))
            else:
                line.found.append((f"gives an option that is not there ({name})", f"{line.verb} takes {takes}"))
    return line


def name_gpus(line: Line, board: Board) -> Iterator[Found]:
    last = board.gpus - 1
    if "--gpu" not in line.options:
        if line.verb != "fault":
            yield "does not say which GPUs", "add --gpu with an index or all"
        line.gpus = [str(index) for index in range(board.gpus)]
        return
    pattern = "all|0|[1-9][0-9]?|GPU-[0-9a-f-]{36}" + ("|mock-gpu-(0|[1-9][0-9]?)" if board.plain else "")
    for word in line.options["--gpu"].split(","):
        index = word.removeprefix("mock-gpu-")
        if not re.fullmatch(pattern, word):
            what = "does not name its GPUs as all, an index, a UUID, or several with commas"
            yield what, f"give --gpu 0 to {last}"
            return
        if index.isdigit() and int(index) > last:
            yield "names a GPU that the node does not have", f"give --gpu 0 to {last}"
            return
        line.gpus += [str(number) for number in range(board.gpus)] if word == "all" else [index]
