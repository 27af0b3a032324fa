# SPDX-License-Identifier: Apache-2.0
"""Timed steps on standard error: one line for each, rewritten on a terminal, plain lines elsewhere.

Called by everything that takes longer than a blink. Standard output stays clean: `make kubeconfig` prints a path there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time

WIDTH = 46
HEARTBEAT_S = 30.0  # without a terminal, a long step says at this pace that it lives


def took(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 100 else f"{int(seconds // 60)} min {int(seconds % 60):02d} s"


class Step:
    """One running step; `note` says how far it is, `result` what its line ends with."""

    def __init__(self, title: str, stream, live: bool):
        self.title, self._stream, self._live = title, stream, live
        self.started = self._said = time.monotonic()
        self.result = "done"

    def note(self, text: str) -> None:
        now = time.monotonic()
        elapsed = took(now - self.started)
        if self._live:
            columns = shutil.get_terminal_size().columns
            line = f"  {self.title}: {text} ({elapsed})"[: columns - 1]
            self._stream.write(f"\r{line}\x1b[K")
        elif now - self._said >= HEARTBEAT_S:
            self._said = now
            self._stream.write(f"  {self.title}: {text} ({elapsed})\n")
        self._stream.flush()

    def end(self, result: str) -> None:
        elapsed = took(time.monotonic() - self.started)
        start = "\r\x1b[K" if self._live else ""
        self._stream.write(f"{start}  {self.title:<{WIDTH}} {result:<6} {elapsed:>9}\n")
        self._stream.flush()


class Progress:
    """Steps in the order they were taken, with their times for whoever measures."""

    def __init__(self, stream=None, live: bool | None = None):
        self._stream = stream or sys.stderr
        if live is None:
            live = self._stream.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb"
        self.live = live
        self.started = time.monotonic()
        self.times: dict[str, float] = {}

    def say(self, text: str) -> None:
        """A line of its own, for what a reader must know before it happens."""
        self._stream.write(f"{text}\n")
        self._stream.flush()

    @contextlib.contextmanager
    def step(self, title: str):
        step = Step(title, self._stream, self.live)
        if self.live:
            step.note("…")
        try:
            yield step
        except BaseException:
            step.end("FAILED")
            raise
        else:
            step.end(step.result)
        finally:
            self.times[title] = time.monotonic() - step.started

    def total(self, title: str) -> None:
        self._stream.write(f"  {title:<{WIDTH}} {'':<6} {took(time.monotonic() - self.started):>9}\n")
        self._stream.flush()
