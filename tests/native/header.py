# SPDX-License-Identifier: Apache-2.0
"""The functions of nvml.h, by the parser that also writes the library's exports. Used by this folder's tests."""

from __future__ import annotations

import importlib.util

from tests.harness import native_dir


def functions() -> list:
    """native/tools/exports.py is a program of the build and no package."""
    spec = importlib.util.spec_from_file_location("native_exports", native_dir.TOOLS / "exports.py")
    exports = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(exports)
    return exports.functions(native_dir.header().read_text(errors="replace"))
