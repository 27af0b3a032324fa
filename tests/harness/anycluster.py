# SPDX-License-Identifier: Apache-2.0
"""The cluster that is meant: a run of the harness, or whatever a kubeconfig leads to. Called by cli.

What a kubeconfig leads to is asked, never started, changed or stopped.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.harness import control, current, providers, runs, toolchain
from tests.harness.cluster import Cluster, Unsupported
from tests.harness.progress import Progress
from tests.harness.runs import RunError
from tests.harness.versions import CHECKOUT


class Programs(dict):
    """kubectl, once it is needed: the one in PATH, else ours."""

    def __missing__(self, name: str) -> Path:
        found = shutil.which(name)
        self[name] = Path(found) if found else toolchain.programs(("kubernetes",), Progress())[name]
        return self[name]


class AnyCluster(Cluster):
    provider = "kubeconfig"

    def __init__(self, kubeconfig: Path):
        super().__init__(str(kubeconfig), kubeconfig, Programs())

    @property
    def nodes(self) -> list[str]:
        return sorted(control.node_pods(self.kube))

    def node(self, name: str):
        raise Unsupported(f"node {name}: what is below Kubernetes needs a run of the embedded provider")

    def load_image(self, archive: Path) -> None:
        raise Unsupported(f"{archive}: this cluster is only looked at")

    def stop(self) -> None:
        """Nothing was started."""


def meant(name: str | None, provider: str | None, kubeconfig: str | None, progress: Progress) -> Cluster:
    """A kubeconfig that was named; else the run that is up; else the user's own kubeconfig, which is said."""
    if kubeconfig:
        path = Path(kubeconfig).expanduser()
        if not path.is_file():
            raise RunError(f"kubeconfig: no such file, got {kubeconfig!r}; see: make kubeconfig")
        return AnyCluster(path)
    wanted = name or runs.default_name(CHECKOUT)
    run = runs.find(wanted)
    if run and run.running and provider in (None, run.state.get("provider", "embedded")):
        return providers.attach(run, progress)
    if name or provider in ("embedded", "kind"):
        kind = f" with provider {provider}" if provider else ""
        raise RunError(f"run {wanted}: is not up{kind}; start it with: {runs.up_command(wanted)}")
    try:
        path = current.users_kubeconfig()
    except RunError:
        raise RunError(
            f"run {wanted}: is not up, and there is no kubeconfig; start it with: make up, or set KUBECONFIG"
        ) from None
    progress.say(f"gpu-sim: run {wanted} is not up; using {path}")
    return AnyCluster(path)
