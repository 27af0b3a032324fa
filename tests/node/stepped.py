# SPDX-License-Identifier: Apache-2.0
"""Runs a program one system call at a time (ptrace), to act or to kill it at an exact point. Used by test_killed."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from collections.abc import Callable, Sequence

TRACEME, CONT, KILL, SYSCALL, SETOPTIONS, GET_SYSCALL_INFO = 0, 7, 8, 24, 0x4200, 0x420E
TRACESYSGOOD, EXITKILL = 1, 1 << 20
FLOCK = {"x86_64": 73, "aarch64": 32}[platform.machine()]
ENTRY = 1  # of ptrace_syscall_info.op

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class SyscallInfo(ctypes.Structure):
    _fields_ = (
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("instruction", ctypes.c_uint64),
        ("stack", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("rest", ctypes.c_uint64 * 8),
    )


def _ptrace(request: int, pid: int, address: int = 0, data: object = 0) -> None:
    if libc.ptrace(request, pid, address, data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request}")


def run(words: Sequence[str], at_entry: Callable[[int, int], bool]) -> int | None:
    """Calls `at_entry(count, number)` before each system call; true kills the program there and then (None is
    returned), else its exit code is. What it forks is not followed."""
    pid = os.fork()
    if not pid:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        libc.ptrace(TRACEME, 0, 0, 0)
        os.execv(words[0], list(words))
    os.waitpid(pid, 0)
    _ptrace(SETOPTIONS, pid, 0, TRACESYSGOOD | EXITKILL)
    count, signal_ = 0, 0
    while True:
        _ptrace(SYSCALL, pid, 0, signal_)
        _, status = os.waitpid(pid, 0)
        if os.WIFEXITED(status):
            return os.WEXITSTATUS(status)
        if os.WIFSIGNALED(status):
            return -os.WTERMSIG(status)
        signal_ = os.WSTOPSIG(status)
        if signal_ != signal.SIGTRAP | 0x80:
            continue
        signal_, info = 0, SyscallInfo()
        _ptrace(GET_SYSCALL_INFO, pid, ctypes.sizeof(info), ctypes.addressof(info))
        if info.op != ENTRY:
            continue
        count += 1
        if at_entry(count, info.number):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
