# SPDX-License-Identifier: Apache-2.0
"""`make soak`: a cluster of its own for the soak, and what came out of it. Called by cli.

Exit codes: 0 all held, 1 something did not; Ctrl-C ends it, with the cluster removed.
"""

from __future__ import annotations

import os
import random

from tests.harness import evidence, plugin_image, preflight, runs, up
from tests.harness.embedded import provider
from tests.harness.progress import Progress
from tests.harness.runs import Run
from tests.harness.soak.run import Soak
from tests.harness.versions import CHECKOUT

NODES = 3
FOLDER = CHECKOUT / "build" / "soak"


def run(seconds: float, seed: int | None, name: str | None, progress: Progress) -> int:
    preflight.require(state=runs.base(), say=progress.say)
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    print(f"gpu-sim: soak of {seconds:g} s on {NODES} nodes, SEED={seed}", flush=True)
    print(f"gpu-sim: device plugin: {plugin_image.describe()}", flush=True)
    archives = up.archives("embedded", progress)
    run = Run(name or f"soak-{os.getpid()}")
    cluster = provider.start(run.name, NODES, images=archives, transient=True, progress=progress, run=run)
    try:
        soak = Soak(cluster, seed, seconds, FOLDER / f"{seed}.log", say=lambda text: print(text, flush=True))
        try:
            good = soak.run()
        finally:
            print(soak.summary(), flush=True)
        print(f"gpu-sim: what was done, and when: {soak.log.relative_to(CHECKOUT)}")
        if not good:
            print(f"gpu-sim: evidence: {evidence.collect(cluster, FOLDER / f'{seed}-evidence')}")
    finally:
        cluster.stop()
    return 0 if good else 1
