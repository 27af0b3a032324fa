# SPDX-License-Identifier: Apache-2.0
"""cgo with the pinned zig, so that NVIDIA's Go packages build where there is no C compiler. Called by go_build.

They leave the driver's functions unresolved at link time, to be bound when they are first called, by a linker option
that zig does not have. So they are declared weak, which links, and made ordinary symbols in the finished program:
like the real programs, one that calls a function which the library lacks dies naming it.
"""

from __future__ import annotations

import importlib.util
import re
import struct
from pathlib import Path

from tests.harness import cache, command, golang

GLIBC = "2.17"
TARGETS = {"amd64": f"x86_64-linux-gnu.{GLIBC}", "arm64": f"aarch64-linux-gnu.{GLIBC}"}
# Lazy: the symbols are there only once the program has opened the library.
LDFLAGS = "-s -w '-extldflags=-Wl,--export-dynamic -Wl,-z,lazy'"
WRAPPER = """#!/bin/sh
# The pinned zig as cgo's C compiler; written by tests/harness/cgo.py.
n=$#
while [ "$n" -gt 0 ]; do
    word=$1; shift; n=$((n - 1))
    case $word in -Wl,--unresolved-symbols=*) ;; *) set -- "$@" "$word" ;; esac
done
exec {zig} cc -target {target} -include {header} -w -Qunused-arguments "$@"
"""


def zig() -> Path:
    """The compiler's own program: many short runs, and `python -m ziglang` starts an interpreter for each."""
    spec = importlib.util.find_spec("ziglang")
    path = Path(spec.origin).with_name("zig") if spec and spec.origin else None
    if path is None or not path.is_file():
        raise command.CommandError("make help", "the pinned zig is not here: run this through make, which prepares it")
    return path


def driver_functions(module: Path) -> list[str]:
    """Every function of the driver's libraries that NVIDIA's packages, as used by the module, bring headers for."""
    extra = golang.environment()
    listed = command.run([golang.go(), "list", "-m", "all"], cwd=module, extra=extra).out.splitlines()
    wanted = [line.split()[0] for line in listed if line.startswith("github.com/NVIDIA/")]
    # Only these, not all that go.mod names: most of that is for tests of dependencies.
    answer = command.run([golang.go(), "mod", "download", "-json", *wanted], cwd=module, extra=extra).out
    folders = re.findall(r'"Dir": "([^"]+)"', answer)
    headers = [header.read_text() for folder in folders for header in Path(folder).rglob("*.h")]
    return sorted({name for text in headers for name in re.findall(r"\b((?:nvml|nvSandboxUtils)[A-Z]\w*) ?\(", text)})


def environment(module: Path, arch: str) -> dict[str, str]:
    """What `go build` needs for a module with cgo."""
    lines = ["#ifndef __ASSEMBLER__", *(f"#pragma weak {name}" for name in driver_functions(module)), "#endif", ""]
    # Go knows a compiler by its path and keeps what it compiled: another header must be another path.
    folder = cache.root() / "cgo" / cache.digest(str(zig()), arch, WRAPPER, *lines)
    header, wrapper = folder / "weak.h", folder / "cc"
    _write(header, "\n".join(lines), 0o644)
    _write(wrapper, WRAPPER.format(zig=zig(), target=TARGETS[arch], header=header), 0o755)
    return golang.environment(cgo=True) | {
        "CC": str(wrapper),
        "GOARCH": arch,
        "CGO_CFLAGS": "-O1",
        "ZIG_GLOBAL_CACHE_DIR": str(cache.root() / "zig"),
    }


def _write(path: Path, text: str, mode: int) -> None:
    if path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text)
    partial.chmod(mode)
    partial.rename(path)


def make_strong(program: Path, prefix: bytes = b"nv") -> int:
    """Turn the program's undefined weak symbols with this prefix into global ones; how many there were."""
    data = bytearray(program.read_bytes())
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{program}: not a 64-bit little-endian ELF program")
    (sections,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    table = [struct.unpack_from("<IIQQQQIIQQ", data, sections + i * size) for i in range(count)]
    changed = 0
    for _, kind, _, _, offset, length, link, _, _, entry in table:
        if kind != 11:  # SHT_DYNSYM
            continue
        names = table[link][4]
        for at in range(offset, offset + length, entry):
            name, info, _, section = struct.unpack_from("<IBBH", data, at)
            if section == 0 and info >> 4 == 2 and data.startswith(prefix, names + name):  # undefined, STB_WEAK
                data[at + 4] = 1 << 4 | info & 15  # STB_GLOBAL
                changed += 1
    program.write_bytes(data)
    return changed
