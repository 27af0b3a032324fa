# SPDX-License-Identifier: Apache-2.0
"""What is in each image, one function for each. Called by images.py; each builds what it needs, then reads it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.harness import cache, command, debian, upstream, versions
from tests.harness.oci import Directory, File, Image, Link

ZIG_TARGETS = {"amd64": "x86_64-linux-musl", "arm64": "aarch64-linux-musl"}
ARCHITECTURES = tuple(ZIG_TARGETS)
LABELS = {
    "org.opencontainers.image.version": versions.version("gpu-sim"),
    "org.opencontainers.image.licenses": "Apache-2.0",
}


def program(path: Path) -> File:
    return File(path.read_bytes(), 0o755)


def _labels(title: str) -> dict[str, str]:
    return {"org.opencontainers.image.title": title, **LABELS}


def gpu_sim() -> list[Image]:
    """The installer, probe and clean-up program with the library that it installs."""
    from tests.harness import native_build

    native_build.build()
    portable = native_build.FOLDER
    return [
        Image(
            arch,
            {
                "gpu-sim": program(portable / arch / "gpu-sim"),
                "usr/lib/gpu-sim/libnvidia-ml.so": program(portable / arch / "libnvidia-ml.so"),
            },
            entrypoint=("/gpu-sim",),
            labels=_labels("gpu-sim"),
        )
        for arch in ARCHITECTURES
    ]


def agent() -> list[Image]:
    """The node's agent, with the node program that it runs to clean up."""
    from tests.harness import go_build, native_build

    native_build.build()
    portable = native_build.FOLDER
    return [
        Image(
            arch,
            {"gpu-sim": program(portable / arch / "gpu-sim"), "gpu-sim-agent": program(go_build.agent(arch))},
            entrypoint=("/gpu-sim-agent",),
            labels=_labels("gpu-sim-agent"),
        )
        for arch in ARCHITECTURES
    ]


def pause() -> list[Image]:
    """The embedded cluster's sandbox image, whose program is ours since registries may be out of reach."""
    from tests.harness import native_build

    source = Path(__file__).with_name("pause.c")
    kept = {name: str(cache.root() / "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    images = []
    for arch in ARCHITECTURES:
        key = f"pause-{arch}-{cache.digest(source.read_bytes(), versions.version('ziglang'))}"

        def build(folder: Path, arch: str = arch) -> None:
            compiler = [native_build.zig(), "cc", "-target", ZIG_TARGETS[arch]]
            command.run([*compiler, "-static", "-Os", "-s", source, "-o", folder / "pause"], extra=kept)

        folder = cache.entry("images", key, build)
        images.append(Image(arch, {"pause": program(folder / "pause")}, entrypoint=("/pause",)))
    return images


def plugin_standin() -> list[Image]:
    """What stands for NVIDIA's device plugin where its image cannot be had."""
    from tests.harness import go_build

    arch = upstream.arch()
    plugin = go_build.standin()
    files = {"usr/bin/nvidia-device-plugin": program(plugin), **_glibc(plugin)}
    return [Image(arch, files, entrypoint=("nvidia-device-plugin",))]


def probe() -> list[Image]:
    """Test pods: a shell, glibc as in most images, and a client that loads the library as clients do."""
    from tests.harness import go_build

    client = go_build.probe()
    files = {**shell("bin"), "usr/bin/nvml-probe": program(client)}
    return [Image(upstream.arch(), files | _glibc(client), command=("/bin/sh",))]


def shell(folder: str) -> dict[str, File | Link | Directory]:
    """What a test image needs besides its C library: busybox with its applets in `folder`, users, /tmp."""
    busybox = debian.static_busybox()
    if not busybox:
        raise command.CommandError("busybox", "no static one here; install Debian's busybox-static")
    files: dict[str, File | Link | Directory] = {f"{folder}/busybox": program(busybox), "tmp": Directory(0o1777)}
    for applet in command.run([busybox, "--list"]).out.split():
        files.setdefault(f"{folder}/{applet}", Link("busybox"))
    files |= {"etc/passwd": File(b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")}
    return files | {"etc/group": File(b"root:x:0:\nnobody:x:65534:\n")}


def _glibc(dynamic: Path) -> dict[str, File]:
    """The loader and libraries that a program names, from this machine, and libdl for what it opens later."""
    listed = command.run(["ldd", dynamic], check=False)
    paths = set(re.findall(r"(?:=> )?(/\S+) \(0x", listed.out))
    if not paths:
        raise command.CommandError(f"ldd {dynamic}", "does not use this machine's glibc", listed.out + listed.err)
    libraries = {path.lstrip("/"): File(Path(path).resolve().read_bytes(), 0o755) for path in sorted(paths)}
    folder = next(Path(path).parent for path in paths if Path(path).name.startswith("libc.so"))
    for name in ("libdl.so.2", "libpthread.so.0", "libm.so.6", "librt.so.1"):
        if (folder / name).exists():
            libraries.setdefault(str(folder / name).lstrip("/"), File((folder / name).resolve().read_bytes(), 0o755))
    return libraries
