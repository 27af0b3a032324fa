# SPDX-License-Identifier: Apache-2.0
"""The record of each run: a private folder with its state, held by a lock while somebody works on it.

Called by the providers and cli. What a run makes is written down before it is made; the lock is freed by death, so a
run whose lock is free and that is not marked as running (or belongs to a test) was abandoned; the next one cleans it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from tests.harness.embedded.process import Process, boot_id
from tests.harness.versions import CHECKOUT

NAME = re.compile(r"[a-z]([a-z0-9-]{0,28}[a-z0-9])?")
# A process killed between fork and exec leaves its lock to the child until that has become another program, some
# milliseconds later: a run that looks owned is looked at again for so long, seconds.
DYING_S = 0.3
STARTING, RUNNING, STOPPING = "starting", "running", "stopping"


class RunError(Exception):
    """A run that cannot be used as asked."""


def base() -> Path:
    """Where runs are kept: GPU_SIM_RUN_DIR, else a short path under /run (root) or the user's runtime folder."""
    named = os.environ.get("GPU_SIM_RUN_DIR")
    if named:
        return Path(named).absolute()
    if os.geteuid() == 0:
        return Path("/run/gpu-sim")
    return Path(os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/gpu-sim-{os.getuid()}") / "gpu-sim"


def default_name(checkout: Path) -> str:
    """One run for each checkout, so that two checkouts on a machine do not meet."""
    return "dev-" + hashlib.sha256(str(checkout.resolve()).encode()).hexdigest()[:6]


def up_command(name: str) -> str:
    """What starts the run of that name, for messages."""
    return "make up" if name == default_name(CHECKOUT) else f"make up NAME={name}"


class Run:
    """One run's folder. Use `take` to work on it, `find` to look at it."""

    def __init__(self, name: str):
        if not NAME.fullmatch(name):
            raise RunError(
                f"name: must be 1 to 30 of a-z, 0-9 and '-', starting with a letter, got {name!r}; rename it"
            )
        self.name = name
        self.folder = base() / name
        self.state: dict = {}
        self._lock: int | None = None

    # ---- the lock ----
    def lock(self, wait: bool = True, waiting=None) -> bool:
        """Own the folder, making it if need be. False if someone else does and `wait` is false."""
        while True:
            self._make_folder()
            with contextlib.suppress(FileNotFoundError):
                handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if not wait:
                        os.close(handle)
                        return False
                    if waiting:
                        waiting()
                    fcntl.flock(handle, fcntl.LOCK_EX)
                if self._is_current(handle):
                    self._lock = handle
                    self.load()
                    return True
                os.close(handle)  # removed by its last owner while we waited

    def _make_folder(self) -> None:
        for left in reversed(range(100)):  # the last owner of a run may be removing the folder above at this moment
            try:
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o755)
                return
            except OSError as error:
                if left and isinstance(error, FileNotFoundError):
                    continue
                raise RunError(
                    f"{base()}: runs cannot be kept here, got {error}; name another folder: GPU_SIM_RUN_DIR"
                ) from None

    def _is_current(self, handle: int) -> bool:
        try:
            there = (self.folder / "lock").stat()
        except FileNotFoundError:
            return False
        return there.st_ino == os.fstat(handle).st_ino

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def locked(self) -> bool:
        return self._lock is not None

    # ---- the state ----
    def load(self) -> dict:
        try:
            self.state = json.loads((self.folder / "state.json").read_text())
        except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError):
            self.state = {}
        return self.state

    def save(self, **changes) -> None:
        """Write the state as a whole; a reader sees the old one or the new one."""
        self.state.update(changes)
        self.state.setdefault("name", self.name)
        self.state.setdefault("boot", boot_id())
        unfinished = self.folder / f".state.{os.getpid()}"
        unfinished.write_text(json.dumps(self.state, indent=1))
        unfinished.rename(self.folder / "state.json")

    @property
    def running(self) -> bool:
        survives = self.state.get("provider") in ("kind", "current")  # a reboot ends processes, not other clusters
        return self.state.get("status") == RUNNING and (survives or self.state.get("boot") == boot_id())

    @property
    def abandoned(self) -> bool:
        """To be asked by the lock's owner only: nobody will come back for this run."""
        return not self.running or bool(self.state.get("transient"))

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    def processes(self) -> list[Process]:
        """Every recorded process of this boot."""
        if self.state.get("boot") != boot_id():
            return []
        machines = self.state.get("machines", {}).values()
        return [Process(*machine["holder"]) for machine in machines if machine.get("holder")]

    def remove(self) -> None:
        """Delete the folder, and the common one with the last run."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.folder.exists():
            left = [f.name for f in self.folder.iterdir()]
            raise RunError(f"{self.folder}: cannot be removed, got {left}; look for mounts in it")
        self.release()
        with contextlib.suppress(OSError):
            base().rmdir()


def find(name: str) -> Run | None:
    """The run of this name if there is one that counts, without its lock."""
    run = Run(name)
    return run if run.load() else None


def names() -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return sorted(folder.name for folder in base().iterdir() if folder.is_dir() and NAME.fullmatch(folder.name))
    return []


def abandoned() -> Iterator[Run]:
    """Runs that nobody owns any more, each with its lock held by us."""
    pending, until = names(), None
    while pending:
        owned = []
        for name in pending:
            run = Run(name)
            if not run.folder.is_dir():
                continue
            if not run.lock(wait=False):
                owned.append(name)
                continue
            if run.abandoned:
                yield run
            run.release()
        until = until or time.monotonic() + DYING_S
        if not owned or time.monotonic() >= until:
            return
        pending = owned
        time.sleep(DYING_S / 10)
