# SPDX-License-Identifier: Apache-2.0
"""Control groups of a run: one folder for the run, one in it for each node, in every hierarchy of the host.

Called by node (make) and runs (remove, by the recorded name). cgroup v1 has a hierarchy for each controller and wants
cpuset filled in by hand; v2 has one and wants controllers enabled level by level.
"""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path

MOUNTS = Path("/proc/self/mounts")


class CgroupError(Exception):
    """The host does not let us make the groups that a kubelet needs."""


def hierarchies(mounts: Path = MOUNTS) -> tuple[str, list[Path]]:
    """("v1" or "v2", mount points to use). A hybrid host counts as v1: its controllers are in the v1 hierarchies."""
    v1, v2 = [], []
    for line in mounts.read_text().splitlines():
        _device, point, kind, options = line.split()[:4]
        if kind == "cgroup" and "," in options:
            v1.append(Path(point))
        elif kind == "cgroup2":
            v2.append(Path(point))
    if v1:
        return "v1", list(dict.fromkeys(v1))
    if v2:
        return "v2", v2[:1]
    raise CgroupError(f"{mounts}: no cgroup file system is mounted, got none; mount one at /sys/fs/cgroup")


def everywhere(mounts: Path = MOUNTS) -> list[Path]:
    """Every mount point: on a hybrid host containers leave groups in the v2 hierarchy too."""
    rows = [line.split()[:3] for line in mounts.read_text().splitlines()]
    return list(dict.fromkeys(Path(point) for _device, point, kind in rows if kind in ("cgroup", "cgroup2")))


def make(run: str, node: str, mounts: Path = MOUNTS) -> str:
    """Create /<run>/<node> everywhere and return it, as the kubelet's cgroupRoot."""
    version, points = hierarchies(mounts)
    for point in points:
        for folder, parent in ((point / run, point), (point / run / node, point / run)):
            if version == "v2":
                _enable_controllers(parent)
            folder.mkdir(exist_ok=True)
            if version == "v1":
                _copy_cpuset(parent, folder)
    if version == "v2":
        _enable_controllers(points[0] / run / node)
    return f"/{run}/{node}"


def _copy_cpuset(parent: Path, folder: Path) -> None:
    """A new cpuset group is empty, and an empty one takes no process."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (parent / name).exists() and not (folder / name).read_text().strip():
            (folder / name).write_text((parent / name).read_text())


def _enable_controllers(folder: Path) -> None:
    offered = (folder / "cgroup.controllers").read_text().split()
    enabled = (folder / "cgroup.subtree_control").read_text().split()
    for name in offered:
        if name in enabled:
            continue
        try:
            (folder / "cgroup.subtree_control").write_text(f"+{name}")
        except OSError as error:
            if name not in ("cpu", "memory", "pids"):
                continue  # the kubelet does without
            what = "processes live in this group" if error.errno == errno.EBUSY else error.strerror
            raise CgroupError(
                f"{folder}/cgroup.subtree_control: {name} cannot be enabled for groups below, got {what}; "
                "run on the host or in a container that has a delegated cgroup tree"
            ) from None


def remove(run: str, node: str | None = None, mounts: Path = MOUNTS) -> list[Path]:
    """Remove the groups of a run (or of one node), deepest first; returns what could not be removed."""
    left = []
    for point in everywhere(mounts):
        top = point / run / node if node else point / run
        if not top.is_dir():
            continue
        _thaw(top)
        for folder in sorted((f for f in top.rglob("*") if f.is_dir()), key=lambda f: -len(f.parts)):
            with contextlib.suppress(OSError):
                folder.rmdir()
        try:
            top.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            left.append(top)
    return left


def _thaw(top: Path) -> None:
    """A frozen v1 group keeps its processes from dying."""
    for state in top.rglob("freezer.state"):
        with contextlib.suppress(OSError):
            state.write_text("THAWED")
