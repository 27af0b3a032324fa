# SPDX-License-Identifier: Apache-2.0
"""A process as it is recorded: id and start time, so that a number used again is never taken for it.

Called by machine and runs. Signals go through a pidfd: between check and signal the id cannot change hands.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    pid: int
    started: int  # clock ticks since boot


def boot_id() -> str:
    """Pids and start times mean something within one boot only."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()  # the name may hold blanks and brackets


def of(pid: int) -> Process:
    """The process that has this id now."""
    stat = _stat(pid)
    if stat is None:
        raise ProcessLookupError(f"no process {pid}")
    return Process(pid, int(stat[19]))


def alive(process: Process) -> bool:
    stat = _stat(process.pid)
    return stat is not None and int(stat[19]) == process.started and stat[0] not in "ZX"


def children(pid: int) -> list[int]:
    """Direct children; orphans of a pid namespace are children of its first process."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def inner_pid(pid: int) -> int:
    """The id that the process has in its own, innermost pid namespace."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return pid


def end(process: Process, how: int = signal.SIGKILL, deadline_s: float = 10.0, then_kill: bool = True) -> bool:
    """Signal the process, wait for its end, kill it when the deadline passes. False if it was not there any more."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        if not alive(process):
            return False
        signal.pidfd_send_signal(handle, how)
        if not _ended(handle, deadline_s):
            if not then_kill:
                raise TimeoutError(f"process {process.pid} did not end within {deadline_s:g} s")
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            if not _ended(handle, deadline_s):
                raise TimeoutError(f"process {process.pid} did not end within {deadline_s:g} s of SIGKILL")
        return True
    except ProcessLookupError:
        return True
    finally:
        os.close(handle)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)


def _ended(handle: int, deadline_s: float) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    until = time.monotonic() + deadline_s
    while (left := until - time.monotonic()) > 0:
        if poll.poll(left * 1000):
            return True
    return False
