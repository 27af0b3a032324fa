# SPDX-License-Identifier: Apache-2.0
"""Images that people's pods are like: Debian with Python and NVIDIA's tools, Alpine (musl), busybox (static).

Called by the tests that look from inside pods, which make and load what they need: `archive("debian")`. None has
anything of ours but the musl probe, so that what works in them works by what a GPU pod is given.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable
from pathlib import Path

import pynvml

from tests.harness import cache, command, debian, debian_packages, go_build, images, nvidia_smi, oci, upstream
from tests.harness.image_contents import program, shell
from tests.harness.oci import Directory, Entry, File, Image, Link

PYTHON = "python3.11"
DEBIAN = (
    "libc6",
    "libexpat1",
    "libffi8",
    "zlib1g",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    f"{PYTHON}-minimal",
)
MERGED = ("bin", "lib", "lib64", "sbin")  # links into /usr since Debian 12; packages still name some of them
LEFT_OUT = ("usr/share", "usr/lib/x86_64-linux-gnu/gconv", "usr/lib/aarch64-linux-gnu/gconv")
REAL_SMI = "opt/nvidia-smi"  # not in PATH, where the one that pods are given is found


def like_debian() -> list[Image]:
    """glibc with its cache of libraries, Python with nvidia-ml-py, and the real nvidia-smi, at a path of its own."""
    root = debian_packages.unpacked(DEBIAN)
    files = {f"usr/{name}" if name.startswith("bin/") else name: entry for name, entry in shell("bin").items()}
    files |= {name: entry for name, entry in tree(root).items() if not name.startswith(LEFT_OUT)}
    files |= {name: Link(f"usr/{name}") for name in MERGED}
    files["usr/bin/python3"] = Link(PYTHON)
    files["usr/lib/python3/dist-packages/pynvml.py"] = File(Path(pynvml.__file__).read_bytes())  # all of nvidia-ml-py
    files["etc/ld.so.cache"] = File((_loader_cache(root) / "ld.so.cache").read_bytes())
    files[REAL_SMI] = program(nvidia_smi.program("trixie")[0])
    return [Image(upstream.arch(), files, command=("/bin/sh",))]


def like_alpine() -> list[Image]:
    """musl where Alpine has it and without a path file, as there; busybox; the probe built for musl."""
    machine = platform.machine()
    loader = f"lib/ld-musl-{machine}.so.1"
    root = debian_packages.unpacked(["musl"])
    files = {
        **shell("bin"),
        loader: program(root / f"lib/{machine}-linux-musl/libc.so"),
        f"lib/libc.musl-{machine}.so.1": Link(Path(loader).name),
        "usr/lib": Directory(),
        "usr/local/lib": Directory(),
        "usr/bin/nvml-probe": program(go_build.musl_probe()),
    }
    return [Image(upstream.arch(), files, command=("/bin/sh",))]


def static() -> list[Image]:
    """busybox and nothing else: no C library, no /usr."""
    return [Image(upstream.arch(), shell("bin"), command=("/bin/sh",))]


CONTENTS: dict[str, Callable[[], list[Image]]] = {"debian": like_debian, "alpine": like_alpine, "busybox": static}


def reference(name: str) -> str:
    return f"localhost/gpu-sim-like-{name}:{images.PROJECT}"


def archive(name: str) -> Path:
    """The up-to-date archive, made now if need be. UnavailableError of nvidia_smi where Debian cannot be reached."""
    path = images.BUILD / f"like-{name}-image.tar"
    with cache.locked(f"image-{cache.digest(str(path))}"):
        oci.write(path, reference(name), CONTENTS[name]())
    return path


def tree(root: Path) -> dict[str, Entry]:
    """An unpacked package as the entries of an image, with /usr merged."""
    found: dict[str, Entry] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        name = f"usr/{name}" if name.split("/")[0] in MERGED else name
        if path.is_symlink():
            found[name] = Link(str(path.readlink()))
        elif path.is_file():
            found[name] = File(path.read_bytes(), path.stat().st_mode & 0o7777)
    return found


def _loader_cache(root: Path) -> Path:
    """The folder with the /etc/ld.so.cache that Debian's own ldconfig would have left in the image."""

    def build(folder: Path) -> None:
        copy = folder / "root"
        for part in ("lib", "lib64", "usr/lib", "etc"):
            if (root / part).is_dir():
                shutil.copytree(root / part, copy / part, symlinks=True)
        (copy / "etc/ld.so.conf").write_text("include /etc/ld.so.conf.d/*.conf\n")
        command.run([debian.which("ldconfig") or "ldconfig", "-r", copy])
        (copy / "etc/ld.so.cache").rename(folder / "ld.so.cache")
        shutil.rmtree(copy)

    return cache.entry("images", f"loader-cache-{root.parent.name}", build)
