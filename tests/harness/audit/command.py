# SPDX-License-Identifier: Apache-2.0
"""`make audit`: once, until all is certain, or watching, with its counts once a minute. The table is printed however it
ends, even by Ctrl-C.

Called by cli. Exit codes: 0 nothing is wrong, 1 violations or nothing to check, 130 interrupted.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.harness.audit import junit
from tests.harness.audit.watch import Audit
from tests.harness.cluster import Cluster
from tests.harness.heartbeat import Heartbeat, counted
from tests.harness.runs import RunError

INTERRUPTED = 130


def run(cluster: Cluster, watch: bool, seconds: float | None, report: str | None, audit: Audit | None = None) -> int:
    file = Path(report) if report else None
    if file and not file.absolute().parent.is_dir():
        raise RunError(f"junit: its folder must be there, got {report!r}; make it, or name another")
    audit = audit or Audit(cluster, say=lambda text: print(text, flush=True))
    started, code = time.monotonic(), 0
    try:
        if watch or seconds:
            with Heartbeat(audit.say, lambda: counted(audit.counts())):
                audit.watch(seconds)
        else:
            audit.once()
    except KeyboardInterrupt:
        code = INTERRUPTED
    text = audit.summary()
    print(text, flush=True)
    if file:
        junit.write(file, audit.violations, time.monotonic() - started, text)
    if not audit.nodes:
        print("gpu-sim: nothing was checked: no node has simulated GPUs that can be read", file=sys.stderr)
        return code or 1
    if audit.judge.unsettled:
        print(f"gpu-sim: {audit.judge.unsettled} findings were too young to count", file=sys.stderr)
    return code or (1 if audit.violations else 0)
