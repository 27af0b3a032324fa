# SPDX-License-Identifier: Apache-2.0
"""A scratch copy of the tree, in which mutants live one after the other.

Called by __main__. What must stay true: the checkout itself is never written to, and after each mutant the copy is
byte for byte what it was, with a newer time stamp so that incremental builds see both edits.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.mutants.catalogue import Mutant


def copy_tree(source: Path, target: Path) -> Path:
    """Copies what git tracks, and what it would track, from `source` to the new directory `target`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=source, check=True, capture_output=True,
    ).stdout.decode()  # fmt: skip
    for name in filter(None, listed.split("\0")):
        origin = source / name
        if not origin.is_symlink() and not origin.is_file():
            continue  # deleted, not yet committed
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(origin, place, follow_symlinks=False)
    # Version look-ups and file lists of the tests ask git: the copy is a repository of its own.
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=target, check=True, capture_output=True)
    return target


@contextmanager
def applied(mutant: Mutant, tree: Path) -> Iterator[Path]:
    """The tree with the mutant's edit in it; the edit is taken back whatever happens."""
    path = tree / mutant.file
    original = path.read_bytes()
    path.write_text(mutant.edit(tree), encoding="utf-8")
    try:
        yield tree
    finally:
        path.write_bytes(original)
