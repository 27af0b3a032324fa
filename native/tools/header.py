# SPDX-License-Identifier: Apache-2.0
"""Prints the path of nvml.h: called by CMake when -DNVML_HEADER does not name it.

From the interpreter's packages if it is the pinned version, else from the pinned wheel in the cache: the header is
not copied into this repository.
"""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pinned

PACKAGE = "nvidia-nvml-dev"


def installed() -> Path | None:
    """The header of the interpreter's own package, if its version is the pinned one."""
    try:
        distribution = importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None
    if distribution.version != pinned.version(PACKAGE):
        return None
    found = [file for file in distribution.files or [] if file.name == "nvml.h"]
    return Path(distribution.locate_file(found[0])) if found else None


def main() -> int:
    try:
        path = installed() or next(pinned.folder(PACKAGE).rglob("nvml.h"), None)
        if path is None:
            raise pinned.NotHere(f"{PACKAGE}: no nvml.h in it, got none; pass -DNVML_HEADER=/path/to/nvml.h")
    except pinned.NotHere as error:
        print(f"{error}, or pass -DNVML_HEADER=/path/to/nvml.h", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
