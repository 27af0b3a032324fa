# SPDX-License-Identifier: Apache-2.0
"""A node's root in a temporary folder, the program run on it, and what is found there. Used by all tests here."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CAP_MKNOD = 27
PR_CAPBSET_DROP = 24
LIBRARIES = "driver/usr/lib64"
STATE = 64 + 2 * 2048  # of a GPU: its flips and two configurations come first
POWER_LIMIT = 32  # in the state


def only_capabilities(*kept: int):
    """For preexec_fn: root as a container with dropped capabilities has it."""

    def drop() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in range(int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1):
            if capability not in kept and libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "PR_CAPBSET_DROP")

    return drop


@dataclass
class NodeRoot:
    """`program` and `library` are the built ones, `path` is the root."""

    program: Path
    library: Path
    path: Path

    def words(self, count: object = 4, release: str = "r1", **options: object) -> list[str]:
        given = {
            "root": self.path,
            "count": count,
            "release": release,
            "namespace": "team-a",
            "node": "node-1",
            "pod": f"{release}-x",
            "library": self.library,
            "proc": self.path.parent / "no-proc",
            "termination-log": self.path.parent / "termination-log",
            "wait": 0,
        } | {name.replace("_", "-"): value for name, value in options.items()}
        words = [str(self.program), "install"]
        for name, value in given.items():
            words += [f"--{name}"] if value is True else [] if value is None else [f"--{name}", str(value)]
        return words

    def install(self, count: object = 4, code: int = 0, preexec=None, **options: object) -> subprocess.CompletedProcess:
        done = subprocess.run(
            self.words(count, **options), capture_output=True, text=True, timeout=60, preexec_fn=preexec
        )
        assert done.returncode == code, done.stderr
        return done

    def run(self, *words: object, code: int | None = 0, **options) -> subprocess.CompletedProcess:
        argv = [str(self.program), *(str(word) for word in words)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, **options)
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    def smi(self, *words: str, code: int = 0) -> str:
        program = self.path / "driver/usr/bin/nvidia-smi"
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=30, env=bare_environment())
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done.stdout

    def uuids(self) -> list[str]:
        return re.findall(r"\(UUID: (\S+)\)", self.smi("-L"))

    def inventory(self) -> Path:
        (found,) = (self.path / LIBRARIES).glob("libnvidia-gpu-sim.so.*")
        return found

    def devices(self) -> list[str]:
        return sorted(path.name for path in (self.path / "driver/dev").iterdir())

    def tree(self) -> dict[str, tuple]:
        """Every name with kind, mode, inode and content or target: what must not change when nothing may."""
        seen = {}
        for folder, folders, files in os.walk(self.path):
            for name in (*folders, *files):
                path = Path(folder, name)
                status = path.lstat()
                content: object = None
                if path.is_symlink():
                    content = str(path.readlink())
                elif path.is_file():
                    content = path.read_bytes()
                seen[str(path.relative_to(self.path))] = (status.st_mode, status.st_ino, status.st_rdev, content)
        return seen


def bare_environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NVML_MOCK", "NVIDIA_", "GPU_SIM", "LD_"))}
    return kept | more


def gpu_state(inventory: bytes, index: int) -> tuple[int, int]:
    """Offset of a GPU's good state, and its number of changes."""
    offset, stride = struct.unpack_from("<II", inventory, 20)
    gpu = offset + index * stride
    (sequence,) = struct.unpack_from("<I", inventory, gpu + 4)
    return gpu + STATE + (sequence & 1) * 2048, sequence


def set_power_limit(inventory: Path, index: int, milliwatts: int) -> None:
    """A store into the mapped file, as a control program makes it."""
    content = inventory.read_bytes()
    at, _ = gpu_state(content, index)
    with inventory.open("r+b") as file:
        file.seek(at + POWER_LIMIT)
        file.write(struct.pack("<I", milliwatts))


def power_limit(inventory: Path, index: int) -> int:
    content = inventory.read_bytes()
    at, _ = gpu_state(content, index)
    return struct.unpack_from("<I", content, at + POWER_LIMIT)[0]


def mounted(folder: Path, *options: str):
    """A small file system of our own over `folder`, in this process's namespace; for `with`."""
    from contextlib import contextmanager

    @contextmanager
    def mount():
        subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", folder], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)

    return mount()


def shown(done: subprocess.CompletedProcess, expected: Sequence[str]) -> None:
    """Every expected piece is in what the command said."""
    missing = [piece for piece in expected if piece not in done.stderr]
    assert not missing, f"missing {missing} in:\n{done.stderr}"
