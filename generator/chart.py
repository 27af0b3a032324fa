# SPDX-License-Identifier: Apache-2.0
# Where the chart, the profiles and the shipped values files are: in a checkout, or inside the installed package.
# Called by everything that needs a fact which the chart or a profile owns; this package repeats none of them.
# The chart whose schema checks a file is the same one that the printed helm command installs.

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import yaml

GENERATED_MARK = "# Written by gpu-sim's generator"
# Label and taint of the nodes that belong to one branch, as the chart selects and tolerates them.
BRANCH_LABEL = "gpu-sim.io/branch"
# The one spelling under which Kubernetes enforces a quota on GPUs.
QUOTA_KEY = "requests.nvidia.com/gpu"
_PACKAGE = Path(__file__).resolve().parent


def _root() -> Path:
    """Laid out like the repository. The current directory if it holds the chart: commands then read as documented."""
    for root in (Path.cwd(), _PACKAGE.parent):
        if _is_chart(root / "charts" / "gpu-sim") and (root / "native" / "profiles").is_dir():
            return root
    return _PACKAGE / "data"


def _is_chart(path: Path) -> bool:
    try:
        chart = yaml.safe_load((path / "Chart.yaml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return False
    return isinstance(chart, dict) and chart.get("name") == "gpu-sim"


def chart_dir() -> Path:
    return _root() / "charts" / "gpu-sim"


def shown_chart_dir() -> str:
    """As a command takes it: relative where the chart is below the current directory."""
    path = chart_dir()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def profile_files() -> list[Path]:
    return sorted((_root() / "native" / "profiles").glob("*.yaml"))


def shipped_names() -> frozenset[str]:
    """Stems of the values files that come with gpu-sim; what the generator wrote beside them does not count."""
    files = (_root() / "values").glob("*.yaml")
    return frozenset(file.stem for file in files if not is_generated(file))


def is_generated(file: Path) -> bool:
    with file.open(encoding="utf-8", errors="replace") as lines:
        return lines.readline().startswith(GENERATED_MARK)


@cache
def _json(file: Path) -> dict:
    return json.loads(file.read_text(encoding="utf-8"))


def schema() -> dict:
    return _json(chart_dir() / "values.schema.json")


@cache
def _yaml(file: Path) -> dict:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def plugin_versions() -> dict:
    """What the chart knows of each version (major.minor) of the device plugin."""
    return _yaml(chart_dir() / "files" / "plugin-versions.yaml")


def fault_lists() -> dict:
    """What a fault can be made of: commands, keys, reasons, functions, return codes and their limits."""
    return _yaml(chart_dir() / "files" / "faults.yaml")


def boards() -> dict:
    """By profile: its name, and what a fault can set on it."""
    return _yaml(chart_dir() / "files" / "profiles.yaml")


def chart_version() -> str:
    return _yaml(chart_dir() / "Chart.yaml")["version"]


def defaults() -> dict:
    """The chart's values.yaml. Not to be changed by the caller."""
    return _yaml(chart_dir() / "values.yaml")
