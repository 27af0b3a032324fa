# SPDX-License-Identifier: Apache-2.0
"""The cache outside the checkout: virtual environments, Go's caches, built upstream programs.

Called by bootstrap and toolchain, before anything is installed: standard library only.
An entry counts only once its marker is there; the marker is renamed into place last, under the entry's lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
from pathlib import Path

MARKER = ".complete"


def root() -> Path:
    """Where everything is kept: GPU_SIM_CACHE, else gpu-sim in the user's cache folder."""
    named = os.environ.get("GPU_SIM_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute() / "gpu-sim"


def digest(*parts: str | bytes) -> str:
    """A short name for the given inputs; the same parts in the same order give the same name."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "big") + data)
    return total.hexdigest()[:16]


def is_complete(entry: Path) -> bool:
    return (entry / MARKER).is_file()


@contextlib.contextmanager
def locked(name: str, waiting=None):
    """One process at a time for `name`. `waiting()` is called once if another one holds it. Freed by death."""
    path = root() / "locks" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting:
                waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def entry(kind: str, key: str, build, waiting=None) -> Path:
    """The folder `kind`/`key`, made by `build(folder)` unless it is complete; a half-made one is thrown away first."""
    folder = root() / kind / key
    if is_complete(folder):
        return folder
    with locked(f"{kind}-{key}", waiting):
        if is_complete(folder):  # another process made it while we waited
            return folder
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        build(folder)
        unfinished = folder / (MARKER + ".tmp")
        unfinished.write_text("")
        unfinished.rename(folder / MARKER)
    return folder
