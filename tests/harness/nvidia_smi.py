# SPDX-License-Identifier: Apache-2.0
"""The real nvidia-smi, as Debian packages it: fetched once into the cache, unpacked there, never installed.

Called by tests/clients/smi and pod_images. nvidia-smi only runs beside a driver of its own version.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.harness import cache, command
from tests.harness.debian_packages import VERSIONS, UnavailableError, fetch, need_apt

PACKAGE = "nvidia-smi"
SUITES = ("bookworm", "trixie")  # 535 and 550 at the time of writing; both run on this system's glibc


def _fetch(folder: Path, suite: str) -> None:
    fetch(folder, [PACKAGE], suite, "amd64", "non-free")
    root = folder / "root"
    (program,) = (path for path in root.rglob(PACKAGE) if path.is_file() and path.stat().st_mode & 0o100)
    shutil.copy(program, folder / PACKAGE)
    shutil.rmtree(root)
    (folder / "VERSION").write_text((folder / VERSIONS).read_text().split("_")[1].split("-")[0])


def program(suite: str) -> tuple[Path, str]:
    """The program of a Debian suite, and its version."""
    need_apt([PACKAGE])
    try:
        folder = cache.entry("nvidia-smi", suite, lambda made: _fetch(made, suite))
    except command.CommandError as error:
        raise UnavailableError(str(error)) from None
    return folder / PACKAGE, (folder / "VERSION").read_text()
