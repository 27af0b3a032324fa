# SPDX-License-Identifier: Apache-2.0
"""Can an embedded cluster run on this machine? Everything that is missing, at once, within seconds.

Called by the embedded provider before it starts anything, by .ci/run, and as `python -m tests.harness.preflight`.
It exits with its own code, so that a caller can tell "not on this machine" from a fault of ours.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.harness import cache, command, debian, toolchain
from tests.harness.embedded import cgroups
from tests.harness.progress import Progress
from tests.harness.upstream import GROUPS

EXIT_CODE = 77  # what automake and meson take for "cannot run here"
GIB = 1 << 30
BUILT_GIB, BUILDING_GIB = 2, 9  # free space in the cache, with the upstream programs there and without
STATE_GIB = 2  # images and logs of a running cluster
MEMORY_GIB = 2


class NotHereError(Exception):
    """This machine cannot run an embedded cluster; the message lists every reason."""

    def __init__(self, problems: list[str]):
        self.problems = problems
        super().__init__(f"an embedded cluster cannot run on this machine ({len(problems)} found):\n"
                         + "\n".join(f"  - {problem}" for problem in problems))  # fmt: skip


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def space(folder: Path, wanted_gib: float, what: str) -> list[str]:
    free = shutil.disk_usage(_existing(folder)).free / GIB
    if free >= wanted_gib:
        return []
    return [f"{folder}: disk space for {what}, got {free:.1f} GiB of {wanted_gib:g}; free some or name another folder"]


def memory() -> list[str]:
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, amount = line.split()[:2]
        if name == "MemAvailable:" and int(amount) * 1024 < MEMORY_GIB * GIB:
            return [f"memory: available for the cluster, got {int(amount) / 2**20:.1f} GiB of {MEMORY_GIB}"]
    return []


def ports(wanted: Iterable[tuple[str, int]]) -> list[str]:
    """Addresses that are taken, of those that the caller is going to listen on."""
    taken = []
    for address, port in wanted:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError as error:
                taken.append(f"port {address}:{port}: cannot be listened on, got {error.strerror}; stop what uses it")
    return taken


def privileges() -> list[str]:
    """What the kernel refuses, tried for real in a process of its own."""
    argv = [sys.executable, "-m", "tests.harness.privileges"]
    try:
        return json.loads(command.run(argv, cwd=Path(__file__).parents[2], timeout=4).out)
    except (command.CommandError, ValueError) as error:
        return [f"what this machine allows could not be tried: {error}"]


def cgroup_mode() -> str:
    return cgroups.hierarchies()[0]


def problems(wanted_ports: Iterable[tuple[str, int]] = (), state: Path = Path("/run/gpu-sim")) -> list[str]:
    """All but missing programs. Nothing on the machine is changed."""
    if platform.system() != "Linux":
        return [f"operating system: needs Linux, got {platform.system()}; use kind: make up PROVIDER=kind"]
    found = []
    if os.geteuid() != 0:
        found.append(f"user: needs root, got uid {os.geteuid()}; run it with sudo, or use kind: make up PROVIDER=kind")
    else:
        found += privileges()
    built = all(cache.is_complete(cache.root() / "tools" / group.key()) for group in GROUPS.values())
    found += space(cache.root(), BUILT_GIB if built else BUILDING_GIB, "the cache (GPU_SIM_CACHE names another folder)")
    return found + space(state, STATE_GIB, "running clusters") + memory() + ports(wanted_ports)


def require(wanted_ports: Iterable[tuple[str, int]] = (), state: Path = Path("/run/gpu-sim"), say=None) -> None:
    """Return if a cluster can run here, after installing what is missing; else NotHereError with every reason."""
    found = problems(wanted_ports, state)
    absent = debian.missing("cluster") if platform.system() == "Linux" else []
    if found or (absent and not debian.can_install()):
        listed = [f"{need.name}: {need.why}; {debian.advice([need])}" for need in absent]
        raise NotHereError(found + listed)
    if absent:
        debian.install(absent, say or Progress().say)
        refused = privileges()  # programs that have just come in can be tried now
        if refused:
            raise NotHereError(refused)


def main() -> int:
    try:
        require()
    except NotHereError as error:
        print(f"gpu-sim: {error}", file=sys.stderr)
        return EXIT_CODE
    except (debian.MissingError, command.CommandError, toolchain.ToolchainError) as error:
        print(f"gpu-sim: {error}", file=sys.stderr)
        return 3
    print(f"gpu-sim: an embedded cluster can run on this machine (cgroup {cgroup_mode()})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
