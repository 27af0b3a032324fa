# SPDX-License-Identifier: Apache-2.0
"""The functions of nvml.h, as the build reads them. Used by this folder's tests."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from tests.harness.versions import CHECKOUT

EXPORTS = CHECKOUT / "native" / "tools" / "exports.py"


def exports():
    """native/tools/exports.py, which is a program of the build and no package."""
    spec = importlib.util.spec_from_file_location("native_exports", EXPORTS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def path(native: Path) -> Path:
    """The header that this build was made with."""
    cached = re.search(r"^NVML_HEADER:\w+=(.+)$", (native / "CMakeCache.txt").read_text(), flags=re.M)
    if cached:
        return Path(cached[1])
    import nvidia

    return next(found for root in nvidia.__path__ for found in Path(root).rglob("nvml.h"))


def functions(native: Path) -> list:
    return exports().functions(path(native).read_text(errors="replace"))
