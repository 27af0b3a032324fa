# SPDX-License-Identifier: Apache-2.0
# The GPU models that can be simulated, read from the same files that are compiled into the library.
# Called by cli.py for --list-profiles and by values.py to name the valid ones.

from __future__ import annotations

from dataclasses import dataclass

import yaml

from generator.chart import profile_files


@dataclass(frozen=True)
class Profile:
    name: str
    product_name: str
    memory_mib: int
    description: str


def all_profiles() -> list[Profile]:
    profiles = []
    for file in profile_files():
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        profiles.append(
            Profile(data["name"], data["product_name"], data["memory"]["total_mib"], data.get("description") or "")
        )
    return profiles


def table() -> str:
    rows = [("PROFILE", "GPU NAME", "MEMORY (MiB)", "")]
    rows += [(p.name, p.product_name, str(p.memory_mib), p.description) for p in all_profiles()]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
