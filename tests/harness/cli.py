# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.harness COMMAND`: clusters with simulated GPUs. Called by the Makefile and by people.

Each option can also be given as the variable that `make` passes on. Exit codes: 0 fine, 1 wrong input or it does not
work, 2 usage, 77 this machine cannot do it, 130 interrupted. No traceback for what a user can mend.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tests.harness import (
    command,
    debian,
    download,
    helm,
    image_load,
    images,
    kube,
    plugin_image,
    preflight,
    providers,
    registry,
    report,
    rollout,
    runs,
    upstream,
    wait,
)
from tests.harness.cluster import Cluster, Unsupported
from tests.harness.embedded.cgroups import CgroupError
from tests.harness.progress import Progress
from tests.harness.runs import Run, RunError
from tests.harness.up import Options, Up
from tests.harness.versions import CHECKOUT

# What users can mend or must be told: shown as it is, without a traceback.
EXPECTED = (
    command.CommandError,
    debian.MissingError,
    download.ChecksumError,
    helm.HelmError,
    image_load.LoadError,
    kube.KubeError,
    kube.Unreachable,
    plugin_image.PluginImageError,
    registry.RegistryError,
    rollout.RolloutError,
    upstream.ToolchainError,
    wait.WaitTimeout,
    CgroupError,
    RunError,
    Unsupported,
)


def gates(text: str) -> dict[str, bool]:
    """`A=true,B=false`, as the flag of the same name upstream."""
    found = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, value = part.partition("=")
        if value not in ("true", "false") or not name:
            raise RunError(f"FEATURE_GATES: must be NAME=true or NAME=false, got {part!r}; separate several by commas")
        found[name] = value == "true"
    return found


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
            made.add_argument("--dedicated", action="store_true", default=bool(os.environ.get("DEDICATED")),
                              help="label and taint the nodes for the branch [DEDICATED]")  # fmt: skip
    add("down", "stop it and remove everything it left on this machine")
    add("status", "nodes, GPUs, pods, and which device plugin is used")
    add("env", 'variables for a shell: eval "$(make env)"')
    add("kubeconfig", "the path of its kubeconfig, nothing else")
    commands.add_parser("images", help="every image that is used, one a line")
    load = add("load", "put images into the cluster: an archive of yours, else the project's")
    given(load, "--image", "IMAGE", "an OCI or docker archive")
    given(load, "--runtime", "RUNTIME", f"another cluster on this machine: {', '.join(image_load.RUNTIMES)}")
    return top


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


def _found(words: argparse.Namespace) -> Run:
    name = words.name or runs.default_name(CHECKOUT)
    run = runs.find(name)
    if run is None or not run.running:
        others = [other for other in runs.names() if other != name]
        more = f"; others are {', '.join(others)} (NAME=)" if others else ""
        raise RunError(f"run {name}: is not up{more}; start it with: make up")
    return run


def up(words: argparse.Namespace, progress: Progress) -> None:
    work = Up(options(words), progress)
    cluster = work.cluster()
    if words.command == "up":
        work.release(cluster)
    progress.total("total")
    work.finish(cluster)


def down(words: argparse.Namespace, progress: Progress) -> None:
    name = words.name or runs.default_name(CHECKOUT)
    run = Run(name)
    existed = run.folder.exists()
    run.lock(waiting=lambda: progress.say(f"gpu-sim: another process is working on {name}; waiting for it"))
    providers.destroy(run, progress)
    providers.reap(progress, but=run)
    print(f"gpu-sim: run {name} is " + ("stopped, nothing is left of it" if existed else "not there; nothing to stop"))


def status(words: argparse.Namespace, progress: Progress) -> int:
    cluster = _attached(words, progress)
    broken = getattr(cluster, "broken", [])
    print(report.head(cluster) + "\n\n" + report.whole(cluster))
    for what in broken:
        print(f"gpu-sim: {what} is not running; mend it with: make up", file=sys.stderr)
    return 1 if broken else 0


def _attached(words: argparse.Namespace, progress: Progress) -> Cluster:
    return providers.attach(_found(words), progress)


def load(words: argparse.Namespace, progress: Progress) -> None:
    archives = [Path(words.image)] if words.image else [images.archive(name) for name in images.RELEASED]
    absent = [str(archive) for archive in archives if not archive.is_file()]
    if absent:
        raise RunError(f"IMAGE: no such file, got {', '.join(absent)}; name an OCI or docker archive")
    if words.runtime or runs.find(words.name or runs.default_name(CHECKOUT)) is None:
        image_load.load(archives, words.runtime, words.name or "")
        return
    cluster = _attached(words, progress)
    for archive in archives:
        cluster.load_image(archive)
        print(f"{archive} → {cluster.provider} {cluster.name}: {', '.join(cluster.nodes)}")


def dispatch(words: argparse.Namespace, progress: Progress) -> int:
    match words.command:
        case "up" | "cluster":
            up(words, progress)
        case "down":
            down(words, progress)
        case "status":
            return status(words, progress)
        case "env":
            print(report.shell(_attached(words, progress)))
        case "kubeconfig":
            print(_found(words).kubeconfig)
        case "images":
            print("\n".join(recipe.reference for recipe in images.RECIPES.values()))
        case "load":
            load(words, progress)
    return 0


def main(arguments: list[str]) -> int:
    words = parser().parse_args(arguments)
    try:
        return dispatch(words, Progress())
    except KeyboardInterrupt:
        print("gpu-sim: interrupted", file=sys.stderr)
        return 130
    except preflight.NotHereError as error:
        print(f"gpu-sim: {error}", file=sys.stderr)
        return preflight.EXIT_CODE
    except EXPECTED as error:
        print(f"gpu-sim: {error}", file=sys.stderr)
        return 1
