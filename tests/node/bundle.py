# SPDX-License-Identifier: Apache-2.0
"""A container's bundle in a temporary folder and the hook run on it. Used by the tests of the hook."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.node.node_root import NodeRoot

LIBRARY = "libnvidia-ml.so.550.163.01"


class Bundle:
    """A container's bundle as runc lays it out, with a library where the plugin mounts it."""

    def __init__(self, node: NodeRoot, folder: Path):
        self.hook = folder / "nvidia-cdi-hook"
        os.link(node.program, self.hook) if self._same_file_system(node, folder) else self.hook.symlink_to(node.program)
        self.folder = folder / "bundle"
        self.root = self.folder / "rootfs"
        (self.root / "usr/lib64").mkdir(parents=True)
        (self.root / "usr/lib64" / LIBRARY).write_bytes(b"library")
        self.configure({"root": {"path": "rootfs", "readonly": True}})

    @staticmethod
    def _same_file_system(node: NodeRoot, folder: Path) -> bool:
        return node.program.stat().st_dev == folder.stat().st_dev

    def configure(self, config: object) -> None:
        (self.folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))

    def run(self, *words: str, state: object = None, said: str | None = None) -> str:
        """Every run ends well, whatever it is given."""
        default = {"ociVersion": "1.2.0", "id": "x", "status": "created", "pid": 7, "bundle": str(self.folder)}
        text = state if isinstance(state, str) else json.dumps(state or default)
        done = subprocess.run([self.hook, *words], input=text, capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
        assert said is None or said in done.stderr, done.stderr
        return done.stderr

    def link(self, target: str, name: str, **options: object) -> str:
        return self.run("create-symlinks", "--link", f"{target}::{name}", **options)

    def cache(self) -> str:
        return self.run("update-ldcache", "--folder", "/usr/lib64")

    def names(self) -> list[str]:
        return sorted(
            f"{Path(folder, name).relative_to(self.root)} -> {Path(folder, name).readlink()}"
            for folder, folders, files in os.walk(self.root)
            for name in [*folders, *files]
            if Path(folder, name).is_symlink()
        )
