# SPDX-License-Identifier: Apache-2.0
"""A real NVIDIA driver on this machine, which the embedded cluster's nodes share /usr and the kernel with.

Called by provider. The chart refuses a node that has one, since two drivers on a node would be found by chance. Here
the nodes have no way to the real GPUs, and the chart's own pods name the simulated driver by its path.
"""

from __future__ import annotations

from pathlib import Path

VERSION = Path("/proc/driver/nvidia/version")
FOLDERS = ("lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib", "lib/wsl/lib", "local/lib",
           "local/nvidia/lib64")  # fmt: skip


def found(version: Path = VERSION, usr: Path = Path("/usr")) -> bool:
    return version.exists() or any(any((usr / folder).glob("libnvidia-ml.so.*")) for folder in FOLDERS)


def options() -> list[str]:
    """What every install on the embedded cluster needs beside the user's values."""
    return ["--set", "allowForeign=true"] if found() else []
