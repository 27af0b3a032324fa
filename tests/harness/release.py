# SPDX-License-Identifier: Apache-2.0
"""What `make up` installs: by a values file, or for a branch by the command that the generator prints.

Called by up. A file of the branch that is there already is used as it is: somebody may have edited it. One that is made
is told, with branches of nearly that name: a mistyped name would otherwise pass for a new branch.
"""

from __future__ import annotations

import difflib
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from generator.quoting import escape_unprintable, shell_word
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
    made: str = ""  # a sentence, where a values file was made

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
    near = _near(branch)
    argv = _helm_argv(_generate(f"--branch={branch}", *more).out)
    return Release(argv, slug, dedicated, "" if there else _made(branch, argv[argv.index("-f") + 1], near))


def _made(branch: str, file: str, near: list[str]) -> str:
    told = f"gpu-sim: {file} is new, made for branch {escape_unprintable(branch)}"
    if not near:
        return told
    names = escape_unprintable(", ".join(near))
    first = shell_word(f"BRANCH={near[0]}")
    return f"{told}; is another meant? near are {names}: make up {first}, and delete {file}"


def _near(branch: str) -> list[str]:
    """Other branches that have a values file or that git knows, the nearest first."""
    known = {str(_branch_of(file).get("name") or "") for file in (CHECKOUT / "values").glob("*.yaml")}
    listed = command.run(
        ["git", "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"], cwd=CHECKOUT, check=False
    )
    known |= set(listed.out.splitlines()) if not listed.code else set()
    if branch in listed.out.splitlines():
        return []
    lowered = {name.lower(): name for name in sorted(known - {"", branch})}
    return [lowered[name] for name in difflib.get_close_matches(branch.lower(), lowered, n=5, cutoff=0.7)]


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
