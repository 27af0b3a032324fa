# SPDX-License-Identifier: Apache-2.0
"""A line about once a minute from something that runs for long and has nothing to complain of.

Called by the audit that watches and by the soak: who looks at a log must see that it lives, and what it has seen.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

EVERY_S = 60.0


def counted(counts: dict[str, object]) -> str:
    """All of them in one line."""
    return ", ".join(f"{name} {count}" for name, count in counts.items())


class Heartbeat:
    """For `with`. `counts` is asked each time; its words follow the time since the beginning."""

    def __init__(self, say: Callable[[str], None], counts: Callable[[], str], every_s: float | None = None):
        self.say, self.counts = say, counts
        self.every_s = EVERY_S if every_s is None else every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def _beat(self) -> None:
        started = time.monotonic()
        while not self._ended.wait(self.every_s):
            self.say(f"gpu-sim: after {time.monotonic() - started:.0f} s: {self.counts()}")

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._ended.set()
        self._thread.join()
