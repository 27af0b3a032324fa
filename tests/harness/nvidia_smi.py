# SPDX-License-Identifier: Apache-2.0
"""The real nvidia-smi, as Debian packages it: fetched once into the cache, unpacked there, never installed.

Called by tests/clients/smi. Its component (non-free) is in no source of this machine: a private copy of the machine's
own apt entry names it. nvidia-smi only runs beside a driver of its own version.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.harness import cache, command

PACKAGE = "nvidia-smi"
SUITES = ("bookworm", "trixie")  # 535 and 550 at the time of writing; both run on this system's glibc


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
    raise UnavailableError(f"{folder}: no source of Debian packages, got none; nvidia-smi cannot be fetched")


def _fetch(folder: Path, suite: str) -> None:
    source = folder / "source.sources"
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    source.write_text(
        f"Types: deb\nURIs: {mirror()}\nSuites: {suite}\nComponents: non-free\nArchitectures: amd64\n"
        f"Signed-By: {keys}\n"
    )
    for place in ("lists/partial", "archives/partial"):
        (folder / place).mkdir(parents=True)
    apt = ["apt-get", "-o", f"Dir::Etc::SourceList={source}", "-o", "Dir::Etc::SourceParts=/dev/null",
           "-o", f"Dir::State::Lists={folder / 'lists'}", "-o", f"Dir::Cache={folder}",
           "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=2"]  # fmt: skip
    command.run([*apt, "update"], timeout=120)
    command.run([*apt, "download", f"{PACKAGE}:amd64"], cwd=folder, timeout=120)
    (archive,) = folder.glob(f"{PACKAGE}_*.deb")
    command.run(["dpkg-deb", "-x", archive, folder / "x"])
    (program,) = (path for path in (folder / "x").rglob(PACKAGE) if path.is_file() and path.stat().st_mode & 0o100)
    shutil.copy(program, folder / PACKAGE)
    (folder / "VERSION").write_text(archive.name.split("_")[1].split("-")[0])
    for leftover in ("x", "lists", "archives"):
        shutil.rmtree(folder / leftover)
    archive.unlink()


def program(suite: str) -> tuple[Path, str]:
    """The program of a Debian suite, and its version."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise UnavailableError("apt-get, dpkg-deb: not on this machine, got none; nvidia-smi cannot be fetched")
    try:
        folder = cache.entry("nvidia-smi", suite, lambda made: _fetch(made, suite))
    except command.CommandError as error:
        raise UnavailableError(str(error)) from None
    return folder / PACKAGE, (folder / "VERSION").read_text()
