# SPDX-License-Identifier: Apache-2.0
"""Programs that only the system's packages bring: says what is missing, and installs it where root and apt-get are.

Called by bootstrap (standard library only), preflight and .ci/run. It looks for programs, not packages, so that any
distribution that has them is fine; Debian's package names are what it can install and advise.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import struct
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.harness import command

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"), Path("/usr/libexec/cni"))
CNI_PLUGINS = ("ptp", "host-local", "loopback")


class MissingError(Exception):
    """Something is missing that cannot be installed from here."""


@dataclass(frozen=True)
class Need:
    name: str
    package: str
    why: str
    found: Callable[[], bool]


def which(program: str) -> str | None:
    """Like shutil.which, but sees the system's sbin folders too, which a user's PATH often lacks."""
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}")


def cni_folder() -> Path | None:
    """The folder with every CNI plugin that a node needs."""
    return next((f for f in CNI_FOLDERS if all((f / plugin).is_file() for plugin in CNI_PLUGINS)), None)


def is_static(program: Path) -> bool:
    """Whether an ELF program asks for no interpreter (it then runs in an image with nothing else in it)."""
    data = program.read_bytes()
    if data[:5] != b"\x7fELF\x02":
        return False
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    return all(struct.unpack_from("<I", data, table + i * size)[0] != 3 for i in range(count))


def static_busybox() -> Path | None:
    path = which("busybox")
    return Path(path) if path and is_static(Path(path)) else None


def _program(name: str, package: str, why: str) -> Need:
    return Need(name, package, why, lambda: which(name) is not None)


def _has_venv() -> bool:
    return all(importlib.util.find_spec(module) for module in ("venv", "ensurepip"))


NEEDS: dict[str, tuple[Need, ...]] = {
    "python": (Need("Python's venv module", "python3-venv", "keeps the pinned Python packages apart", _has_venv),),
    "cluster": (
        _program("runc", "runc", "starts containers"),
        Need(f"CNI plugins ({', '.join(CNI_PLUGINS)})", "containernetworking-plugins", "connects pods",
             lambda: cni_folder() is not None),
        _program("iptables", "iptables", "kubelet's and CNI's packet rules"),
        _program("nft", "nftables", "kube-proxy's packet rules"),
        _program("conntrack", "conntrack", "kube-proxy's clean-up of connections"),
        _program("ip", "iproute2", "networks of the nodes"),
        _program("modprobe", "kmod", "kernel modules"),
        _program("mount", "mount", "file systems of the nodes"),
        _program("nsenter", "util-linux", "namespaces of the nodes"),
        Need("a static busybox", "busybox-static", "the shell in test pods", lambda: static_busybox() is not None),
    ),
    "compiler": (
        _program("gcc", "gcc", "the library with a plain compiler, and its sanitizers"),
        Need("C library headers", "libc6-dev", "the same", lambda: Path("/usr/include/stdio.h").is_file()),
    ),
}  # fmt: skip


def missing(*groups: str) -> list[Need]:
    return [need for group in groups for need in NEEDS[group] if not need.found()]


def advice(needs: Iterable[Need]) -> str:
    """What to type to get them."""
    names = " ".join(need.package for need in needs)
    if which("apt-get"):
        return f"apt-get install {names}"
    return f"install them with your system's package manager (Debian calls them {names})"


def can_install() -> bool:
    return os.geteuid() == 0 and which("apt-get") is not None


def install(needs: list[Need], say: Callable[[str], None]) -> None:
    """Bring `needs` in, saying so first; MissingError with all that is still missing."""
    if not needs:
        return
    listed = "".join(f"\n  {need.name}: {need.why} (Debian: {need.package})" for need in needs)
    if not can_install():
        reason = "not root" if which("apt-get") else "no apt-get here"
        raise MissingError(f"missing on this machine:{listed}\n{reason}, so nothing was installed; {advice(needs)}")
    say(f"gpu-sim: installing Debian packages with apt-get:{listed}")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    apt = ("apt-get", "-q", "-o", "DPkg::Lock::Timeout=300")
    # A machine whose package lists are merely old may still have the packages: the installation tells.
    command.run([*apt, "update"], extra=quiet, check=False)
    names = sorted({need.package for need in needs})
    command.run([*apt, "install", "-y", "--no-install-recommends", *names], extra=quiet)
    importlib.invalidate_caches()
    still = [need for need in needs if not need.found()]
    if still:
        listed = "".join(f"\n  {need.name} (from {need.package})" for need in still)
        raise MissingError(f"installed, but still not found:{listed}")


if __name__ == "__main__":  # `python3 -m tests.harness.debian cluster compiler`
    try:
        install(missing(*(sys.argv[1:] or NEEDS)), lambda text: print(text, file=sys.stderr))
    except (MissingError, command.CommandError) as error:
        sys.exit(f"gpu-sim: {error}")
