# SPDX-License-Identifier: Apache-2.0
"""What every provider of a cluster offers, so that the same tests and `make up` run on each.

Called by cli and test fixtures. Providers: embedded (processes on this machine), kind (Docker), current (the
user's own).
"""

from __future__ import annotations

import abc
import functools
import shutil
from pathlib import Path

from tests.harness.helm import Helm
from tests.harness.kube import Kube


class Cluster(abc.ABC):
    """A cluster with at least one node that simulated GPUs may be put on."""

    provider: str

    def __init__(self, name: str, kubeconfig: Path, programs: dict[str, Path]):
        self.name, self.kubeconfig, self.programs = name, kubeconfig, programs

    @functools.cached_property
    def kube(self) -> Kube:
        return Kube(self.kubeconfig)

    @functools.cached_property
    def helm(self) -> Helm:
        return Helm(self.programs["helm"], self.kubeconfig, self.kube)

    @property
    @abc.abstractmethod
    def nodes(self) -> list[str]:
        """Names of the nodes that tests and installs may use."""

    @abc.abstractmethod
    def node(self, name: str):
        """Operations on one node; providers that cannot do one raise Unsupported."""

    @abc.abstractmethod
    def load_image(self, archive: Path) -> None:
        """Make the images of an archive available on every node."""

    @abc.abstractmethod
    def stop(self) -> None:
        """Remove what `start` made, and nothing else."""

    def save_logs(self, folder: Path | None = None) -> Path | None:
        """Copy the logs of the cluster's own programs, where the provider has them."""
        source = self.kubeconfig.parent / "log"
        if not source.is_dir():
            return None
        target = (folder or Path("build/evidence")) / f"log-{self.name}"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        return target


class Unsupported(Exception):
    """An operation that this provider has no way to do; tests that need it say which provider they want."""
