# SPDX-License-Identifier: Apache-2.0
"""The images that people's pods are like: what is in them, and above all what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import debian, debian_packages, needs, pod_images
from tests.harness.oci import File, Link

pytestmark = pytest.mark.native


def files(name: str) -> dict:
    if not debian.static_busybox():
        needs.skip("busybox", "test images have their shell from Debian's busybox-static")
    try:
        (image,) = pod_images.CONTENTS[name]()
    except debian_packages.UnavailableError as error:
        needs.skip("debian", str(error))
    return dict(image.files)


def test_a_packages_files_are_where_a_merged_usr_has_them(tmp_path: Path) -> None:
    for name in ("lib/x/libc.so.6", "bin/sh", "usr/lib/x/libz.so.1", "etc/conf", "library/file"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "bin/sh").chmod(0o755)
    (tmp_path / "lib/x/libm.so.6").symlink_to("libm-2.36.so")
    assert pod_images.tree(tmp_path) == {
        "etc/conf": File(b"etc/conf"),
        "library/file": File(b"library/file"),
        "usr/bin/sh": File(b"bin/sh", 0o755),
        "usr/lib/x/libc.so.6": File(b"lib/x/libc.so.6"),
        "usr/lib/x/libm.so.6": Link("libm-2.36.so"),
        "usr/lib/x/libz.so.1": File(b"usr/lib/x/libz.so.1"),
    }


@pytest.mark.parametrize("name", pod_images.CONTENTS)
def test_nothing_in_an_image_is_a_driver(name: str) -> None:
    found = files(name)
    assert [path for path in found if "libnvidia" in path or path.endswith("bin/nvidia-smi")] == []
    assert [path for path in found if path.startswith("dev/")] == []


def test_alpines_loader_searches_where_it_does_by_itself() -> None:
    found = files("alpine")
    assert [path for path in found if path.startswith("lib/ld-musl-")]
    assert [path for path in found if path.startswith("etc/ld-musl")] == []
    assert [path for path in found if "linux-gnu" in path or path.endswith("libc.so.6")] == []


def test_debians_loader_has_its_cache() -> None:
    cache = files("debian")["etc/ld.so.cache"].content
    assert cache.startswith(b"glibc-ld.so.cache1.1")
    assert b"libffi.so.8" in cache
    assert b"libnvidia" not in cache


def test_busybox_is_alone() -> None:
    assert {path.split("/")[0] for path in files("busybox")} == {"bin", "etc", "tmp"}


def test_without_apt_the_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian_packages.shutil, "which", lambda name: None)
    with pytest.raises(
        debian_packages.UnavailableError, match="not on this machine, got none; musl, zlib1g cannot be had"
    ):
        debian_packages.unpacked(["zlib1g", "musl"])
