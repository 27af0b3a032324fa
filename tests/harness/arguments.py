# SPDX-License-Identifier: Apache-2.0
"""The words of `python -m tests.harness`, and what they mean. Called by cli.

Each option can also be given as the variable that `make` passes on; an empty one counts as not given.
"""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from tests.harness import image_load, providers, runs
from tests.harness.runs import RunError
from tests.harness.up import Options
from tests.harness.versions import CHECKOUT


def gates(text: str) -> dict[str, bool]:
    """`A=true,B=false`, as the flag of the same name upstream."""
    found = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, value = part.partition("=")
        if value not in ("true", "false") or not name:
            raise RunError(f"FEATURE_GATES: must be NAME=true or NAME=false, got {part!r}; separate several by commas")
        found[name] = value == "true"
    return found


def _on(variable: str) -> bool:
    """A switch: given and not a word for no."""
    return os.environ.get(variable, "").lower() not in ("", "0", "no", "false")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m tests.harness", description="Clusters with simulated GPUs.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        given(made, "--name", "NAME", "of the run; default: one for each checkout")
        return made

    def given(where: argparse.ArgumentParser, option: str, variable: str, text: str, **more) -> None:
        default = os.environ.get(variable) or None
        where.add_argument(option, default=default, help=f"{text} [{variable}]", **more)

    for name, text in (
        ("up", "start a cluster, install the chart, run a pod on a GPU; again: reconcile"),
        ("cluster", "the same without the chart: labelled nodes, no release"),
    ):
        made = add(name, text)
        given(made, "--provider", "PROVIDER", f"{', '.join(providers.NAMES)}; default: what works here")
        given(made, "--nodes", "NODES", "number of nodes with GPUs (default 1)")
        given(made, "--node", "NODE_NAMES", "provider current: a node to use; repeatable, or a,b", action="append")
        given(made, "--feature-gates", "FEATURE_GATES", "A=true,B=false for every Kubernetes program")
        given(made, "--scheduler-config", "SCHEDULER_CONFIG", "a KubeSchedulerConfiguration file")
        if name == "up":
            given(made, "--branch", "BRANCH", "install for this branch; the generator writes its values file")
            given(made, "--values", "VALUES", "install with this values file (default values/branch.yaml)")
            made.add_argument("--dedicated", action="store_true", default=_on("DEDICATED"),
                              help="label and taint the nodes for the branch [DEDICATED]")  # fmt: skip
    add("down", "stop it and remove everything it left on this machine")
    add("status", "nodes, GPUs, pods, and which device plugin is used")
    add("env", 'variables for a shell: eval "$(make env)"')
    add("kubeconfig", "the path of its kubeconfig, nothing else")
    commands.add_parser("images", help="every image that is used, one a line")
    load = add("load", "put images into the cluster: an archive of yours, else the project's")
    given(load, "--image", "IMAGE", "an OCI or docker archive")
    given(load, "--runtime", "RUNTIME", f"another cluster on this machine: {', '.join(image_load.RUNTIMES)}")
    ctl = add("ctl", "change or show the GPUs of a node: gpu-sim ctl, from outside")
    given(ctl, "--node", "NODE", "the node; need not be named where there is one")
    audit = add("audit", "does anybody hold a GPU that somebody else holds? On any cluster, beside any scheduler")
    given(audit, "--junit", "JUNIT", "write the outcome there, as JUnit XML")
    given(audit, "--seconds", "SECONDS", "watch for so long", type=seconds)
    audit.add_argument("--watch", action="store_true", default=_on("WATCH"), help="watch until Ctrl-C [WATCH]")
    for command in (ctl, audit):
        given(command, "--provider", "PROVIDER", f"of the run: {', '.join(providers.NAMES)}")
        command.add_argument("--kubeconfig", help="of any cluster; default: the run, else KUBECONFIG")
    ctl.add_argument("words", nargs="*", metavar="WORD", help="as for gpu-sim ctl, after --; default: [ARGS]")
    soak = add("soak", "minutes of pods, faults, repairs, kills and upgrades on a cluster of its own, audited")
    given(soak, "--seconds", "SECONDS", "how long (default 600)", type=seconds)
    given(soak, "--seed", "SEED", "of the plan, as a red run printed it (default: drawn)", type=int)
    return top


def seconds(text: str) -> float:
    number = float(text)
    if not 1 <= number <= 7 * 24 * 3600:
        raise ValueError(text)
    return number


def ctl_words(words: argparse.Namespace) -> list[str]:
    """What follows --; else ARGS, split as a shell splits words, but read by none."""
    try:
        return list(words.words) or shlex.split(os.environ.get("ARGS", ""))
    except ValueError as error:
        raise RunError(f"ARGS: must be words, got {os.environ['ARGS']!r}; {error}") from None


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 100:
        raise RunError(f"NODES: must be a number from 1 to 100, got {text!r}; give another")
    return int(text)


def options(words: argparse.Namespace) -> Options:
    named = words.node if isinstance(words.node, list) else [words.node or ""]
    scheduler = Path(words.scheduler_config).absolute() if words.scheduler_config else None
    values = getattr(words, "values", None)
    return Options(
        name=words.name or runs.default_name(CHECKOUT),
        provider=words.provider,
        nodes=_number(words.nodes),
        node_names=[name for text in named for name in text.split(",") if name],
        branch=getattr(words, "branch", None),
        values=Path(values) if values else None,
        dedicated=getattr(words, "dedicated", False),
        feature_gates=gates(words.feature_gates or ""),
        scheduler=scheduler,
    )
