# SPDX-License-Identifier: Apache-2.0
"""Who carries out a plan: one line of work for each node's faults, one for each node's kills, one for upgrades.

Called by run. Lines run beside each other, so that kills meet upgrades and repairs half-way; within one line the order
of the plan is kept, however late it gets.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable

from tests.harness import control
from tests.harness.cluster import Cluster
from tests.harness.command import CommandError
from tests.harness.soak import kills
from tests.harness.soak.plan import Action
from tests.harness.wait import WaitTimeout, wait_until

# A repair is begun again when the agent, the plugin or the whole pod was replaced under it; each attempt may take
# ctl's own 60 s.
REPAIRED_S = 150
TRY_S = 75
BEGUN_S = 40  # for a fault: there is nobody to ask while the pod is replaced


class Line:
    """A thread that works off what it is given."""

    def __init__(self, name: str, work: Callable[[Action], None], say: Callable[[str], None]):
        self.name, self.work, self.say = name, work, say
        self.errors: list[str] = []
        self._queue: queue.Queue[Action | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, action: Action) -> None:
        self._queue.put(action)

    def _run(self) -> None:
        while (action := self._queue.get()) is not None:
            started = time.monotonic()
            try:
                self.work(action)
                said = f"{time.monotonic() - started:.1f} s"
            except Exception as error:  # one thing that did not work must not hide the others
                said = f"FAILED: {error}"
                self.errors.append(f"{action}: {error}")
            self.say(f"{action}: {said}")

    def end(self, deadline_s: float) -> None:
        self._queue.put(None)
        self._thread.join(deadline_s)
        if self._thread.is_alive():
            left = max(self._queue.qsize() - 1, 0)  # without the word to end
            self.errors.append(f"{self.name}: did not end within {deadline_s:.1f} s; {left} things were not begun")


class Workers:
    """`during` tells what is going on on a node at this moment, in words that are counted with each kill."""

    def __init__(
        self,
        cluster: Cluster,
        upgrade: Callable[[Action], None],
        say: Callable[[str], None],
        during: Callable[[str], list[str]] = lambda node: [],
    ):
        self.cluster, self.upgrade, self.say, self.during = cluster, upgrade, say, during
        self.done: Counter[str] = Counter()
        self._lines: dict[tuple[str, str], Line] = {}
        self._works = {"fault": self._fault, "repair": self._repair, "kill": self._kill, "upgrade": self._upgrade}

    def put(self, action: Action) -> None:
        kind = "ctl" if action.what in ("fault", "repair") else action.what
        key = (kind, action.node)
        if key not in self._lines:
            self._lines[key] = Line(" ".join(key), lambda each: self._works[each.what](each), self.say)
        self._lines[key].put(action)

    def end(self, deadline_s: float) -> list[str]:
        """What did not work, once everything was tried."""
        until = time.monotonic() + deadline_s
        for line in self._lines.values():
            line.end(max(until - time.monotonic(), 0.1))
        return [error for line in self._lines.values() for error in line.errors]

    # ---- what is done ----
    def _ask(self, action: Action, deadline_s: float) -> None:
        last: list[object] = ["nothing"]

        def asked() -> bool:
            try:
                control.ctl(self.cluster, action.node, action.words, timeout=TRY_S)
            except (control.ControlError, CommandError) as error:
                last[0] = error
                if getattr(error, "code", 1) == 2:  # usage: no repetition makes it right
                    raise
                return False
            return True

        wait_until(f"gpu-sim ctl {' '.join(action.words)} on {action.node}", asked, deadline_s, seen=lambda: last[0])

    def _fault(self, action: Action) -> None:
        self._ask(action, BEGUN_S)
        self.done["fault"] += 1

    def _repair(self, action: Action) -> None:
        self._ask(action, REPAIRED_S)
        self.done["repair"] += 1

    def _kill(self, action: Action) -> None:
        (victim,) = action.words
        going_on = self.during(action.node)
        try:
            kills.kill(self.cluster, action.node, victim)
        except WaitTimeout as error:
            raise AssertionError(f"nothing to kill: {error}") from None
        self.done[f"kill {victim}"] += 1
        self.done.update(f"kill during {what}" for what in going_on)

    def _upgrade(self, action: Action) -> None:
        self.upgrade(action)
        self.done["upgrade"] += 1
