# SPDX-License-Identifier: Apache-2.0
"""What a reader of a failed test wants to see, written down before anything is cleaned up: objects, events, logs.

Called by the e2e fixtures on failure. It never fails itself: what cannot be had is noted in its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.harness.cluster import Cluster
from tests.harness.kube import Kube
from tests.harness.versions import CHECKOUT

FOLDER = CHECKOUT / "build" / "evidence"
OURS = "app.kubernetes.io/name=gpu-sim"
OBJECTS = {
    "nodes": ("v1", "Node"),
    "pods": ("v1", "Pod"),
    "daemonsets": ("apps/v1", "DaemonSet"),
    "quotas": ("v1", "ResourceQuota"),
}


def folder_of(test: str) -> Path:
    return FOLDER / re.sub(r"[^\w.-]+", "-", test.removeprefix("tests/"))


def collect(cluster: Cluster, folder: Path) -> Path:
    """Fill the folder; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    kube = cluster.kube
    for name, (version, kind) in OBJECTS.items():
        _write(folder / f"{name}.json", lambda v=version, k=kind: json.dumps(kube.list(v, k), indent=1))
    _write(folder / "events.txt", lambda: events(kube))
    _write(folder / "releases.json", lambda: json.dumps(cluster.helm.releases(), indent=1))
    try:
        pods = kube.pods()
    except Exception as error:
        (folder / "logs.txt").write_text(f"not to be had: {error}\n")
        pods = []
    for pod in pods:
        _logs(kube, pod, folder)
    _write(folder / "programs.txt", lambda: str(cluster.save_logs(folder)))
    return folder


def events(kube: Kube) -> str:
    """Oldest first, one a line."""
    found = sorted(kube.list("v1", "Event"), key=lambda event: _when(event))
    return "\n".join(
        f"{_when(e)} {e['type']} {e['involvedObject']['kind']} {e['involvedObject'].get('namespace', '')}/"
        f"{e['involvedObject']['name']} {e['reason']}: {e.get('message', '')}"
        for e in found
    )


def _when(event: dict) -> str:
    return event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"]


def _logs(kube: Kube, pod: dict, folder: Path) -> None:
    meta, status = pod["metadata"], pod["status"]
    for container in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
        name = f"{meta['namespace']}-{meta['name']}-{container['name']}"
        _write(folder / f"{name}.log", lambda c=container: kube.pod_log(meta["namespace"], meta["name"], c["name"]))
        if container.get("restartCount"):
            read = lambda c=container: kube.pod_log(meta["namespace"], meta["name"], c["name"], previous=True)  # noqa: E731
            _write(folder / f"{name}.previous.log", read)


def _write(file: Path, read: Callable[[], str]) -> None:
    try:
        text = read()
    except Exception as error:
        text = f"not to be had: {error}"
    file.write_text(text + "\n")
