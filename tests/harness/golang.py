# SPDX-License-Identifier: Apache-2.0
"""The pinned Go from its wheel, with module and build caches of our own.

Called by toolchain for upstream programs and by whoever builds Go code of ours. A Go that is installed on the
machine is never used: its version would be another one.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from tests.harness import cache, command

LINK_MEMORY_GIB = 2  # linking one Kubernetes program takes about that much


def goroot() -> Path:
    spec = importlib.util.find_spec("go")
    folder = Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else None
    if folder is None or not (folder / "bin" / "go").is_file():
        raise command.CommandError("make help", "the pinned Go is not here: run this through make, which prepares it")
    return folder


def go() -> Path:
    return goroot() / "bin" / "go"


def gofmt() -> Path:
    return goroot() / "bin" / "gofmt"


def environment(cgo: bool = False) -> dict[str, str]:
    """What every use of Go adds to the environment."""
    caches = cache.root() / "go"
    return {
        "GOROOT": str(goroot()),
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-modcacherw -trimpath",
        "GOMODCACHE": str(caches / "mod"),
        "GOCACHE": str(caches / "build"),
        "GOWORK": "off",
        "CGO_ENABLED": "1" if cgo else "0",
    }


def processors() -> int:
    """How many of them this process may use: what GOMAXPROCS says, else the affinity mask."""
    named = os.environ.get("GOMAXPROCS", "")
    return int(named) if named.isdigit() and int(named) > 0 else len(os.sched_getaffinity(0))


def jobs() -> int:
    """Parallel compilations and links: one for each processor, fewer where memory is short."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return max(1, min(processors(), int(memory // LINK_MEMORY_GIB)))


def install_tools(module: Path, out: Path, tags: str, ldflags: str, note=lambda text: None) -> None:
    """Build every `tool` that `module`/go.mod names into `out`; `note` hears how far it is."""
    extra = environment() | {"GOBIN": str(out)}
    packages: set[str] = set()
    downloads = 0

    def listed(line: str) -> None:
        nonlocal downloads
        if line.startswith("go: downloading"):
            downloads += 1
            note(f"{downloads} modules downloaded")
        else:
            packages.add(line)

    select = ["-tags", tags] if tags else []
    command.follow([go(), "list", "-deps", *select, "tool"], listed, cwd=module, extra=extra)
    tools = [line for line in command.run([go(), "list", "tool"], cwd=module, extra=extra).out.splitlines() if line]
    compiled = 0

    def built(line: str) -> None:
        nonlocal compiled
        compiled += line in packages
        programs = sum(1 for path in out.iterdir() if path.is_file())
        note(f"{compiled} of {len(packages)} packages, {programs} of {len(tools)} programs")

    install = [go(), "install", "-v", "-p", jobs(), "-ldflags", ldflags, *select, "tool"]
    command.follow(install, built, cwd=module, extra=extra)
