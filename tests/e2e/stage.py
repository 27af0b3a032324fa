# SPDX-License-Identifier: Apache-2.0
"""The shared cluster as tests want it: a node with these values, a node without a release.

Made once by the fixture `stage`. Tests say what they need and find it, whatever ran before; a release that already has
those values is left as it is, so that most tests wait for nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.looking import USABLE_S, Looking
from tests.harness import command
from tests.harness.cluster import Cluster
from tests.harness.helm import HelmError
from tests.harness.versions import CHECKOUT
from tests.harness.wait import wait_until

CHART = CHECKOUT / "charts/gpu-sim"
LABEL = {"gpu-sim": "true"}
RBAC = "rbac.authorization.k8s.io/v1"
KINDS = [
    *(("v1", kind) for kind in ("Pod", "ConfigMap", "Secret", "ServiceAccount")),
    ("apps/v1", "DaemonSet"),
    *((RBAC, kind) for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")),
]


class Stage(Looking):
    def __init__(self, cluster: Cluster, folder: Path):
        super().__init__(cluster)
        self.helm, self.folder = cluster.helm, folder
        self.standing: dict[str, tuple[str, dict]] = {}

    def kubectl(self, *words: str) -> str:
        argv = [self.cluster.programs["kubectl"], "--kubeconfig", self.cluster.kubeconfig, *words]
        return command.run(argv, timeout=120).out

    def install(self, release: str, node: str | None, values: dict, namespace: str = "default", extra=()) -> None:
        """Install or upgrade `release` for `node` alone (None: the values say where); does not wait for GPUs."""
        if node:
            values = {"nodeSelector": {**LABEL, "kubernetes.io/hostname": node}, **values}
        file = self.folder / f"{release}.yaml"
        file.write_text(json.dumps(values))  # JSON is YAML
        self.helm.apply(release, CHART, values=[file], namespace=namespace, extra=["--create-namespace", *extra])

    def simulate(self, node: str, **values: dict) -> str:
        """The node has exactly these values when this returns; the release's name."""
        release = f"on-{node}"
        if self.standing.get(node) != (release, values):
            if node not in self.standing:
                self.wait_no_gpus(node)
            self.standing[node] = (release, {})
            self.install(release, node, values)
            self.wait_rollout(release)
            self.standing[node] = (release, values)
        self.wait_gpus(node, values.get("gpuSim", {}).get("deviceCount", 4))
        return release

    def uninstall(self, node: str) -> None:
        if node in self.standing:
            release, _ = self.standing.pop(node)
            self.helm.uninstall(release, "default")

    def clear(self, node: str) -> None:
        """The node has no release, and nothing of one, when this returns."""
        self.uninstall(node)
        self.wait_no_gpus(node)
        wait_until(
            f"{node} to be clean",
            lambda: not self.host(node).files(),
            USABLE_S,
            seen=lambda: self.host(node).files(),
        )

    def delete_node_pod(self, node: str) -> None:
        meta = self.node_pod(node)["metadata"]
        self.kube.delete("v1", "Pod", meta["name"], meta["namespace"])

    def objects_of(self, release: str) -> list[str]:
        """Every object that carries the release's label, as namespace/Kind/name, but the pods of `helm test`.

        Helm keeps those for their logs, and so does an uninstall; they have ended and hold nothing.
        """
        selector = f"app.kubernetes.io/instance={release}"
        return sorted(
            f"{item['metadata'].get('namespace', 'cluster')}/{kind}/{item['metadata']['name']}"
            for version, kind in KINDS
            for item in self.kube.list(version, kind, labelSelector=selector)
            if "helm.sh/hook" not in item["metadata"].get("annotations", {})
        )

    def daemonset(self, release: str) -> dict | None:
        found = self.kube.list("apps/v1", "DaemonSet", labelSelector=f"app.kubernetes.io/instance={release}")
        return found[0] if found else None

    def pod_security(self, namespace: str) -> str | None:
        found = self.kube.get("v1", "Namespace", namespace) or {"metadata": {}}
        return found["metadata"].get("labels", {}).get("pod-security.kubernetes.io/enforce")

    def wait_rollout(self, release: str, deadline_s: float = USABLE_S) -> None:
        """helm --wait is content with a DaemonSet of which a part may be missing: with one node, that is all of it."""

        def rolled_out() -> bool:
            item = self.daemonset(release) or {"metadata": {"generation": -1}, "status": {}}
            status, wanted = item["status"], item["status"].get("desiredNumberScheduled", 0)
            seen = status.get("observedGeneration") == item["metadata"]["generation"]
            return seen and 0 < wanted == status.get("updatedNumberScheduled") == status.get("numberReady")

        wait_until(f"the rollout of {release}", rolled_out, deadline_s, seen=lambda: self.explain(release))

    def helm_test(self, release: str, fails: bool = False, namespace: str = "default") -> str:
        """What `helm test` printed, after the verdict that was expected."""
        try:
            said = self.helm.test(release, namespace)
        except HelmError as error:
            assert fails, f"helm test of {release} failed:\n{error.text}"
            return error.text
        assert not fails, f"helm test of {release} passed:\n{said}"
        return said
