# SPDX-License-Identifier: Apache-2.0
"""A driver root as the installer lays it out on a node, in a folder of the test, and programs that run against it.

Called by the tests of the folders below. What it writes goes through the C code that writes real inventories.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

DRIVER = "550.163.01"


class Library:
    """The library alone, as in a plain process: its GPUs come from the environment."""

    def __init__(self, libraries: Path):
        self.libraries = libraries

    def run(self, argv: list, timeout: float = 60, **variables: str) -> subprocess.CompletedProcess:
        """A program that finds this driver as it would in a container."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("NVML_MOCK_")}
        return subprocess.run(
            [str(word) for word in argv],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**inherited, "LD_LIBRARY_PATH": str(self.libraries), "LC_ALL": "C.UTF-8", "TZ": "UTC", **variables},
        )

    def python(self, code: str, **variables: str) -> object:
        """What `code` leaves in `answer`, from a Python of its own in which NVML is initialised as `nvml`."""
        program = (
            f"import json, pynvml as nvml\nnvml.nvmlInit()\n{code}\nprint(json.dumps(answer))\nnvml.nvmlShutdown()"
        )
        result = self.run([sys.executable, "-c", program], **variables)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)


class DriverRoot(Library):
    def __init__(self, folder: Path, native: Path, driver: str = DRIVER, **options):
        """`options` are the installer's flags: count=3, profile="tesla-t4", memory_mib=1234 …"""
        super().__init__(folder / "usr/lib64")
        self.native, self.driver = native, driver
        self.libraries.mkdir(parents=True)
        shutil.copy(native / "libnvidia-ml-mock.so", self.libraries / f"libnvidia-ml.so.{driver}")
        (self.libraries / "libnvidia-ml.so.1").symlink_to(f"libnvidia-ml.so.{driver}")
        self.devices = folder / "dev"
        self.inventory = self.libraries / f"libnvidia-gpu-sim.so.{driver}"
        self.tool("build", *self.flags({"driver_version": driver, **options}))

    @staticmethod
    def flags(options: dict) -> list[str]:
        return [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]

    def tool(self, *words: object) -> str:
        """A change of the inventory, seen by all clients at once."""
        argv = [self.native / "tests/inventory_tool", self.inventory, *words]
        return subprocess.run([str(word) for word in argv], check=True, capture_output=True, text=True).stdout

    def process(self, slot: int, pid: int, kind: int, memory: int, name: str) -> None:
        self.tool("process", slot, pid, kind, memory, name)
