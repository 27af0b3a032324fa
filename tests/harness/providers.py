# SPDX-License-Identifier: Apache-2.0
"""Which provider, and why; a run's cluster whatever provides it.

Called by cli, up and test fixtures.
"""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from tests.harness import command, current, kind, runs, toolchain
from tests.harness.cluster import Cluster
from tests.harness.embedded import clean, provider
from tests.harness.progress import Progress
from tests.harness.runs import Run, RunError

NAMES = ("embedded", "kind", "current")


def docker_works() -> bool:
    try:
        return command.run(["docker", "info"], check=False, timeout=10).code == 0
    except command.CommandError:
        return False


def choose(asked: str | None) -> tuple[str, str]:
    """(provider, the reason in words)."""
    if asked:
        if asked not in NAMES:
            raise RunError(f"PROVIDER: must be one of {', '.join(NAMES)}, got {asked!r}; leave it out to let us choose")
        return asked, "you asked for it"
    root = platform.system() == "Linux" and os.geteuid() == 0
    if docker_works():
        if shutil.which("kind"):
            return "kind", "Docker runs here and kind is installed"
        if root:
            return "embedded", "Docker runs here, but kind is not installed; this is root on Linux"
        raise RunError(
            "PROVIDER: Docker runs here but kind does not, got no kind in PATH; install kind, or be root on Linux"
        )
    if root:
        return "embedded", "this is root on Linux, and Docker does not run here"
    raise RunError(
        f"PROVIDER: none works here, got {platform.system()} as uid {os.geteuid()} without Docker; "
        "be root on Linux, or install Docker and kind"
    )


def programs(name: str, progress: Progress) -> dict[str, Path]:
    """What a provider's clusters need; a kubectl that is there spares building one."""
    if name == "embedded":
        return toolchain.programs(provider.GROUPS, progress)
    found = toolchain.programs(("helm",), progress)
    for program in ("kubectl", "kind"):
        path = shutil.which(program)
        if path:
            found[program] = Path(path)
    if "kubectl" not in found:
        found["kubectl"] = toolchain.programs(("kubernetes",), progress)["kubectl"]
    return found


def attach(run: Run, progress: Progress | None = None) -> Cluster:
    """The cluster of a run that is up."""
    progress = progress or Progress()
    name = run.state.get("provider", "embedded")
    if name == "embedded":
        return provider.attach(run, programs(name, progress), progress)
    if not run.running:
        raise RunError(f"run {run.name}: is not up; start it with: {runs.up_command(run.name)}")
    if name == "kind":
        return kind.KindCluster(run, programs(name, progress), progress)
    return current.CurrentCluster(run, programs(name, progress))


def destroy(run: Run, progress: Progress) -> None:
    """End a run, however far it got. The caller owns its lock."""
    name = run.state.get("provider", "embedded")
    if name == "embedded":
        clean.destroy(run)
    elif name == "kind":
        kind.KindCluster(run, programs(name, progress), progress).stop()
    else:
        current.CurrentCluster(run, programs(name, progress)).stop()


def reap(progress: Progress, but: Run) -> None:
    """Clean every run that was abandoned, of whatever provider; `but` is the one that we hold ourselves."""
    for run in runs.abandoned():
        if run.name != but.name:
            if run.state:
                progress.say(f"gpu-sim: cleaning up run {run.name}, which was left unfinished")
            destroy(run, progress)
