# SPDX-License-Identifier: Apache-2.0
"""What a fault can be made of, read from where it stands once: node/ctl_lists.h, src/return_codes.h and nvml.h.

Imported by the programs that write files of the tree from it (charts/tools, docs/tools); the C sources include them.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import exports

NATIVE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class SetKey:
    """One KEY of `ctl set`: its range in `unit`; members of struct gs_config that narrow it, `scale` to the unit."""

    name: str
    unit: str
    kind: str  # READING takes a range
    scale: int
    low: int
    high: int
    least: str | None
    most: str | None
    feature: str | None


def entries(name: str, text: str) -> list[list[str]]:
    """The words of each X(…) of a macro: strings without their quotes, all else as it stands."""
    found = re.search(rf"#define {name}\(X\)((?:[^\n]*\\\n)*[^\n]*\n)", text)
    assert found, f"no macro {name}"
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[(),]|[^\s(),"\\]+', found[1])
    rows: list[list[str]] = []
    depth = 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0:
            continue
        if depth == 1 and token in ("(", ","):
            rows += [[]] if token == "(" else []
            rows[-1].append("")
        else:
            rows[-1][-1] += ast.literal_eval(token) if token.startswith('"') else token
    return rows


def _lists() -> str:
    return (NATIVE / "node/ctl_lists.h").read_text()


def number(name: str) -> int:
    """A limit, from the lists or from the inventory's layout."""
    text = _lists() + (NATIVE / "src/inventory.h").read_text()
    return int(re.search(rf"#define {name} (\d+)u?\s", text)[1])


def verbs(declarable: bool = False) -> list[str]:
    return [row[0] for row in entries("GS_VERBS", _lists()) if not declarable or row[2] == "true"]


def throttle_reasons() -> list[str]:
    return [row[0] for row in entries("GS_THROTTLE_REASONS", _lists())]


def ecc_locations() -> list[str]:
    return [row[0] for row in entries("GS_ECC_LOCATIONS", _lists())]


def set_keys() -> list[SetKey]:
    keys = []
    for name, unit, kind, _, scale, low, high, least, most, feature, *_ in entries("GS_SET_KEYS", _lists()):
        of_board = [None if word == "NONE" else re.fullmatch(r"OF_BOARD\((\w+)\)", word)[1] for word in (least, most)]
        base, _, shift = scale.partition("<<")
        keys.append(
            SetKey(name, unit, kind, int(base) << int(shift or 0), int(low), int(high), *of_board,
                   None if feature == "0" else feature)
        )  # fmt: skip
    return keys


def header() -> str:
    """nvml.h, the pinned one."""
    done = subprocess.run([sys.executable, NATIVE / "tools/header.py"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    return Path(done.stdout.strip()).read_text()


def return_codes(header: str) -> dict[str, int]:
    """By name without NVML_ or NVML_ERROR_, in the order of the list."""
    numbers = dict(re.findall(r"^\s*(NVML_\w+)\s*=\s*(\d+)\b", header, flags=re.M))
    names = [row[0] for row in entries("GS_RETURN_CODES", (NATIVE / "src/return_codes.h").read_text())]
    if unknown := [name for name in names if name not in numbers]:
        raise SystemExit(f"native/src/return_codes.h: nvml.h has no such code, got {', '.join(unknown)}; take it out")
    return {re.sub("^NVML_(ERROR_)?", "", name): int(numbers[name]) for name in names}


def functions(header: str) -> dict[str, bool]:
    """Those that a fault can be injected into, by name, and whether their faults belong to a GPU."""
    return {
        function.name: any(function.is_device(kind) for kind, _ in function.parameters)
        for function in sorted(exports.functions(header), key=lambda one: one.name)
        if function.name not in exports.FAULTLESS
    }
