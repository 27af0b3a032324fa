# SPDX-License-Identifier: Apache-2.0
"""Looking at something again and again while a test does something else. Called by Host and Looking."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

Seen = TypeVar("Seen")


def watch(every_s: float, look: Callable[[], Iterable[Seen]]) -> Callable[[], set[Seen]]:
    """Calls `look` until the returned function is called, which gives all that was seen."""
    seen: set[Seen] = set()
    stop = threading.Event()

    def keep_looking() -> None:
        while not stop.wait(every_s):
            seen.update(look())

    thread = threading.Thread(target=keep_looking, daemon=True)
    thread.start()

    def end() -> set[Seen]:
        stop.set()
        thread.join()
        return seen

    return end
