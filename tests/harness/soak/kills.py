# SPDX-License-Identifier: Apache-2.0
"""Ends programs of a node without giving them time, and starts those that nobody else starts again.

Called by run. Only where the node's processes are this machine's, which is the embedded cluster.
"""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path

from tests.harness import control
from tests.harness.cluster import Cluster
from tests.harness.embedded import process
from tests.harness.embedded.process import Process
from tests.harness.soak.plan import OURS
from tests.harness.wait import wait_until

THERE_S = 40  # a victim that is just starting, or whose pod is being replaced, is waited for


def containers(cluster: Cluster, node: str) -> dict[str, str]:
    """Running containers of the node's pod: name → id."""
    pod = control.node_pods(cluster.kube).get(node)
    status = pod["status"] if pod else {}
    return {
        each["name"]: each["containerID"].rpartition("/")[2]
        for each in [*status.get("containerStatuses", []), *status.get("initContainerStatuses", [])]
        if "running" in each["state"] and each.get("containerID")
    }


def first_process(container: str, proc: Path = Path("/proc")) -> Process | None:
    """The first process of a container, by its id on this machine."""
    found = []
    for entry in proc.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it ended while we looked
                if container in (entry / "cgroup").read_text():
                    found.append(int(entry.name))
    with contextlib.suppress(ProcessLookupError):
        return process.of(min(found)) if found else None
    return None


def kill(cluster: Cluster, node: str, victim: str) -> None:
    """Raises WaitTimeout when there was nothing to kill."""
    if victim in OURS:
        wait_until(f"{victim} of {node} to be there and killed", lambda: _container(cluster, node, victim), THERE_S)
        return
    machine = cluster.node(node)
    wait_until(f"{victim} on {node}", lambda: machine.running(victim), THERE_S)
    machine.kill(victim)
    (machine.start_kubelet if victim == "kubelet" else machine.start_containerd)()


def _container(cluster: Cluster, node: str, name: str) -> bool:
    identity = containers(cluster, node).get(name)
    found = first_process(identity) if identity else None
    return found is not None and process.end(found, signal.SIGKILL)
