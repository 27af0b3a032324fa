# SPDX-License-Identifier: Apache-2.0
"""What `make up` installs: by a values file, or for a branch by the command that the generator prints.

Called by up. A file of the branch that is there already is used as it is: somebody may have edited it.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.harness import command
from tests.harness.cluster import Cluster
from tests.harness.runs import RunError
from tests.harness.versions import CHECKOUT

BRANCH = "gpu-sim.io/branch"
CHART = "charts/gpu-sim"
DOCUMENTED = ["install", "gpu-sim", CHART, "-f", "values/branch.yaml"]


@dataclass(frozen=True)
class Release:
    argv: list[str]  # of helm, from "install" on
    slug: str = ""
    dedicated: bool = False

    @property
    def name(self) -> str:
        return self.argv[1]


def wanted(branch: str | None, values: Path | None, dedicated: bool) -> Release:
    if branch and values:
        raise RunError(f"BRANCH, VALUES: only one of them, got {branch!r} and {values}; a branch has its own file")
    if dedicated and not branch:
        raise RunError("DEDICATED: needs a branch, got none; add BRANCH=<name>")
    if branch:
        return for_branch(branch, dedicated)
    if values:
        if not values.is_file():
            raise RunError(f"VALUES: no such file, got {str(values)!r}; see values/, or make one: python -m generator")
        return Release([*DOCUMENTED[:-1], str(values)])
    return Release(DOCUMENTED)


def for_branch(branch: str, dedicated: bool) -> Release:
    more = ["--dedicated"] if dedicated else []
    said = _generate(f"--branch={branch}", "--stdout", *more)
    slug = yaml.safe_load(said.out)["branch"]["slug"]
    file = Path("values") / f"{slug}.yaml"
    there = _branch_of(CHECKOUT / file)
    if there.get("name") == branch and (there.get("dedicated") or not dedicated):
        argv = _helm_argv(said.err)
        argv[argv.index("-f") + 1] = str(file)
        return Release(argv, slug, bool(there.get("dedicated")))
    return Release(_helm_argv(_generate(f"--branch={branch}", *more).out), slug, dedicated)


def _branch_of(file: Path) -> dict:
    try:
        return (yaml.safe_load(file.read_text()) or {}).get("branch") or {}
    except (OSError, yaml.YAMLError, AttributeError):
        return {}


def _helm_argv(printed: str) -> list[str]:
    """The helm command that the generator prints, as words."""
    line = next(line for line in printed.splitlines() if line.startswith("helm install "))
    return shlex.split(line)[1:]


def _generate(*words: str) -> command.Result:
    try:
        return command.run([sys.executable, "-m", "generator", *words], cwd=CHECKOUT)
    except command.CommandError as error:
        raise RunError(error.output.strip() or str(error)) from None


def dedicate(cluster: Cluster, asked: Release) -> None:
    """Label and taint every node that belongs to no other branch."""
    free = []
    for name in cluster.nodes:
        labels = cluster.kube.node(name)["metadata"]["labels"]
        if labels.get(BRANCH) in (None, asked.slug):
            free.append(name)
    if not free:
        raise RunError(f"DEDICATED: every node belongs to another branch, got {len(cluster.nodes)} nodes; NODES=more")
    for name in free:
        cluster.kube.label_node(name, {BRANCH: asked.slug})
        cluster.kube.taint_node(name, [{"key": BRANCH, "value": asked.slug, "effect": "NoSchedule"}])
