# SPDX-License-Identifier: Apache-2.0
"""The oracle at work: a look at every change, a sentence at once for each violation, a table at the end.

Called by the command `audit`, by tests and by the soak, which run it in a thread: `with Audit(cluster): …`.
"""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.harness.audit import objects
from tests.harness.audit.judge import Judge, Violation
from tests.harness.audit.model import Node, Reading, Snapshot
from tests.harness.audit.sources import Source, choose
from tests.harness.audit.store import KINDS, Store
from tests.harness.cluster import Cluster
from tests.harness.table import table

GAP_S = 0.3  # changes that come in one burst are one look
EVERY_S = 2.0  # the kubelet rings no bell
LIST_S = 60  # for the first answer of the API
LONGEST_S = 240  # a single audit ends by then, whatever comes and goes


class Audit:
    def __init__(self, cluster: Cluster, source: Source | None = None, say: Callable[[str], None] = print):
        self.cluster, self.source, self.say = cluster, source or choose(cluster), say
        self.judge, self.store = Judge(), Store(cluster.kube)
        self.nodes: set[str] = set()  # of which something was read
        self.failed: BaseException | None = None  # what ended the thread
        self._pool = ThreadPoolExecutor(max_workers=8)
        self._readings: dict[str, tuple[float, Reading]] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def violations(self) -> list[Violation]:
        return self.judge.violations

    # ---- looking ----
    def snapshot(self) -> Snapshot | None:
        """None while the API's objects are not known for certain."""
        pods = list(self.store.all("Pod"))
        plugins = objects.plugins(pods)
        served = sorted({p["spec"]["nodeName"] for p in pods if objects.is_node_pod(p) and p["spec"].get("nodeName")})
        nodes = {item["metadata"]["name"]: objects.node(item, plugins) for item in self.store.all("Node")}
        readings = tuple(self._pool.map(lambda name: self._read(nodes[name]), [n for n in served if n in nodes]))
        if not self.store.fresh:
            return None
        # After the nodes: what the kubelet holds was known to the API before it.
        return Snapshot(
            tuple(objects.pod(item) for item in self.store.all("Pod")),
            tuple(objects.node(item, plugins) for item in self.store.all("Node")),
            readings,
            tuple(objects.quotas(self.store.all("ResourceQuota"))),
        )

    def _read(self, node: Node) -> Reading:
        at, reading = self._readings.get(node.name, (-1e9, None))
        now = time.monotonic()
        if reading is None or now - at >= self.source.every_s:
            reading = self.source.read(node.name, node.capacity + node.mig)
            self._readings[node.name] = (now, reading)
            if not reading.problem:
                self.nodes.add(node.name)
        return reading

    def look(self) -> None:
        snapshot = self.snapshot()
        if snapshot is not None:
            clock = datetime.datetime.now().strftime("%H:%M:%S")
            for violation in self.judge.look(snapshot, time.monotonic(), clock):
                self.say(str(violation))

    # ---- for how long ----
    def watch(self, seconds: float | None = None) -> None:
        """Until `stop`, for some seconds, or for ever."""
        self._go(lambda waited: seconds is not None and waited >= seconds)

    def once(self) -> None:
        """Until nothing is open: a cluster that is in order is looked at twice, a doubtful one until it is certain."""
        self._go(lambda waited: (self.judge.checks > 1 and not self.judge.unsettled) or waited >= LONGEST_S)

    def _go(self, enough: Callable[[float], bool]) -> None:
        self.store.start()
        try:
            if not self.store.wait(LIST_S):
                raise OSError(f"the API did not list {', '.join(KINDS)} within {LIST_S} s; is the cluster up?")
            started = time.monotonic()
            while not self._ended.is_set():
                self.store.bell.clear()
                self.look()
                if enough(time.monotonic() - started):
                    return
                self._ended.wait(GAP_S)
                self.store.bell.wait(EVERY_S)
        finally:
            self.store.stop()

    # ---- beside something else ----
    def __enter__(self) -> Audit:
        def run() -> None:
            try:
                self.watch()
            except BaseException as error:  # told by whoever ends the thread
                self.failed = error

        self._thread = threading.Thread(target=run, name="audit", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_exception) -> None:
        self._ended.set()
        self.store.bell.set()
        self._thread.join()
        if self.failed:
            raise self.failed

    # ---- what came out ----
    def counts(self) -> dict[str, int]:
        judge = self.judge
        return {
            "nodes checked": len(self.nodes),
            "pods seen": len(judge.seen),
            "allocations checked": len(judge.allocations),
            "checks": judge.checks,
            "pods refused by a kubelet": len(judge.refused),
            "violations": len(judge.violations),
        }

    def summary(self) -> str:
        return table(["AUDIT", "COUNT"], [list(row) for row in self.counts().items()])
