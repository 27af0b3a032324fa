# SPDX-License-Identifier: Apache-2.0
"""Puts image archives into a cluster on this machine: kind, k3s, minikube or plain containerd. Called by images.py.

The cluster is the one of the current kubeconfig context where its name tells, else the one whose programs are here.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from tests.harness import command, oci, upstream

CONTAINERD = Path("/run/containerd/containerd.sock")
K3S = Path("/run/k3s/containerd/containerd.sock")


class LoadError(Exception):
    """There is no cluster to load into, or more than one could be meant."""


def _kind(archive: Path, name: str) -> list[list[object]]:
    return [["kind", "load", "image-archive", archive, "--name", name or "kind"]]


def _minikube(archive: Path, name: str) -> list[list[object]]:
    return [["minikube", "image", "load", archive, "--profile", name or "minikube"]]


def _k3s(archive: Path, name: str) -> list[list[object]]:
    return [["k3s", "ctr", "--namespace", "k8s.io", "images", "import", archive]]


def _containerd(archive: Path, name: str) -> list[list[object]]:
    return [["ctr", "--address", CONTAINERD, "--namespace", "k8s.io", "images", "import", archive]]


COMMANDS: dict[str, Callable[[Path, str], list[list[object]]]] = {
    "kind": _kind,
    "minikube": _minikube,
    "k3s": _k3s,
    "containerd": _containerd,
}
RUNTIMES = tuple(COMMANDS)
PROGRAMS = {"kind": "kind", "minikube": "minikube", "k3s": "k3s", "containerd": "ctr"}


def _context() -> str:
    """The current context's name, as kubectl would find it; empty where there is none."""
    listed = os.environ.get("KUBECONFIG") or str(Path("~/.kube/config").expanduser())
    for path in filter(None, listed.split(os.pathsep)):
        try:
            found = (yaml.safe_load(Path(path).read_text()) or {}).get("current-context")
        except (OSError, yaml.YAMLError, AttributeError):
            continue
        if found:
            return str(found)
    return ""


def detect() -> tuple[str, str]:
    """Runtime and cluster name."""
    context = _context()
    if context.startswith("kind-"):
        return "kind", context.removeprefix("kind-")
    if shutil.which("minikube") and (Path("~/.minikube/profiles").expanduser() / (context or "-")).is_dir():
        return "minikube", context
    here = [name for name, socket in (("k3s", K3S), ("containerd", CONTAINERD)) if socket.exists()]
    here = [name for name in here if shutil.which(PROGRAMS[name])]
    if len(here) == 1:
        return here[0], ""
    seen = f"{' and '.join(here)} run here" if here else "neither k3s nor containerd runs here"
    raise LoadError(
        f"load: cannot tell which cluster is meant (current context {context or 'none'!r}, {seen}); "
        f"name it: make load RUNTIME={'|'.join(RUNTIMES)}"
    )


def load(archives: Sequence[Path], runtime: str | None = None, name: str = "") -> None:
    if not runtime:
        runtime, found = detect()
        name = name or found
    if runtime not in COMMANDS:
        raise LoadError(f"load: RUNTIME must be one of {', '.join(RUNTIMES)}, got {runtime!r}; choose one")
    missing = [str(archive) for archive in archives if not archive.is_file()]
    if missing:
        raise LoadError(f"load: no such archive, got {', '.join(missing)}; name an OCI or docker archive")
    if not shutil.which(PROGRAMS[runtime]):
        raise LoadError(f"load: {PROGRAMS[runtime]} is not in PATH; install it, or choose another RUNTIME")
    with tempfile.TemporaryDirectory() as folder:
        for archive in archives:
            # minikube may hand it to Docker, which reads one platform only.
            ours = runtime == "minikube" and upstream.arch() != oci.DOCKER_ARCHITECTURE
            file = Path(folder) / archive.name if ours else archive
            if ours:
                oci.select(archive, upstream.arch(), file)
            for argv in COMMANDS[runtime](file, name):
                command.run(argv)
            print(f"{archive} → {runtime}{f' {name}' if name else ''}")
