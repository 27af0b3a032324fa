# SPDX-License-Identifier: Apache-2.0
"""Debian packages as a folder: fetched once into the cache, unpacked there, never installed on this machine.

Called by pod_images. A private copy of the machine's own apt entry names the suite, so that neither its package lists
nor its release matter. An entry is kept until its packages change by name: VERSIONS in it says what was had.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.harness import cache, command, upstream
from tests.harness.nvidia_smi import UnavailableError, mirror

SUITE = "bookworm"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
VERSIONS = "VERSIONS"


def unpacked(names: Iterable[str], suite: str = SUITE) -> Path:
    """The folder with all files of these packages, and of no other: what they depend on must be named too."""
    wanted = sorted(names)
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise UnavailableError(f"apt-get, dpkg-deb: not on this machine, got none; {', '.join(wanted)} cannot be had")
    key = f"{suite}-{upstream.arch()}-{cache.digest(Path(__file__).read_bytes(), *wanted)}"
    try:
        return cache.entry("debian", key, lambda folder: _fetch(folder, wanted, suite)) / "root"
    except command.CommandError as error:
        raise UnavailableError(str(error)) from None


def _fetch(folder: Path, names: list[str], suite: str) -> None:
    arch = upstream.arch()
    source = folder / "source.sources"
    source.write_text(
        f"Types: deb\nURIs: {mirror()}\nSuites: {suite}\nComponents: main\nArchitectures: {arch}\nSigned-By: {KEYS}\n"
    )
    for place in ("lists/partial", "archives/partial", "packages", "root"):
        (folder / place).mkdir(parents=True)
    apt = ["apt-get", "-o", f"Dir::Etc::SourceList={source}", "-o", "Dir::Etc::SourceParts=/dev/null",
           "-o", f"Dir::State::Lists={folder / 'lists'}", "-o", f"Dir::Cache={folder}",
           "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=2"]  # fmt: skip
    command.run([*apt, "update"], timeout=120)
    command.run([*apt, "download", *(f"{name}:{arch}" for name in names)], cwd=folder / "packages", timeout=120)
    archives = sorted((folder / "packages").glob("*.deb"))
    for archive in archives:
        command.run(["dpkg-deb", "-x", archive, folder / "root"])
    (folder / VERSIONS).write_text("".join(f"{archive.stem}\n" for archive in archives))
    for leftover in ("lists", "archives", "packages"):
        shutil.rmtree(folder / leftover)
    for leftover in folder.glob("*pkgcache.bin"):
        leftover.unlink()
