# SPDX-License-Identifier: Apache-2.0
"""Skips that cannot hide: each names what it lacks, and is a failure where that was declared to be present.

GPU_SIM_REQUIRE=cluster,real-plugin (or `all`) declares it; .ci/run does. Used by tests through `skip` and by
conftest, which turns the outcome round.
"""

from __future__ import annotations

import os
import re

MARKERS = ("unit", "native", "helm", "cluster")  # the rungs, from the lowest


def skip(need: str, reason: str) -> None:
    """Skip the running test since `need` (one word) is not on this machine."""
    import pytest

    pytest.skip(f"needs {need}: {reason}")


def need_of(reason: str, rung: str) -> str:
    """What a skip lacks: the word that it names, else the rung of its test."""
    named = re.match(r"(?:Skipped: )?needs ([\w.-]+):", reason)
    return named[1] if named else rung


def required() -> set[str]:
    return {word.strip() for word in os.environ.get("GPU_SIM_REQUIRE", "").split(",") if word.strip()}


def must_be_present(need: str) -> bool:
    return bool({need, "all"} & required())
