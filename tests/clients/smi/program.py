# SPDX-License-Identifier: Apache-2.0
"""The real nvidia-smi and ours beside a driver of the real one's version. Called by the tests of this folder."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.clients.driver_root import DriverRoot

DAY = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"
STAMP = r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}"


class Smi:
    def __init__(self, program: Path, version: str, root: Callable[..., DriverRoot], **options):
        """`options` are the installer's flags."""
        self.program, self.version = program, version
        self.driver = root(driver=version, **options)
        # Ours, where the installer puts it, from where it finds the inventory.
        self.our_program = self.driver.libraries.parent / "bin" / "nvidia-smi"
        self.our_program.parent.mkdir()
        shutil.copy(self.driver.native / "gpu-sim", self.our_program)

    def run(self, *words: str) -> subprocess.CompletedProcess:
        return self.driver.run([self.program, *words], timeout=30)

    def run_ours(self, *words: str) -> subprocess.CompletedProcess:
        return self.driver.run([self.our_program, *words], timeout=30)

    def __call__(self, *words: str, code: int = 0) -> str:
        result = self.run(*words)
        assert result.returncode == code, f"{words}: {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout

    def ctl(self, *words: str) -> None:
        node = self.driver.libraries.parents[2]
        done = subprocess.run(
            [self.driver.native / "gpu-sim", "ctl", "--root", node, *words], capture_output=True, text=True, timeout=30
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"

    def differing(self, lines: list[list[str]]) -> dict[str, str]:
        """Of command lines: those to which the two do not say the same, byte for byte but for the time of day."""
        found = {}
        for words in lines:
            theirs, ours = (told(run(*words)) for run in (self.run, self.run_ours))
            if theirs != ours:
                found[" ".join(words)] = difference(theirs, ours)
        return found


def told(result: subprocess.CompletedProcess) -> str:
    text = re.sub(STAMP, "STAMP", re.sub(DAY, "DAY", result.stdout + result.stderr))
    return f"{text}exit code {result.returncode}\n"


def difference(theirs: str, ours: str) -> str:
    """The first line that is not the same."""
    pairs = zip([*theirs.split("\n"), None], [*ours.split("\n"), None], strict=False)
    real, own = next((pair for pair in pairs if pair[0] != pair[1]), (theirs, ours))
    return f"real {real!r}, ours {own!r}"
