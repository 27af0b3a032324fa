# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.harness COMMAND`: clusters with simulated GPUs. Called by the Makefile and by people.

Each option can also be given as the variable that `make` passes on. Exit codes: 0 fine, 1 wrong input or it does not
work, 2 usage, 77 this machine cannot do it, 130 interrupted. No traceback for what a user can mend.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.harness import (
    anycluster,
    command,
    control,
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
from tests.harness.arguments import ctl_words, options, parser
from tests.harness.audit import command as audit
from tests.harness.cluster import Cluster, Unsupported
from tests.harness.embedded.cgroups import CgroupError
from tests.harness.progress import Progress
from tests.harness.runs import Run, RunError
from tests.harness.soak import command as soak
from tests.harness.up import Up
from tests.harness.versions import CHECKOUT

# What users can mend or must be told: shown as it is, without a traceback.
EXPECTED = (
    command.CommandError,
    control.ControlError,
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


def _found(words: argparse.Namespace) -> Run:
    name = words.name or runs.default_name(CHECKOUT)
    run = runs.find(name)
    if run is None or not run.running:
        others = [other for other in runs.names() if other != name]
        more = f"; others are {', '.join(others)} (NAME=)" if others else ""
        raise RunError(f"run {name}: is not up{more}; start it with: {runs.up_command(name)}")
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


def ctl(words: argparse.Namespace, progress: Progress) -> int:
    cluster = anycluster.meant(words.name, words.provider, words.kubeconfig, progress)
    node = words.node or control.only_node(cluster.kube)
    return control.passed_through(cluster, node, ctl_words(words))


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
        case "ctl":
            return ctl(words, progress)
        case "audit":
            cluster = anycluster.meant(words.name, words.provider, words.kubeconfig, progress)
            return audit.run(cluster, words.watch, words.seconds, words.junit)
        case "soak":
            return soak.run(words.seconds or 600, words.seed, words.name, progress)
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
