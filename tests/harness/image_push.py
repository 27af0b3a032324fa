# SPDX-License-Identifier: Apache-2.0
"""Pushes image archives to a registry. Called by images.py (`make push REGISTRY=…`).

The work is crane's (go-containerregistry, built from its pinned module): it knows every registry's ways and reads the
credentials of docker login. Digests stay as they are in the archive.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.harness import cache, command, golang, oci, upstream, versions

MODULE = Path(__file__).with_name("tools") / "crane"
REGISTRY = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")


def crane() -> Path:
    """The program, built once."""
    files = [(MODULE / name).read_bytes() for name in ("go.mod", "go.sum")]
    wanted = f"github.com/google/go-containerregistry v{versions.version('crane')}"
    if wanted not in files[0].decode():
        raise ValueError(f"{MODULE / 'go.mod'}: does not require {wanted}, as pyproject.toml says; see tools/README.md")
    key = f"crane-{cache.digest(*files, versions.version('go'), upstream.arch())}"
    return cache.entry("tools", key, lambda folder: golang.install_tools(MODULE, folder, "", "-s -w")) / "crane"


def push(archives: Mapping[str, Path], registry: str) -> list[str]:
    """`archives`: local reference → file. Each goes to <registry>/<last part of its name>; returns what was pushed."""
    registry = registry.rstrip("/")
    if not REGISTRY.fullmatch(registry):
        raise ValueError(f"push:REGISTRY: must be host[:port][/path] in lower case without a scheme, got {registry!r}")
    program, pushed = crane(), []
    for reference, archive in archives.items():
        target = f"{registry}/{reference.rpartition('/')[2]}"
        with tempfile.TemporaryDirectory() as folder:
            layout = Path(folder)
            oci.extract(archive, layout)
            result = command.run([program, "push", layout, target])
        pushed.append(result.out.split()[-1])
        print(f"{target}\t{pushed[-1]}")
    repositories = [f"{registry}/{reference.rpartition('/')[2].partition(':')[0]}" for reference in archives]
    names = ("image.repository", "agent.image.repository")
    print("helm install … " + " ".join(f"--set {n}={r}" for n, r in zip(names, repositories, strict=False)))
    return pushed
