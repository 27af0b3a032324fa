# SPDX-License-Identifier: Apache-2.0
"""The real nvidia-smi beside a driver of its own version: `smi("-L")`. Called by the tests of this folder."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.clients.driver_root import DriverRoot


class Smi:
    def __init__(self, program: Path, version: str, root: Callable[..., DriverRoot], **options):
        """`options` are the installer's flags."""
        self.program, self.version = program, version
        self.driver = root(driver=version, **options)

    def run(self, *words: str) -> subprocess.CompletedProcess:
        return self.driver.run([self.program, *words], timeout=30)

    def __call__(self, *words: str, code: int = 0) -> str:
        result = self.run(*words)
        assert result.returncode == code, f"{words}: {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout
