# SPDX-License-Identifier: Apache-2.0
"""What happens to a node: programs that are killed, a machine that loses its power, a Node object that is deleted.

Called by the tests of healing. Moments and orders come from one seed, which is printed; GPU_SIM_SEED repeats them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import secrets
import signal
import threading
import time
from collections.abc import Iterator

from tests.e2e.scenes import gpu_pod
from tests.e2e.space import Space
from tests.e2e.stage import Stage
from tests.harness.embedded import process
from tests.harness.kube import KubeError
from tests.harness.wait import wait_until

SERVICES = ("containerd", "kubelet")


def seeded() -> random.Random:
    seed = os.environ.get("GPU_SIM_SEED") or secrets.token_hex(4)
    print(f"the moments of this test: GPU_SIM_SEED={seed}")
    return random.Random(seed)


def wait_for_moment(seconds: float) -> None:
    then = time.monotonic() + seconds
    wait_until("the moment", lambda: time.monotonic() >= then, seconds + 5)


def kill(stage: Stage, node: str, victim: str) -> None:
    """SIGKILL to a program of the node, or to all of a container of its pod; a program is started again."""
    if victim in SERVICES:
        machine = stage.cluster.node(node)
        machine.kill(victim)
        machine.start()
        return
    found = wait_until(f"a process of {victim} on {node}", lambda: stage.host(node).processes(victim), 30)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def allocating(space: Space, node: str) -> Iterator[None]:
    """Pods of one and two GPUs come and go all the time. What becomes of them while things break is not asked."""
    stop, made = threading.Event(), []

    def keep_going() -> None:
        while not stop.is_set():
            small, large = f"busy-{secrets.token_hex(3)}", f"busy-{secrets.token_hex(3)}"
            made.extend([small, large])
            with contextlib.suppress(KubeError, OSError, AssertionError):
                space.create(gpu_pod(small, 1, node), gpu_pod(large, 2, node))
                started = functools.partial(lambda pod: stop.is_set() or space.phase(pod) != "Pending", large)
                wait_until("a pod to start", started, 2)
                space.delete_pods(small)

    thread = threading.Thread(target=keep_going, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        space.delete_pods(*made)


def power_cut(stage: Stage, node: str) -> None:
    """Everything on the node ends at once, shims and containers too; only its disk and its network stay."""
    machine = stage.cluster.node(node)
    for service in SERVICES:
        machine.kill(service)
    first, kept = machine.machine.pid, {machine.machine.service("kube-proxy").pid}

    def silent() -> bool:
        ending = [pid for child in set(process.children(first)) - kept for pid in _family(child)]
        for pid in ending:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not ending  # those whose parent has just died are children of the first process in the next round

    wait_until(f"{node} to be silent", silent, 20, seen=lambda: process.children(first))


def _family(pid: int) -> list[int]:
    """The process and all below it, as far as they live: nobody may have asked how a dead one ended."""
    found = [each for child in process.children(pid) for each in _family(child)]
    with contextlib.suppress(ProcessLookupError):
        found += [pid] * process.alive(process.of(pid))
    return found
