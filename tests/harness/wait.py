# SPDX-License-Identifier: Apache-2.0
"""The one way of waiting: a condition, a deadline, and on time-out what was awaited and what was seen last.

Called wherever something takes time. There is no other sleep in the harness or its tests.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")
FIRST_S, LONGEST_S = 0.05, 0.5


class WaitTimeout(AssertionError):
    """A condition that did not come true in time; `last` is the last value seen, or the exception."""

    def __init__(self, what: str, seconds: float, last: object):
        self.what, self.seconds, self.last = what, seconds, last
        shown = f"{type(last).__name__}: {last}" if isinstance(last, BaseException) else repr(last)
        super().__init__(f"waited {seconds:.1f} s for {what}; last seen: {shown}")


def wait_until(
    what: str,
    predicate: Callable[[], Value],
    deadline_s: float,
    *,
    reads: int = 1,
    seen: Callable[[], object] | None = None,
    retry: tuple[type[BaseException], ...] = (OSError,),
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Value:
    """Call `predicate` until it is true `reads` times in a row and return its last value.

    `seen` gives what a time-out shows in place of the predicate's value. Exceptions in `retry` count as "not yet".
    """
    started, pause, good = clock(), FIRST_S, 0
    last: object = None
    while True:
        try:
            value = predicate()
            last = value
        except retry as error:
            value, last = None, error
        good = good + 1 if value else 0
        if good >= reads:
            return value
        waited = clock() - started
        if waited >= deadline_s:
            if seen is not None and not isinstance(last, BaseException):
                last = seen()
            raise WaitTimeout(what, waited, last)
        sleep(min(pause, max(deadline_s - waited, 0.001)))
        pause = min(pause * 1.5, LONGEST_S)
