# SPDX-License-Identifier: Apache-2.0
"""The user's own cluster: the context that is current now, and the nodes that were named. Nothing else is touched.

Called by up and test fixtures. The context is copied into the run's folder, so that a context switched by somebody else
does not carry us to another cluster half-way.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import yaml

from tests.harness import runs
from tests.harness.cluster import Cluster, Unsupported
from tests.harness.runs import Run, RunError

LABEL = "gpu-sim"
FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


def users_kubeconfig() -> Path:
    """The first file of KUBECONFIG that exists, else the default place."""
    listed = [Path(part).expanduser() for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    for path in listed or [Path("~/.kube/config").expanduser()]:
        if path.is_file():
            return path
    raise RunError("KUBECONFIG: names no file that exists, got nothing at ~/.kube/config either; set KUBECONFIG")


def pinned(source: Path, context: str | None = None) -> dict:
    """One context of a kubeconfig with all that belongs to it, independent of the file it came from."""
    loaded = yaml.safe_load(source.read_text()) or {}
    name = context or loaded.get("current-context")
    entry = _named(loaded, "contexts", name, source)
    cluster = _named(loaded, "clusters", entry["context"]["cluster"], source)
    user = _named(loaded, "users", entry["context"]["user"], source)
    for part in (cluster.get("cluster", {}), user.get("user", {})):
        for key in FILES:
            if part.get(key):
                part[key] = str((source.parent / part[key]).resolve())  # an absolute one stays what it is
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [entry],
        "clusters": [cluster],
        "users": [user],
    }


def _named(loaded: dict, kind: str, name: str | None, source: Path) -> dict:
    for entry in loaded.get(kind) or []:
        if entry.get("name") == name:
            return entry
    known = ", ".join(str(entry.get("name")) for entry in loaded.get(kind) or []) or "none"
    raise RunError(f"{source}:{kind}: must be one of {known}, got {name!r}; choose a context that exists")


class CurrentNode:
    def __init__(self, name: str):
        self.name = name

    def __getattr__(self, operation: str):
        raise Unsupported(f"node {self.name}: {operation} needs access below Kubernetes, which only embedded has")


class CurrentCluster(Cluster):
    provider = "current"

    def __init__(self, run: Run, programs: dict[str, Path]):
        super().__init__(run.name, run.kubeconfig, programs)
        self.run = run

    @property
    def nodes(self) -> list[str]:
        return list(self.run.state["nodes"])

    def node(self, name: str) -> CurrentNode:
        if name not in self.nodes:
            raise RunError(f"node: must be one of {', '.join(self.nodes)}, got {name!r}; it was not named")
        return CurrentNode(name)

    def start(self) -> None:
        there = {node["metadata"]["name"]: node for node in self.kube.nodes()}
        absent = [name for name in self.nodes if name not in there]
        if absent:
            raise RunError(f"nodes: must be among {', '.join(there)}, got {', '.join(absent)}; see: kubectl get nodes")
        labelled = {n for n, node in there.items() if node["metadata"].get("labels", {}).get(LABEL) == "true"}
        others = sorted(labelled - set(self.nodes))
        if others:
            raise RunError(
                f"nodes: only those that were named may have the label {LABEL}=true, got it on {', '.join(others)}; "
                f"name them too, or: kubectl label node {' '.join(others)} {LABEL}-"
            )
        ours = [name for name in self.nodes if name not in labelled]
        self.run.save(labelled=ours)  # before it is done: whoever cleans up removes the label from these alone
        for name in ours:
            self.kube.label_node(name, {LABEL: "true"})
        self.run.save(status=runs.RUNNING)

    def load_image(self, archive: Path) -> None:
        raise Unsupported(
            f"{archive}: a cluster of your own takes images from a registry; "
            "make push REGISTRY=host/path, or make load RUNTIME=k3s|minikube|containerd on each node"
        )

    def stop(self) -> None:
        """Take back the labels that we set. Releases are removed by whoever installed them."""
        if not self.run.locked:
            self.run.lock()
        for name in self.run.state.get("labelled", []):
            if self.kube.node(name):
                self.kube.label_node(name, {LABEL: None})
        self.run.remove()


def start(run: Run, nodes: list[str], programs: dict[str, Path], source: Path | None = None) -> CurrentCluster:
    """`run` is locked by the caller."""
    if not nodes:
        raise RunError("nodes: must be named for provider current, got none; NODE_NAMES=a,b or --node a --node b")
    content = pinned(source or users_kubeconfig())
    run.state = {}
    run.save(provider="current", status=runs.STARTING, nodes={name: i for i, name in enumerate(nodes)})
    handle = os.open(run.kubeconfig, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as out:
        json.dump(content, out, indent=1)
    cluster = CurrentCluster(run, programs)
    try:
        cluster.start()
    except BaseException:
        cluster.stop()
        raise
    return cluster
