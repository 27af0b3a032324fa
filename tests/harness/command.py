# SPDX-License-Identifier: Apache-2.0
"""Runs programs. Who reads a failure sees the command as it can be pasted, its code and what it printed.

Called by every part of the harness; standard library only. Processes it starts are ended by their own group.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SHOWN = 60  # lines of output in a message; the beginning is rarely what went wrong


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


class CommandError(Exception):
    """A command that failed, could not be started or did not end in time."""

    def __init__(self, shown: str, what: str, output: str = "", code: int | None = None):
        self.shown, self.what, self.output, self.code = shown, what, output, code
        super().__init__(self._text())

    def _text(self) -> str:
        lines = self.output.rstrip().splitlines()
        if len(lines) > SHOWN:
            lines = [f"… {len(lines) - SHOWN} lines before", *lines[-SHOWN:]]
        return "\n".join([f"{self.what}\n  $ {self.shown}", *(f"  | {line}" for line in lines)])


def display(argv: Sequence[object], cwd: Path | str | None = None, extra: Mapping[str, str] | None = None) -> str:
    """The command as one line for a shell: folder, added environment, arguments."""
    words = [f"{name}={shlex.quote(value)}" for name, value in (extra or {}).items()]
    words += [shlex.quote(str(word)) for word in argv]
    line = " ".join(words)
    return f"cd {shlex.quote(str(cwd))} && {line}" if cwd else line


def died(code: int) -> str:
    """An exit status in words."""
    if code < 0:
        try:
            return f"was ended by signal {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"
    return f"failed with exit code {code}"


def run(
    argv: Sequence[object],
    *,
    cwd: Path | str | None = None,
    extra: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout: float | None = None,
    check: bool = True,
    capture: bool = True,
) -> Result:
    """Run `argv` to its end. `extra` is added to the environment; `capture=False` lets the output through."""
    words = [str(word) for word in argv]
    shown = display(words, cwd, extra)
    pipe = subprocess.PIPE if capture else None
    try:
        process = subprocess.Popen(
            words,
            cwd=cwd,
            env={**os.environ, **(extra or {})},
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            text=True,
            errors="replace",
            start_new_session=timeout is not None,  # so that the whole group can be ended
        )
    except OSError as error:
        raise CommandError(shown, f"{words[0]} could not be started: {error.strerror or error}") from None
    try:
        out, err = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise CommandError(shown, f"{words[0]} did not end within {timeout:g} s", (out or "") + (err or "")) from None
    except BaseException:  # an interrupt: leave nothing running behind
        process.kill()
        process.wait()
        raise
    result = Result(process.returncode, out or "", err or "")
    if check and result.code:
        raise CommandError(shown, f"{words[0]} {died(result.code)}", result.out + result.err, result.code)
    return result


def follow(
    argv: Sequence[object],
    on_line: Callable[[str], None],
    *,
    cwd: Path | str | None = None,
    extra: Mapping[str, str] | None = None,
) -> None:
    """Run `argv` and hand over each line that it prints, on either stream, while it runs."""
    words = [str(word) for word in argv]
    shown = display(words, cwd, extra)
    lines: list[str] = []
    try:
        process = subprocess.Popen(
            words,
            cwd=cwd,
            env={**os.environ, **(extra or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise CommandError(shown, f"{words[0]} could not be started: {error.strerror or error}") from None
    try:
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            on_line(lines[-1])
        process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode:
        raise CommandError(shown, f"{words[0]} {died(process.returncode)}", "\n".join(lines), process.returncode)
