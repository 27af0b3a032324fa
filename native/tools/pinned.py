# SPDX-License-Identifier: Apache-2.0
"""Pinned PyPI packages for a build that has no prepared Python: a module, or a wheel's file, in the cache.

Called by profiles.py and header.py. The interpreter's own packages come first; else pip brings the version that
pyproject.toml names; else it says what to do. Standard library only; works from Python 3.8 on.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


class NotHere(Exception):
    """A package can be neither found nor brought."""


def cache() -> Path:
    """The folder that the rest of the project caches in too."""
    named = os.environ.get("GPU_SIM_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "gpu-sim"


def version(package: str) -> str:
    """As pinned in pyproject.toml, read without tomllib, which Python 3.10 lacks."""
    found = re.search(rf'"{re.escape(package)}==([^"]+)"', (CHECKOUT / "pyproject.toml").read_text())
    if not found:
        raise NotHere(f"pyproject.toml: no pinned version, got none for {package}; add it to the dependencies")
    return found.group(1)


def folder(package: str) -> Path:
    """Where the pinned package lies unpacked; brought there by pip if it is not yet."""
    wanted = f"{package}=={version(package)}"
    target = cache() / "python" / wanted.replace("==", "-")
    if target.is_dir():
        return target
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--target", str(partial), wanted]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        shutil.rmtree(partial, ignore_errors=True)
        last = (result.stderr.strip().splitlines() or ["nothing"])[-1]
        raise NotHere(f"{' '.join(command)}: pip failed, got {last}; install {wanted} for {sys.executable}")
    try:
        partial.rename(target)
    except OSError:  # another build was first
        if not target.is_dir():
            raise
    return target


def module(name: str, package: str):
    """The module, from the interpreter or from the cache. Ends the program with one line if there is none."""
    try:
        return importlib.import_module(name)
    except ImportError:
        pass
    try:
        sys.path.insert(0, str(folder(package)))
        return importlib.import_module(name)
    except (NotHere, ImportError) as error:
        raise SystemExit(str(error)) from None
