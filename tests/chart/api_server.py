# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API that answers helm's questions during `install --dry-run=server`, and stores nothing.

What `lookup` finds in a cluster cannot be tested with `helm template`. Namespaces and DaemonSets are what a test puts
into `objects`; everything else is not found. Whoever asks is remembered in `asked`; `forbidden` kinds answer 403.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tests.harness import versions

RESOURCES = {
    "v1": {"namespaces": "Namespace", "serviceaccounts": "ServiceAccount", "resourcequotas": "ResourceQuota",
           "pods": "Pod", "secrets": "Secret"},
    "apps/v1": {"daemonsets": "DaemonSet"},
    "rbac.authorization.k8s.io/v1": {"roles": "Role", "rolebindings": "RoleBinding", "clusterroles": "ClusterRole",
                                     "clusterrolebindings": "ClusterRoleBinding"},
}  # fmt: skip
CLUSTER_SCOPED = ("namespaces", "clusterroles", "clusterrolebindings")


class ApiServer:
    def __init__(self) -> None:
        self.objects: list[dict] = []
        self.forbidden: set[str] = set()
        self.asked: list[str] = []
        self.kubernetes = versions.version("kubernetes")

    def __enter__(self) -> ApiServer:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = urlsplit(self.path).path
                owner.asked.append(path)
                code, body = owner.answer(path)
                content = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def options(self, folder: Path) -> list[str]:
        """What sends helm here, and nowhere else."""
        kubeconfig = folder / "kubeconfig"
        cluster = {"server": f"http://127.0.0.1:{self._server.server_port}"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "fake", "cluster": cluster}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": ""}}],
            "current-context": "fake",
        }
        kubeconfig.write_text(json.dumps(config))
        return ["--kubeconfig", str(kubeconfig)]

    def answer(self, path: str) -> tuple[int, dict]:
        parts = path.strip("/").split("/")
        if path == "/version":
            major, minor, _ = self.kubernetes.split(".")
            return 200, {"major": major, "minor": minor, "gitVersion": f"v{self.kubernetes}"}
        if path == "/api":
            return 200, {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            return 200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": _groups()}
        group = "v1" if parts[0] == "api" else "/".join(parts[1:3])
        rest = parts[2:] if parts[0] == "api" else parts[3:]
        if group not in RESOURCES:
            return 404, _status(404, "NotFound", path)
        if not rest:
            return 200, _resources(group)
        return self._objects(group, rest)

    def _objects(self, group: str, rest: list[str]) -> tuple[int, dict]:
        namespace = None
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        kind = RESOURCES[group][rest[0]]
        if kind in self.forbidden:
            return 403, _status(403, "Forbidden", f"{rest[0]} is forbidden")
        found = [item for item in self.objects if item["kind"] == kind]
        found = [item for item in found if namespace in (None, item["metadata"].get("namespace"))]
        if len(rest) == 1:
            return 200, {"kind": f"{kind}List", "apiVersion": group, "metadata": {}, "items": found}
        named = [item for item in found if item["metadata"]["name"] == rest[1]]
        return (200, named[0]) if named else (404, _status(404, "NotFound", f"{rest[0]} {rest[1]} not found"))


def _groups() -> list[dict]:
    groups = []
    for group in RESOURCES:
        if "/" in group:
            version = {"groupVersion": group, "version": group.split("/")[1]}
            groups.append({"name": group.split("/")[0], "versions": [version], "preferredVersion": version})
    return groups


def _resources(group: str) -> dict:
    verbs = ["get", "list", "create", "update", "patch", "delete", "watch"]
    listed = [
        {"name": name, "singularName": "", "kind": kind, "namespaced": name not in CLUSTER_SCOPED, "verbs": verbs}
        for name, kind in RESOURCES[group].items()
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group, "resources": listed}


def _status(code: int, reason: str, message: str) -> dict:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return status | {"code": code, "reason": reason, "message": message}
