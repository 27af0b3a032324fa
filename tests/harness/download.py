# SPDX-License-Identifier: Apache-2.0
"""Release files of upstream projects, checked against their published SHA-256.

Called by toolchain, which builds from source where these cannot be had. GPU_SIM_RELEASES=off never looks;
GPU_SIM_RELEASES=URL asks a mirror laid out as URL/<host>/<path>. A file that does not match is never kept.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import tarfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

REACH_S = 3.0  # to find out whether there is anything: machines without a network must not wait
STALL_S = 30.0  # without a single byte
CHUNK = 1 << 20


class UnavailableError(Exception):
    """It cannot be had from there (not reached, not found, cut off): something else may serve."""


class ChecksumError(Exception):
    """What was served is not what was published: nothing else may be tried silently."""


@dataclass(frozen=True)
class Release:
    """One file of a release. `members`: path in the archive → program; empty where the file is the program."""

    url: str
    checksum_url: str
    members: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[1]


def enabled() -> bool:
    return os.environ.get("GPU_SIM_RELEASES", "") != "off"


def located(url: str) -> str:
    """The address to ask: the project's own, or the mirror's."""
    mirror = os.environ.get("GPU_SIM_RELEASES", "")
    return f"{mirror.rstrip('/')}/{url.removeprefix('https://')}" if mirror else url


def _open(url: str, timeout: float):
    try:
        return urllib.request.urlopen(located(url), timeout=timeout)
    except urllib.error.HTTPError as error:
        raise UnavailableError(f"{located(url)}: answered {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UnavailableError(f"{located(url)}: {getattr(error, 'reason', error)}") from None


def _small(url: str, timeout: float) -> str:
    with _open(url, timeout) as answer:
        try:
            return answer.read(CHUNK).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            raise UnavailableError(f"{located(url)}: {error}") from None


def checksum(release: Release, timeout: float = REACH_S) -> str:
    """The published SHA-256. Name resolution has no time limit of its own, so it all runs beside a clock."""
    outcome: list[str | Exception] = []

    def ask() -> None:
        try:
            outcome.append(_small(release.checksum_url, timeout))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(timeout + 1)
    if not outcome:
        raise UnavailableError(f"{located(release.checksum_url)}: no answer within {timeout:g} s")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return parse_checksum(outcome[0], release.name)


def parse_checksum(text: str, name: str) -> str:
    """From a bare digest, or from the line for `name` of what sha256sum prints."""
    for line in text.splitlines():
        words = line.split()
        ours = len(words) == 1 or (len(words) == 2 and words[1].lstrip("*").rsplit("/", 1)[-1] == name)
        if ours and re.fullmatch(r"[0-9a-fA-F]{64}", words[0]):
            return words[0].lower()
    raise UnavailableError(f"{name}: its checksum file has no SHA-256 for it, got {text[:80]!r}")


def fetch(release: Release, sha256: str, target: Path, note: Callable[[str], None] = lambda text: None) -> None:
    """The file at `target`, whole and checked, or an error and nothing there."""
    partial = target.with_name(target.name + ".part")
    seen = hashlib.sha256()
    size = 0
    try:
        with _open(release.url, STALL_S) as answer, partial.open("wb") as out:
            expected = int(answer.headers.get("Content-Length") or 0)
            try:
                while chunk := answer.read(CHUNK):
                    out.write(chunk)
                    seen.update(chunk)
                    size += len(chunk)
                    note(f"{release.name}: {size >> 20} of {expected >> 20} MiB")
            except (OSError, http.client.HTTPException) as error:
                raise UnavailableError(f"{located(release.url)}: cut off after {size} bytes: {error}") from None
        if expected and size != expected:
            raise UnavailableError(f"{located(release.url)}: cut off after {size} of {expected} bytes")
        if seen.hexdigest() != sha256:
            raise ChecksumError(
                f"{located(release.url)}: its SHA-256 is not the published one, got {seen.hexdigest()} instead of "
                f"{sha256}; do not use that server, or build from source with GPU_SIM_RELEASES=off"
            )
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)


def unpack(release: Release, archive: Path, out: Path) -> None:
    """The programs of a fetched file, executable, in `out`."""
    if not release.members:
        archive.chmod(0o755)
        archive.rename(out / release.name)
        return
    with tarfile.open(archive) as tar:
        for member, program in release.members.items():
            try:
                source = tar.extractfile(member)
            except KeyError:
                source = None
            if source is None:
                raise UnavailableError(f"{release.name}: has no file {member}")
            (out / program).write_bytes(source.read())
            (out / program).chmod(0o755)
    archive.unlink()
