# SPDX-License-Identifier: Apache-2.0
"""Ends a run from its record alone, whoever made it and however far it got; finds what a run left behind.

Called by provider (stop, and before each start for abandoned runs) and by tests. Nothing is found by a process's name.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from tests.harness import runs
from tests.harness.embedded import cgroups, network, process
from tests.harness.embedded.machine import MARK
from tests.harness.runs import Run
from tests.harness.wait import wait_until


def destroy(run: Run) -> None:
    """Leave nothing of the run. The caller owns its lock; doing it twice is fine."""
    if run.state:
        run.save(status=runs.STOPPING)
    for holder in run.processes():
        process.end(holder)
    # Ending the first process of a machine ends the others; the kernel takes its time over it.
    spaces = run.state.get("namespaces", [])
    wait_until(
        f"the processes of run {run.name} to be gone",
        lambda: not (inhabitants(spaces) or marked(run.name)),
        20,
        seen=lambda: inhabitants(spaces) + marked(run.name),
    )
    slot, index = run.state.get("slot"), run.state.get("interface")
    if slot is not None and index is not None:
        network.disconnect_host(network.Net(slot).interface, index)
    group = run.state.get("cgroup")
    if group:
        wait_until(f"control group {group} to be removed", lambda: not cgroups.remove(group), 20)
    run.remove()


def reap(say=None) -> list[str]:
    """Clean every embedded run that was abandoned; returns their names."""
    done = []
    for run in runs.abandoned():
        if run.state.get("provider", "embedded") != "embedded":
            continue
        if say and run.state:
            say(f"gpu-sim: cleaning up run {run.name}, which was left unfinished")
        destroy(run)
        done.append(run.name)
    return done


def marked(name: str) -> list[int]:
    """Processes that carry the run's mark in their environment."""
    wanted, found = f"{MARK}={name}".encode(), []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def leftovers(name: str, state: dict | None = None) -> list[str]:
    """What there is of a run on this machine, in words; empty after `destroy`. `state`: its record from before."""
    found = [f"process {pid}" for pid in marked(name)]
    folder = runs.base() / name
    if folder.exists():
        found.append(f"folder {folder}")
    for line in Path("/proc/self/mounts").read_text().splitlines():
        if str(folder) in line or "gpu-sim /" in line:
            found.append(f"mount {line}")
    groups = [point / group_name(name) for point in cgroups.everywhere()]
    found += [f"control group {group}" for group in groups if group.exists()]
    if state and "interface" in state:
        interface = network.Net(state["slot"]).interface
        if network.index_of(interface) == state["interface"]:
            found.append(f"interface {interface}")
    found += [f"process {pid} in a namespace of the run" for pid in inhabitants((state or {}).get("namespaces", []))]
    if Path("/run/netns").is_dir():
        found += [f"network namespace {n}" for n in Path("/run/netns").iterdir() if name in n.name]
    return found


def inhabitants(namespaces: list[str]) -> list[int]:
    """Processes whose pid namespace is one of these, as /proc shows its name."""
    found = []
    for folder in Path("/proc").iterdir():
        if namespaces and folder.name.isdigit():
            with contextlib.suppress(OSError):
                if str((folder / "ns/pid").readlink()) in namespaces:
                    found.append(int(folder.name))
    return found


def group_name(run: str) -> str:
    return f"gpu-sim-{run}"
