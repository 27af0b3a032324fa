# SPDX-License-Identifier: Apache-2.0
"""The hook update-ldcache: where the loaders of different images find the library afterwards."""

from __future__ import annotations

import platform

import pytest

from tests.node.bundle import LIBRARY, Bundle

pytestmark = pytest.mark.native
MULTIARCH = f"{platform.machine()}-linux-gnu"
MUSL = f"ld-musl-{platform.machine()}.so.1"


def test_debian_finds_the_library_in_its_multiarch_folder(bundle: Bundle) -> None:
    (bundle.root / "usr/lib" / MULTIARCH).mkdir(parents=True)
    (bundle.root / "lib").symlink_to("usr/lib")
    bundle.cache()
    assert bundle.names() == [
        "lib -> usr/lib",
        f"usr/lib/{MULTIARCH}/libnvidia-ml.so -> /usr/lib64/{LIBRARY}",
        f"usr/lib/{MULTIARCH}/libnvidia-ml.so.1 -> /usr/lib64/{LIBRARY}",
        f"usr/lib64/libnvidia-ml.so -> /usr/lib64/{LIBRARY}",
        f"usr/lib64/libnvidia-ml.so.1 -> /usr/lib64/{LIBRARY}",
    ]


def test_old_debian_has_it_in_lib(bundle: Bundle) -> None:
    (bundle.root / "lib" / MULTIARCH).mkdir(parents=True)
    bundle.cache()
    assert f"lib/{MULTIARCH}/libnvidia-ml.so.1 -> /usr/lib64/{LIBRARY}" in bundle.names()


def test_alpine_finds_it_in_usr_lib(bundle: Bundle) -> None:
    (bundle.root / "lib").mkdir()
    (bundle.root / "lib" / f"libc.musl-{platform.machine()}.so.1").symlink_to(MUSL)
    (bundle.root / "lib" / MUSL).write_bytes(b"loader")
    bundle.cache()
    assert f"usr/lib/libnvidia-ml.so.1 -> /usr/lib64/{LIBRARY}" in bundle.names()


def test_fedora_needs_nothing_more(bundle: Bundle) -> None:
    (bundle.root / "lib64").symlink_to("usr/lib64")
    (bundle.root / "usr/lib64/libc.so.6").write_bytes(b"glibc")
    bundle.cache()
    assert [line.split(" ")[0] for line in bundle.names()] == [
        "lib64", "usr/lib64/libnvidia-ml.so", "usr/lib64/libnvidia-ml.so.1",
    ]  # fmt: skip


def test_what_create_symlinks_made_and_what_an_image_brings_stays(bundle: Bundle) -> None:
    folder = bundle.root / "usr/lib" / MULTIARCH
    folder.mkdir(parents=True)
    (folder / "libnvidia-ml.so.1").write_bytes(b"the image's own")
    (folder / "libnvidia-ml.so").symlink_to("libnvidia-ml.so.418.0")  # dangles, as after docker commit
    bundle.cache()
    assert (folder / "libnvidia-ml.so.1").read_bytes() == b"the image's own"
    assert str((folder / "libnvidia-ml.so").readlink()) == f"/usr/lib64/{LIBRARY}"


def test_empty_leftovers_of_another_runtime_are_replaced(bundle: Bundle) -> None:
    folder = bundle.root / "usr/lib" / MULTIARCH
    folder.mkdir(parents=True)
    (folder / "libnvidia-ml.so.1").touch()
    bundle.cache()
    assert str((folder / "libnvidia-ml.so.1").readlink()) == f"/usr/lib64/{LIBRARY}"


def test_without_a_library_nothing_is_linked(bundle: Bundle) -> None:
    (bundle.root / "usr/lib64" / LIBRARY).unlink()
    (bundle.root / "usr/lib" / MULTIARCH).mkdir(parents=True)
    assert bundle.cache() == ""
    assert bundle.run("update-ldcache", "--folder", "/absent", "--folder") == ""
    assert bundle.names() == []
