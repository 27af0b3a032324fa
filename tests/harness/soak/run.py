# SPDX-License-Identifier: Apache-2.0
"""A soak from beginning to end: the scene, the plan carried out in time, the oracle beside it, and the counts.

Called by the command `soak` with a cluster of its own, and by tests with theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.harness.audit import Audit
from tests.harness.cluster import Cluster
from tests.harness.heartbeat import Heartbeat, counted
from tests.harness.soak import kills, memory
from tests.harness.soak.churn import Churn, is_given
from tests.harness.soak.plan import KILL_EVERY_S, NODES_OWN, OURS, Action, plan
from tests.harness.soak.scene import CHANGING, Scene
from tests.harness.soak.workers import Workers
from tests.harness.table import table
from tests.harness.wait import WaitTimeout, wait_until

# One pod a second is planned. On two processors that also carried the nodes, kills and upgrades, 58 a minute ran or
# were refused in 600 s on three nodes, and 46 in 75 s on two, of which the end is quiet. Far below, something has
# become slow, and little is proven. While a GPU is lost the plugin refuses every pod of its node: up to 28 % of all.
PODS_PER_MINUTE, RUN_AT_LEAST = 35, 0.5
TICK_S = 0.2
SAMPLE_S = 5.0
ROLLING_S = 15.0  # from helm's start until the new pods are ready
LATE_S = 240  # for repairs and upgrades that are still going on when the plan is over
EMPTY_S = 90  # for the last pods to leave


class Soak:
    def __init__(
        self, cluster: Cluster, seed: int, seconds: float, log: Path, nodes: list[str] | None = None,
        say: Callable[[str], None] = print,
    ):  # fmt: skip
        self.cluster, self.seed, self.seconds, self.say = cluster, seed, seconds, say
        self.nodes = nodes or cluster.nodes
        self.log, self.problems = log, []
        self.audit = Audit(cluster, say=lambda text: self._note(f"VIOLATION {text}"))
        self.scene = Scene(cluster, self.nodes, self.audit.source.read)
        self.churn = Churn(cluster.kube, lambda: list(self.audit.store.all("Pod")))
        self.workers = Workers(cluster, self._upgrade, self._note, self._during)
        self.samples: list[memory.Sample] = []
        self.actions = plan(seed, seconds, self.nodes)
        self._started = 0.0
        self._upgraded = -ROLLING_S

    # ---- the course of it ----
    def run(self) -> bool:
        """True when everything held."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_text(f"seed {self.seed}, {self.seconds:g} s, nodes {' '.join(self.nodes)}\n")
        self.scene.prepare()
        with self.audit, Heartbeat(self.say, self._alive):
            self.audit.store.wait(60)
            self._started = time.monotonic()
            self._work()
            self.problems += self.workers.end(LATE_S)
            self._empty()
            self.problems += self.scene.proven()
        self.problems += [str(violation) for violation in self.audit.violations]
        self.problems += self._too_little() + self._grown()
        for problem in self.problems:
            self._note(f"WRONG {problem}")
        return not self.problems

    def _work(self) -> None:
        left, sampled = list(self.actions), 0.0
        while (now := time.monotonic() - self._started) < self.seconds:
            while left and left[0].at <= now:
                self._begin(left.pop(0))
            self._tend()
            if now - sampled >= SAMPLE_S:
                sampled = now
                self._sample(now)
            self.audit.store.bell.wait(TICK_S)

    def _begin(self, action: Action) -> None:
        if action.what != "pod":
            self.workers.put(action)
            return
        size, life, kind = action.words
        try:
            self.churn.create(int(size), float(life), kind == "ends")
        except Exception as error:
            self.problems.append(f"{action}: {error}")

    def _tend(self) -> None:
        try:
            self.churn.tend()
        except OSError as error:  # tried again at the next tick
            self._note(f"tend: {error}")

    def _upgrade(self, action: Action) -> None:
        values = {key: int(value) for key, _, value in (word.partition("=") for word in action.words)}
        self._upgraded = time.monotonic()
        self.scene.apply(CHANGING, values)

    def _during(self, node: str) -> list[str]:
        waiting = [p for p in self.audit.store.all("Pod") if p["spec"].get("nodeName") == node and is_given(p)]
        rolling = time.monotonic() - self._upgraded < ROLLING_S and self.scene.roles[node] == CHANGING
        return [*(["allocation"] if waiting else []), *(["upgrade"] if rolling else [])]

    def _sample(self, now: float) -> None:
        for node in self.nodes:
            try:
                running = kills.containers(self.cluster, node)
            except OSError:
                continue
            for program in OURS:
                found = kills.first_process(running[program]) if program in running else None
                if found:
                    kib, age = memory.resident(found.pid), memory.age_s(found.pid)
                    self.samples.append(memory.Sample(now, node, program, kib, age))

    def _empty(self) -> None:
        self.churn.end()

        def gone() -> bool:
            self.churn.tend()
            return not self.churn.living

        try:
            wait_until("the last pods to leave", gone, EMPTY_S, seen=lambda: self.churn.living)
        except WaitTimeout as error:
            self.problems.append(str(error))

    def _alive(self) -> str:
        done, churn = self.workers.done, self.churn
        return f"{self.seconds:g} s are planned; " + counted(
            {
                "pods run": churn.ran,
                "refused": churn.refused,
                "allocations checked": len(self.audit.judge.allocations),
                "checks": self.audit.judge.checks,
                "faults": done["fault"],
                "repairs": done["repair"],
                "kills": sum(done[f"kill {victim}"] for victim in (*OURS, *NODES_OWN)),
                "upgrades": done["upgrade"],
                "violations": len(self.audit.violations),
                "problems": len(self.problems),
            }
        )

    # ---- what came out ----
    def _too_little(self) -> list[str]:
        found, minutes = [], self.seconds / 60
        ran, answered = self.churn.ran, self.churn.ran + self.churn.refused
        if answered < PODS_PER_MINUTE * minutes:
            text = f"{answered} pods ran or were refused in {minutes:g} min, at least {PODS_PER_MINUTE} a minute must"
            found.append(text)
        if ran < RUN_AT_LEAST * self.churn.made:
            found.append(f"{ran} of {self.churn.made} pods ran, at least {RUN_AT_LEAST:.0%} must")
        planned = max(1, round(self.seconds / KILL_EVERY_S))
        for victim in (*OURS, *NODES_OWN):
            if self.workers.done[f"kill {victim}"] < planned:
                found.append(f"{victim} was killed {self.workers.done[f'kill {victim}']} times of {planned}")
        if not self.audit.judge.allocations:
            found.append("the oracle saw no allocation at all")
        return found

    def _grown(self) -> list[str]:
        return [str(trend) for trend in self.trends() if not trend.flat]

    def trends(self) -> list[memory.Trend]:
        return memory.trends(self.samples, self.seconds)

    def summary(self) -> str:
        done, churn = self.workers.done, self.churn
        rows = [
            ["pods run", churn.ran],
            ["pods refused by a kubelet", churn.refused],
            ["pods that failed to start", churn.failed],
            ["pods that found no GPUs in time", churn.waited],
            ["allocations checked", len(self.audit.judge.allocations)],
            ["checks of the oracle", self.audit.judge.checks],
            ["violations", len(self.audit.violations)],
            ["faults", done["fault"]],
            ["repairs", done["repair"]],
            *([f"kills of {victim}", done[f"kill {victim}"]] for victim in (*OURS, *NODES_OWN)),
            ["kills during an allocation", done["kill during allocation"]],
            ["kills during an upgrade", done["kill during upgrade"]],
            ["upgrades", done["upgrade"]],
        ]
        grown = [[t.node, t.program, t.first_kib, t.last_kib, "flat" if t.flat else "GROWN"] for t in self.trends()]
        parts = [table(["SOAK", "COUNT"], rows)]
        if grown:
            parts.append(table(["NODE", "PROGRAM", "FIRST THIRD KIB", "LAST THIRD KIB", "MEMORY"], grown))
        return "\n\n".join([*parts, f"seed {self.seed}: run it again with SEED={self.seed} SECONDS={self.seconds:g}"])

    def _note(self, text: str) -> None:
        at = time.monotonic() - self._started if self._started else 0.0
        with self.log.open("a") as out:
            out.write(f"{at:7.1f} {text}\n")
        if text.startswith(("VIOLATION", "WRONG")) or "FAILED" in text:
            self.say(text)
