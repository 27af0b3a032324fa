# SPDX-License-Identifier: Apache-2.0
"""Which device plugin runs: NVIDIA's image (given, kept or pulled) or, in the embedded cluster only, the stand-in.

Called by cli, by tests that need the real one, and by pytest's header. Whoever sees a result can see what gave it.
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path

from tests.harness import cache, images, registry, upstream
from tests.harness.progress import Progress

VARIABLE = "DEVICE_PLUGIN_IMAGE_ARCHIVE"
REFERENCE = images.PLUGIN


class PluginImageError(Exception):
    """A named archive that is not there."""


@dataclass(frozen=True)
class Choice:
    real: bool
    source: str  # in words
    archive: Path | None = None  # what to load; none where the nodes pull it themselves, or it is made first


def kept() -> Path:
    """Where a pulled image is kept, outside the checkout."""
    return cache.root() / "images" / f"{REFERENCE.replace('/', '_').replace(':', '_')}-{upstream.arch()}.tar"


@functools.cache
def _reachable() -> bool:
    host, _, rest = REFERENCE.partition("/")
    return registry.Registry(host, rest.rpartition(":")[0]).reachable()


def choose(provider: str = "embedded") -> Choice:
    """Decides without fetching anything. An archive that is named goes first: whoever names one means it."""
    named = os.environ.get(VARIABLE)
    if named:
        archive = Path(named).absolute()
        if not archive.is_file():
            raise PluginImageError(
                f"{VARIABLE}: no such file, got {named!r}; name an OCI or docker archive of {REFERENCE}"
            )
        return Choice(True, f"NVIDIA's image, from {archive}", archive)
    if provider != "embedded":
        return Choice(True, f"NVIDIA's image, pulled by the nodes from {REFERENCE.partition('/')[0]}")
    if kept().is_file():
        return Choice(True, f"NVIDIA's image, pulled earlier and kept in {kept()}", kept())
    if _reachable():
        return Choice(True, f"NVIDIA's image, pulled from {REFERENCE.partition('/')[0]}")
    return Choice(
        False,
        f"the stand-in from tests/plugin, under the name {REFERENCE} ({REFERENCE.partition('/')[0]} cannot be reached "
        f"and {VARIABLE} is not set)",
    )


def describe(provider: str = "embedded") -> str:
    """One line for status pages and test headers."""
    return choose(provider).source


def archive(choice: Choice, progress: Progress) -> Path:
    """The archive to load into the embedded cluster's nodes; pulled or built if need be."""
    if choice.archive:
        return choice.archive
    if not choice.real:
        return images.archive("plugin-standin")
    with cache.locked("plugin-image"), progress.step("device plugin image, pull") as step:
        return kept() if kept().is_file() else registry.pull(REFERENCE, upstream.arch(), kept(), step.note)
