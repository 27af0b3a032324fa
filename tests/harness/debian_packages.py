# SPDX-License-Identifier: Apache-2.0
"""Debian packages as a folder: fetched once into the cache, unpacked there, never installed on this machine.

Called by pod_images and nvidia_smi. A private copy of the machine's own apt entry names suite and component, so that
neither its package lists nor its release matter. An entry is kept until its packages change by name.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.harness import cache, command, upstream

SUITE = "bookworm"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
VERSIONS = "VERSIONS"  # in an entry: what was had


class UnavailableError(Exception):
    """No apt, another architecture, or no network."""


def mirror(folder: Path = Path("/etc/apt")) -> str:
    """The address that this machine has Debian from."""
    for source in sorted([folder / "sources.list", *folder.glob("sources.list.d/*")]):
        if source.suffix in (".list", ".sources") and source.is_file():
            for line in source.read_text().splitlines():
                found = re.match(r"(?:deb\s+(?:\[[^]]*\]\s*)?|URIs:\s*)(https?://\S+/debian/?)(?:\s|$)", line)
                if found:
                    return found[1]
    raise UnavailableError(f"{folder}: no source of Debian packages, got none; they cannot be fetched")


def need_apt(names: Iterable[str]) -> None:
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise UnavailableError(f"apt-get, dpkg-deb: not on this machine, got none; {', '.join(names)} cannot be had")


def unpacked(names: Iterable[str], suite: str = SUITE) -> Path:
    """The folder with all files of these packages, and of no other: what they depend on must be named too."""
    wanted = sorted(names)
    need_apt(wanted)
    key = f"{suite}-{upstream.arch()}-{cache.digest(Path(__file__).read_bytes(), *wanted)}"
    try:
        return cache.entry("debian", key, lambda folder: fetch(folder, wanted, suite, upstream.arch())) / "root"
    except command.CommandError as error:
        raise UnavailableError(str(error)) from None


def fetch(folder: Path, names: list[str], suite: str, arch: str, component: str = "main") -> None:
    """Their files into `folder`/root, their names with versions into `folder`/VERSIONS."""
    source = folder / "source.sources"
    source.write_text(
        f"Types: deb\nURIs: {mirror()}\nSuites: {suite}\nComponents: {component}\nArchitectures: {arch}\n"
        f"Signed-By: {KEYS}\n"
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
