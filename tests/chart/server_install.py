# SPDX-License-Identifier: Apache-2.0
"""`helm install --dry-run=server` against the API of api_server.py: what would be installed, and the notes."""

from __future__ import annotations

from pathlib import Path

from tests.chart.api_server import ApiServer
from tests.chart.rendering import CHART, Charts, Rendered


class Install:
    def __init__(self, chart: Charts, server: ApiServer, folder: Path):
        self.chart, self.server, self.folder = chart, server, folder

    def run(self, *options: str, release: str = "rel-a", namespace: str = "ns-a"):
        where = ["-n", namespace, "--dry-run=server", "--disable-openapi-validation"]
        return self.chart.run("install", release, CHART, *where, *self.server.options(self.folder), *options)

    def __call__(self, *options: str, **how: str) -> tuple[Rendered, str]:
        done = self.run(*options, **how)
        assert done.returncode == 0, done.stderr
        _, _, rest = done.stdout.partition("\nMANIFEST:\n")
        manifest, _, notes = rest.partition("\nNOTES:\n")
        return Rendered(manifest), notes


def namespace(name: str, labels: dict | None = None, annotations: dict | None = None) -> dict:
    metadata = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def daemon_set(name: str, spec: dict, labels: dict | None = None) -> dict:
    metadata = {"name": name, "namespace": "somewhere", "labels": labels or {}}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": {"template": {"spec": spec}}}
