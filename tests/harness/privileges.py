# SPDX-License-Identifier: Apache-2.0
"""Tries what an embedded node does to a machine, in namespaces of its own, and prints what is refused as JSON.

Run by preflight as a process of its own: `python -m tests.harness.privileges`. It tries instead of reading capability
bits, because a user namespace has them all and may still do nothing. Leaves nothing: the namespaces die with it.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.harness import debian
from tests.harness.embedded import cgroups

NEW_MOUNTS, NEW_NETWORK = 0x00020000, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
STAGE = Path("/tmp")  # covered by a tmpfs of our own before it is used


def _refused(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def unshare(flag: int) -> None:
    if LIBC.unshare(flag):
        raise _refused(ctypes.get_errno())


def mount(source: str, target: Path | str, kind: str | None, flags: int = 0, options: str | None = None) -> None:
    given = [None if text is None else text.encode() for text in (source, str(target), kind)]
    if LIBC.mount(*given, ctypes.c_ulong(flags), None if options is None else options.encode()):
        raise _refused(ctypes.get_errno())


def private_mounts() -> None:
    unshare(NEW_MOUNTS)
    mount("none", "/", None, 0x4000 | 0x40000)  # MS_REC | MS_PRIVATE: nothing of what follows is seen outside
    mount("gpu-sim", STAGE, "tmpfs")


def overlay() -> None:
    for name in ("lower", "upper", "work", "merged"):
        (STAGE / name).mkdir()
    options = f"lowerdir={STAGE}/lower,upperdir={STAGE}/upper,workdir={STAGE}/work"
    mount("gpu-sim", STAGE / "merged", "overlay", 0, options)


def device_node() -> None:
    os.mknod(STAGE / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    (STAGE / "null").write_bytes(b"x")


def kernel_log() -> None:
    os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))


def _tool(*argv: str) -> None:
    program = debian.which(argv[0])
    if program is None:
        return  # preflight names missing programs itself
    done = subprocess.run([program, *argv[1:]], capture_output=True, text=True, timeout=3)
    if done.returncode:
        raise OSError(done.returncode, (done.stderr or done.stdout).strip().replace("\n", "; "))


def private_network() -> None:
    unshare(NEW_NETWORK)
    _tool("ip", "link", "add", "gs0", "type", "bridge")
    _tool("ip", "link", "add", "gs1", "type", "veth", "peer", "name", "gs2")


def packet_rules() -> None:
    _tool("nft", "add", "table", "ip", "gpu-sim")


def control_groups() -> None:
    _version, points = cgroups.hierarchies()
    for point in points:
        folder = point / f"gpu-sim-try-{os.getpid()}"
        folder.mkdir()
        folder.rmdir()


# What is tried, in order (later ones need what earlier ones set up), and who would fail without it.
TRIES: tuple[tuple[str, Callable[[], None], str], ...] = (
    ("mounts of its own", private_mounts, "each node has its own /var/lib/kubelet"),
    ("overlay file systems", overlay, "containers' root file systems"),
    ("device nodes (mknod)", device_node, "/dev/nvidia0 and the others"),
    ("reading /dev/kmsg", kernel_log, "kubelet watches it"),
    ("networks of its own", private_network, "each node has its own address"),
    ("nftables rules", packet_rules, "kube-proxy's Services"),
    ("control groups", control_groups, "kubelet and runc keep containers in them"),
)


def tried(tries=TRIES) -> Iterator[str]:
    for name, attempt, why in tries:
        try:
            attempt()
        except (OSError, cgroups.CgroupError, subprocess.SubprocessError) as error:
            yield f"{name}: {why}; refused: {getattr(error, 'strerror', None) or error}"
            if attempt is private_mounts:  # without them the next ones would touch the machine itself
                yield "nothing else was tried, since it would have touched the machine itself"
                return


if __name__ == "__main__":
    json.dump(list(tried()), sys.stdout)
