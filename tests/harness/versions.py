# SPDX-License-Identifier: Apache-2.0
"""pyproject.toml as the harness reads it: the table of upstream versions and the pinned Python packages."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PYPROJECT = CHECKOUT / "pyproject.toml"


@functools.cache
def project() -> dict:
    return tomllib.loads(PYPROJECT.read_text())


def version(name: str) -> str:
    """The pinned version of an upstream part; `gpu-sim` is the project's own."""
    if name == "gpu-sim":
        return project()["project"]["version"]
    table = project()["tool"]["gpu-sim"]["versions"]
    if name not in table:
        raise KeyError(f"pyproject.toml:tool.gpu-sim.versions: no version of {name!r}, only of {', '.join(table)}")
    return table[name]


def packages() -> list[str]:
    """Every Python package that building and testing needs, as pinned."""
    declared = project()["project"]
    return [*declared["dependencies"], *declared["optional-dependencies"]["dev"]]
