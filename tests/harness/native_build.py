# SPDX-License-Identifier: Apache-2.0
"""build/portable: the library and the node program for amd64 and arm64, with the C compiler of the ziglang package.

Called by `make lib` and by the images. The library binds to glibc 2.17 at most, the program is static (musl). Quiet
and quick when nothing changed; two processes at once take turns.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from tests.harness import cache, command, versions

FOLDER = versions.CHECKOUT / "build" / "portable"
GLIBC = "2.17"
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
# What is built for each architecture: CMake's target, the system it is built for, the file, its name in FOLDER.
PARTS = (
    ("nvidia-ml", f"linux-gnu.{GLIBC}", "libnvidia-ml-mock.so", "libnvidia-ml.so"),
    ("gpu-sim", "linux-musl", "gpu-sim", "gpu-sim"),
)


class PortableError(Exception):
    """The compiler is missing."""


def zig() -> Path:
    """The compiler, out of this Python's packages."""
    found = importlib.util.find_spec("ziglang")
    places = [Path(place) / "zig" for place in (found.submodule_search_locations or [])] if found else []
    for place in places:
        if place.is_file():
            return place
    raise PortableError(
        f"{sys.executable}: no package ziglang, got none; pip install ziglang=={versions.version('ziglang')}"
    )


def tool(name: str) -> Path:
    return Path(sys.executable).with_name(name)


def _compile(target: str, system: str, processor: str, compiler: Path) -> Path:
    """Brings one target up to date and returns its build folder."""
    source = versions.CHECKOUT / "native"
    folder = FOLDER / "work" / f"{processor}-{system}"
    folder.mkdir(parents=True, exist_ok=True)
    # The compiler keeps C libraries that it has built; beside the other caches, so that they outlive the checkout.
    kept = {name: str(cache.root() / "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    command.run(
        [
            tool("cmake"), "-S", source, "-B", folder, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
            f"-DCMAKE_TOOLCHAIN_FILE={source / 'toolchain-zig.cmake'}", f"-DGPU_SIM_TARGET={processor}-{system}",
            f"-DGPU_SIM_ZIG={compiler}", f"-DPython3_EXECUTABLE={sys.executable}", "-DNVML_HEADER=",
            "-DCMAKE_BUILD_TYPE=Release",
        ],
        extra=kept,
    )  # fmt: skip
    command.run([tool("cmake"), "--build", folder, "--target", target], extra=kept)
    return folder


def _place(built: Path, target: Path) -> None:
    """A copy at `target`, renamed over what is there; untouched if it is the same already."""
    if target.is_file() and target.read_bytes() == built.read_bytes():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copy2(built, unfinished)
    unfinished.replace(target)


def build() -> dict[str, Path]:
    """Architecture → folder with libnvidia-ml.so and gpu-sim, up to date."""
    compiler = zig()
    with cache.locked(f"portable-{cache.digest(str(FOLDER))}"):
        for architecture, processor in ARCHITECTURES.items():
            for target, system, file, name in PARTS:
                folder = _compile(target, system, processor, compiler)
                _place(folder / file, FOLDER / architecture / name)
    return {architecture: FOLDER / architecture for architecture in ARCHITECTURES}


def main() -> int:
    try:
        folders = build()
    except (PortableError, command.CommandError) as error:
        print(f"gpu-sim: {error}", file=sys.stderr)
        return 1
    for folder in folders.values():
        for _, _, _, name in PARTS:
            file = folder / name
            print(f"{file.relative_to(versions.CHECKOUT)}  {file.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
