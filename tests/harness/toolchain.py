# SPDX-License-Identifier: Apache-2.0
"""Unmodified upstream programs, by name: kubelet, containerd, etcd, helm and the others.

Called by clusters and Helm tests: `programs()["kubelet"]`. They are downloaded where the projects' release files can
be reached, else built from their Go modules, once, into the cache.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from tests.harness import cache, command, download, golang, versions
from tests.harness.progress import Progress
from tests.harness.upstream import GROUPS, Group, ToolchainError


def _download(group: Group, folder: Path, progress: Progress) -> None:
    releases = group.releases()
    first = download.checksum(releases[0])  # the quick question whether there is anything at all
    with progress.step(f"{group.name} {group.version}, download") as step:
        for number, release in enumerate(releases, 1):
            sha256 = first if number == 1 else download.checksum(release, download.STALL_S)
            target = folder / f"{release.name}.download"
            try:
                download.fetch(release, sha256, target, lambda text, n=number: step.note(f"{n}/{len(releases)} {text}"))
            except download.UnavailableError:  # connections break: once more, then it is built
                download.fetch(release, sha256, target, step.note)
            download.unpack(release, target, folder)


def _make(group: Group, folder: Path, progress: Progress, place: str) -> None:
    group.check()
    source = f"built from {group.module} v{group.version} with Go {versions.version('go')}"
    if download.enabled():
        try:
            _download(group, folder, progress)
            source = f"downloaded: {download.located(group.releases()[0].url)}"
        except download.UnavailableError as error:
            progress.say(f"  no release files of {group.name} {group.version} ({error}); building them instead")
    if not source.startswith("downloaded"):
        for leftover in folder.iterdir():
            leftover.unlink()
        with progress.step(f"{place} {group.name} {group.version}, build") as step:
            golang.install_tools(group.folder, folder, group.tags, group.ldflags(), step.note)
        for built, name in group.renamed.items():
            (folder / built).rename(folder / name)
    absent = [name for name in group.programs if not (folder / name).is_file()]
    if absent:
        raise ToolchainError(
            f"{group.folder / 'go.mod'}: brought no {', '.join(absent)}; its tool lines are incomplete"
        )
    (folder / "SOURCE").write_text(source + "\n")


def folders(names: Iterable[str] = GROUPS, progress: Progress | None = None) -> dict[str, Path]:
    """Group → folder with its programs, made now if need be. For PATH."""
    groups = [GROUPS[name] for name in names]
    absent = [group for group in groups if not cache.is_complete(cache.root() / "tools" / group.key())]
    progress = progress or Progress()
    if absent:
        listed = ", ".join(f"{group.name} {group.version}" for group in absent)
        progress.say(f"gpu-sim: preparing upstream programs in {cache.root()} (once): {listed}")
    places = {group.name: f"[{number}/{len(absent)}]" for number, group in enumerate(absent, 1)}
    made = {}
    for group in groups:
        made[group.name] = cache.entry(
            "tools",
            group.key(),
            lambda folder, group=group: _make(group, folder, progress, places.get(group.name, "")),
            lambda group=group: progress.say(f"  another process is preparing {group.name}; waiting for it"),
        )
    return made


def programs(names: Iterable[str] = GROUPS, progress: Progress | None = None) -> dict[str, Path]:
    """Program → path, for the given groups (all of them if none is named)."""
    made = folders(names, progress)
    return {program: folder / program for name, folder in made.items() for program in GROUPS[name].programs}


def source(name: str) -> str:
    """Where a group's programs came from, for status pages."""
    return (folders([name])[name] / "SOURCE").read_text().strip()


if __name__ == "__main__":  # `python -m tests.harness.toolchain [GROUP…]` prints the programs, one a line
    try:
        for name, path in programs(sys.argv[1:] or GROUPS).items():
            print(f"{name}\t{path}")
    except (ToolchainError, download.ChecksumError, command.CommandError) as error:
        sys.exit(f"gpu-sim: {error}")
