# SPDX-License-Identifier: Apache-2.0
"""Objects of one cluster, through the official client: dictionaries in, dictionaries out.

Called by providers, cli and tests. The client is made from the given kubeconfig alone; the user's is never read.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from pathlib import Path

import yaml

from tests.harness.pods import Pods
from tests.harness.wait import wait_until

GPU = "nvidia.com/gpu"
MANAGER = "gpu-sim-harness"


class KubeError(Exception):
    """What the API answered, in its words."""

    def __init__(self, status: int, what: str, message: str):
        self.status, self.message = status, message
        super().__init__(f"{what}: the API answered {status}: {message}")


class Unreachable(OSError):
    """The API could not be asked at all; waiting goes on over it."""


class Kube(Pods):
    def __init__(self, kubeconfig: Path, context: str | None = None):
        self.kubeconfig, self.context = kubeconfig, context

    @functools.cached_property
    def api(self):
        """The client; loaded late, since it is large."""
        from kubernetes import client, config

        settings = client.Configuration()
        config.load_kube_config(str(self.kubeconfig), self.context, settings, persist_config=False)
        settings.retries = False
        return client.ApiClient(settings)

    # ---- calls ----
    def request(self, method: str, path: str, body: object = None, query: dict | None = None, kind: str | None = None):
        """One call; the decoded answer. `kind` is the content type of what is sent."""
        from urllib3.exceptions import HTTPError

        headers = {"Accept": "application/json, */*", "Content-Type": kind or "application/json"}
        if kind and not kind.endswith("json"):
            body = json.dumps(body)  # the client itself writes what is called JSON
        asked = self.api.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            answer = self.api.call_api(*asked, _request_timeout=30)
            answer.read()
        except (HTTPError, OSError) as error:
            raise Unreachable(f"{method} {path}: {error}") from None
        text = answer.data.decode(errors="replace")
        if answer.status >= 300:
            try:
                message = json.loads(text)["message"]
            except (ValueError, KeyError, TypeError):
                message = text
            raise KubeError(answer.status, f"{method} {path}", message)
        # By its type, not by its look: a pod may well log JSON.
        return json.loads(text) if "json" in (answer.getheader("Content-Type") or "") else text

    @functools.lru_cache(maxsize=256)  # noqa: B019 - one Kube for a cluster
    def _resource(self, version: str, kind: str) -> tuple[str, bool]:
        """(collection's name, namespaced) of a kind, as the API lists it."""
        root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
        for entry in self.request("GET", root)["resources"]:
            if entry["kind"] == kind and "/" not in entry["name"]:
                return f"{root}|{entry['name']}", entry["namespaced"]
        raise KubeError(404, f"{version} {kind}", "the cluster has no such kind")

    def path(self, version: str, kind: str, name: str | None = None, namespace: str | None = None) -> str:
        found, namespaced = self._resource(version, kind)
        root, plural = found.split("|")
        where = f"/namespaces/{namespace or 'default'}" if namespaced and (name or namespace) else ""
        return f"{root}{where}/{plural}" + (f"/{name}" if name else "")

    # ---- any object ----
    def get(self, version: str, kind: str, name: str, namespace: str | None = None) -> dict | None:
        try:
            return self.request("GET", self.path(version, kind, name, namespace))
        except KubeError as error:
            if error.status == 404:
                return None
            raise

    def list(self, version: str, kind: str, namespace: str | None = None, **query: str) -> list[dict]:
        return self.request("GET", self.path(version, kind, None, namespace), query=query)["items"]

    def apply(self, objects: Iterable[dict] | dict | str | Path, namespace: str | None = None) -> list[dict]:
        """Server-side apply of objects, of YAML text or of a file."""
        if isinstance(objects, Path):
            objects = objects.read_text()
        if isinstance(objects, str):
            objects = [document for document in yaml.safe_load_all(objects) if document]
        done = []
        for item in [objects] if isinstance(objects, dict) else objects:
            meta = item["metadata"]
            path = self.path(item["apiVersion"], item["kind"], meta["name"], meta.get("namespace", namespace))
            query = {"fieldManager": MANAGER, "force": "true"}
            done.append(self.request("PATCH", path, item, query, "application/apply-patch+yaml"))
        return done

    def create(self, item: dict, namespace: str | None = None) -> dict:
        meta = item["metadata"]
        path = self.path(item["apiVersion"], item["kind"], "x", meta.get("namespace", namespace)).rpartition("/")[0]
        return self.request("POST", path, item)

    def patch(self, version: str, kind: str, name: str, change: dict, namespace: str | None = None) -> dict:
        """A merge patch: null removes."""
        return self.request(
            "PATCH", self.path(version, kind, name, namespace), change, None, "application/merge-patch+json"
        )

    def delete(
        self,
        version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        grace_s: int | None = None,
        deadline_s: float | None = 60,
    ) -> None:
        """Delete and wait until it is gone (`deadline_s=None`: do not wait). Nothing there is fine."""
        path = self.path(version, kind, name, namespace)
        query = {} if grace_s is None else {"gracePeriodSeconds": str(grace_s)}
        try:
            self.request("DELETE", path, query={**query, "propagationPolicy": "Background"})
        except KubeError as error:
            if error.status != 404:
                raise
        if deadline_s is not None:
            wait_until(
                f"{kind} {name} to be gone",
                lambda: self.get(version, kind, name, namespace) is None,
                deadline_s,
                seen=lambda: (self.get(version, kind, name, namespace) or {}).get("status"),
            )

    # ---- nodes ----
    def node(self, name: str) -> dict | None:
        return self.get("v1", "Node", name)

    def nodes(self) -> list[dict]:
        return self.list("v1", "Node")

    def ready_nodes(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.nodes() if is_ready(node)]

    def gpus(self, name: str, resource: str = GPU) -> tuple[int | None, int | None]:
        """(capacity, allocatable); None where the node does not have the resource at all."""
        status = (self.node(name) or {}).get("status", {})
        return tuple(
            None if resource not in status.get(part, {}) else int(status[part][resource])
            for part in ("capacity", "allocatable")
        )

    def label_node(self, name: str, labels: dict[str, str | None]) -> None:
        """Set labels of a node; None removes one."""
        self.patch("v1", "Node", name, {"metadata": {"labels": labels}})

    def taint_node(self, name: str, taints: list[dict]) -> None:
        """Replace the taints that were set by hand; those of Kubernetes itself stay."""
        kept = [t for t in self.node(name)["spec"].get("taints", []) if t["key"].startswith("node.kubernetes.io/")]
        self.patch("v1", "Node", name, {"spec": {"taints": kept + taints}})

    def cordon(self, name: str, on: bool = True) -> None:
        self.patch("v1", "Node", name, {"spec": {"unschedulable": on or None}})


def is_ready(node: dict) -> bool:
    """Ready, and not marked as not ready yet by the node controller."""
    conditions = node.get("status", {}).get("conditions", [])
    taints = [taint["key"] for taint in node.get("spec", {}).get("taints", [])]
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and "node.kubernetes.io/not-ready" not in taints
