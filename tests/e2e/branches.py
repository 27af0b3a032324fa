# SPDX-License-Identifier: Apache-2.0
"""A branch as its team handles it: the generator is run, and the commands that it prints are run as printed.

Called by test_branches.py. Only `<node>` is filled in; KUBECONFIG and PATH are what `make env` gives.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.e2e.scenes import pod_spec
from tests.e2e.stage import Stage
from tests.harness import command
from tests.harness.versions import CHECKOUT


@dataclass
class Branch:
    stage: Stage
    name: str
    node: str
    file: Path
    printed: str = ""
    installed: bool = field(default=False)

    @classmethod
    def make(cls, stage: Stage, name: str, node: str, folder: Path, *options: str) -> Branch:
        branch = cls(stage, name, node, folder / f"{name.replace('/', '-')}.yaml")
        branch.generate(*options)
        return branch

    def generate(self, *options: str) -> None:
        """Writes the file anew and keeps what the generator printed."""
        argv = [
            sys.executable,
            "-m",
            "generator",
            "--branch",
            self.name,
            "--dedicated",
            "--output",
            self.file,
            "--force",
        ]
        self.printed = command.run([*argv, *options], cwd=CHECKOUT).out

    @property
    def release(self) -> str:
        return self._line("helm uninstall ").split()[-1]

    def _line(self, start: str) -> str:
        (found,) = [line for line in self.printed.splitlines() if line.startswith(start)]
        return found

    def _paste(self, line: str) -> None:
        programs = {path.parent for path in self.stage.cluster.programs.values()}
        extra = {
            "KUBECONFIG": str(self.stage.cluster.kubeconfig),
            "PATH": os.pathsep.join([*map(str, programs), os.environ["PATH"]]),
        }
        command.run(["bash", "-euc", line.replace("<node>", self.node)], cwd=CHECKOUT, extra=extra, timeout=120)

    def dedicate(self) -> None:
        self._paste(self._line("kubectl label node "))
        self._paste(self._line("kubectl taint node "))

    def install(self) -> None:
        self._paste(self._line("helm upgrade " if self.installed else "helm install "))
        self.installed = True

    def uninstall(self) -> None:
        self._paste(self._line("helm uninstall "))
        self.installed = False

    def remove(self) -> None:
        """Everything that was done is undone, in whatever state the test left it."""
        if self.installed:
            self.uninstall()
        key = "gpu-sim.io/branch"
        with contextlib.suppress(command.CommandError):  # there may be no such taint
            self.stage.kubectl("taint", "node", self.node, f"{key}-")
        self.stage.kubectl("label", "node", self.node, f"{key}-")

    def workload(self, item: dict) -> dict:
        """The object with the printed snippet in its pod's spec, instead of what it said itself."""
        lines = self.printed.splitlines()
        start = next(number for number, line in enumerate(lines) if line.startswith("nodeSelector:"))
        end = next(number for number, line in enumerate(lines) if number > start and line.startswith("#"))
        pod_spec(item).update(yaml.safe_load("\n".join(lines[start:end])))
        return item
