# SPDX-License-Identifier: Apache-2.0
"""A node from below: its files and processes, as this machine's kernel shows them.

Called by tests through Stage.host. It trusts nothing that the pods on the node say about themselves.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.e2e.watching import watch

ROOT = "/var/lib/gpu-sim"
PLUGINS = "/var/lib/kubelet/device-plugins"
CDI = "/var/run/cdi"
# The kubelet's own, which come and go with any plugin.
KUBELET_FILES = {f"{PLUGINS}/kubelet.sock", f"{PLUGINS}/kubelet_internal_checkpoint"}


class Gpu(NamedTuple):
    uuid: str
    name: str
    memory_mib: int


class Host:
    def __init__(self, node, pod: dict | None):
        self.node, self.pod = node, pod

    def path(self, inside: str) -> Path:
        return self.node.host_path(inside)

    # ---- files ----
    def driver_file(self, name: str) -> Path:
        return self.path(f"{ROOT}/driver/{name}")

    def inventory_file(self) -> Path:
        (found,) = self.path(f"{ROOT}/driver/usr/lib64").glob("libnvidia-gpu-sim.so.*")
        return found

    def inventory(self) -> list[Gpu]:
        """The node's GPUs as its file has them."""
        query = [
            f"{ROOT}/driver/usr/bin/nvidia-smi",
            "--query-gpu=uuid,name,memory.total",
            "--format=csv,noheader,nounits",
        ]
        rows = [line.split(", ") for line in self.node.run(query).out.splitlines()]
        return [Gpu(uuid, name, int(memory)) for uuid, name, memory in rows]

    def files(self) -> set[str]:
        """Everything below the directories that the chart uses, but what belongs to the kubelet."""
        found = set()
        for top in (ROOT, PLUGINS, CDI):
            here = self.path(top)
            for folder, _, names in os.walk(here):
                for name in names:
                    found.add(f"{top}/{(Path(folder) / name).relative_to(here)}")
        return found - KUBELET_FILES

    def watch_missing(self, files: set[str]) -> Callable[[], set[str]]:
        """Looks for the files until the returned function is called, which names those that were ever absent."""
        paths = {name: self.path(name) for name in files}
        return watch(0.02, lambda: [name for name, path in paths.items() if not os.path.lexists(path)])

    # ---- processes ----
    def process(self, container: str) -> int:
        """The first process of a container of the node's pod, by its id on this machine."""
        found = self.processes(container)
        assert found, f"no process of container {container} on this machine"
        return min(found)

    def processes(self, container: str) -> list[int]:
        """Those of a container of the node's pod, a native sidecar's too; none while it does not run."""
        status = (self.pod or {"status": {}})["status"]
        identities = [
            each["containerID"].rpartition("/")[2]
            for each in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
            if each["name"] == container and each.get("containerID")
        ]
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):  # it ended while we looked
                    text = (entry / "cgroup").read_text()
                    found += [int(entry.name)] * any(identity in text for identity in identities)
        return found


def mapped_inodes(pid: int, name: str) -> set[int]:
    """Inodes of the files mapped by a process whose path contains `name`."""
    rows = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    return {int(row[4]) for row in rows if len(row) > 5 and name in row[5]}


def status_of(pid: int) -> dict[str, str]:
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {key: value.strip() for key, value in (row.split(":", 1) for row in rows)}


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def age_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return float(Path("/proc/uptime").read_text().split()[0]) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
