# SPDX-License-Identifier: Apache-2.0
"""build/native: library and node program with this machine's own compiler, as a user's cmake would make them.

Called by the ladder and by the fixture `native`; native_build makes the portable ones. Up to date after each call.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.harness import cache, command, versions

FOLDER = versions.CHECKOUT / "build" / "native"
TOOLS = versions.CHECKOUT / "native" / "tools"


def tool(name: str) -> Path:
    """A program of the Python environment."""
    return Path(sys.executable).with_name(name)


def header() -> Path:
    """The nvml.h that build() builds with."""
    return Path(command.run([sys.executable, TOOLS / "header.py"]).out.strip())


def build(folder: Path = FOLDER, kind: str = "Release", options: tuple[str, ...] = ()) -> Path:
    """Configure and build; quick when nothing changed. Two processes at once take turns."""
    source = versions.CHECKOUT / "native"
    with cache.locked(f"native-{cache.digest(str(folder))}"):
        folder.mkdir(parents=True, exist_ok=True)
        # This Python, which has the package with nvml.h: the first one that cmake finds may not. The header is
        # looked up anew, since the folder may be older than the Python environment.
        python = (f"-DPython3_EXECUTABLE={sys.executable}", "-DNVML_HEADER=")
        command.run([tool("cmake"), "-S", source, "-B", folder, f"-DCMAKE_BUILD_TYPE={kind}", *python, *options])
        command.run([tool("cmake"), "--build", folder, "--parallel"])
    return folder


if __name__ == "__main__":
    try:
        print(build().relative_to(versions.CHECKOUT))
    except command.CommandError as error:
        sys.exit(f"gpu-sim: {error}")
