# SPDX-License-Identifier: Apache-2.0
"""What the cluster says about nodes, their GPUs and the pods that serve them. Reads only.

The base of Stage, so that tests have one thing to ask.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.e2e.host import Host
from tests.e2e.watching import watch
from tests.harness.cluster import Cluster
from tests.harness.wait import wait_until

USABLE_S = 60  # from a change of values to usable GPUs; what the README promises
READS = 3  # a single reading may be the kubelet's memory of better days
NODE_PODS = "app.kubernetes.io/component=node"


class Looking:
    def __init__(self, cluster: Cluster):
        self.cluster, self.kube = cluster, cluster.kube

    def host(self, node: str) -> Host:
        return Host(self.cluster.node(node), self.node_pod(node))

    # ---- pods of a release ----
    def pods_of(self, release: str) -> list[dict]:
        return self.kube.pods(None, f"app.kubernetes.io/instance={release},{NODE_PODS}")

    def explain(self, release: str) -> dict:
        return {pod["metadata"]["name"]: pod["status"] for pod in self.pods_of(release)}

    def node_pod(self, node: str) -> dict | None:
        """The running pod that serves the node's GPUs, of whatever release."""
        pods = self.kube.list("v1", "Pod", labelSelector=NODE_PODS, fieldSelector=f"spec.nodeName={node}")
        alive = [p for p in pods if p["status"]["phase"] == "Running" and "deletionTimestamp" not in p["metadata"]]
        return alive[0] if len(alive) == 1 else None

    def pod_identity(self, node: str) -> tuple:
        """Changes when the pod is replaced or one of its containers restarts."""
        pod = self.node_pod(node)
        statuses = [*pod["status"].get("initContainerStatuses", []), *pod["status"]["containerStatuses"]]
        restarts = {status["name"]: status["restartCount"] for status in statuses}
        return pod["metadata"]["uid"], restarts

    def ready(self, node: str) -> bool:
        pod = self.node_pod(node) or {"status": {}}
        return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))

    def plugin_log(self, node: str, previous: bool = False) -> str:
        meta = self.node_pod(node)["metadata"]
        return self.kube.pod_log(meta["namespace"], meta["name"], "device-plugin", previous)

    def installer_message(self, release: str) -> str:
        """What the release's installer wrote when it gave up; empty while it has not."""
        for pod in self.pods_of(release):
            for status in pod["status"].get("initContainerStatuses", []):
                for state in (status["state"], status.get("lastState", {})):
                    if state.get("terminated", {}).get("exitCode"):
                        return state["terminated"].get("message", "")
        return ""

    # ---- GPUs of a node ----
    def gpus(self, node: str) -> tuple[int, int]:
        """(capacity, allocatable); a node that never had any counts as 0."""
        return tuple(count or 0 for count in self.kube.gpus(node))

    def wait_gpus(self, node: str, count: int, deadline_s: float = USABLE_S, reads: int = READS) -> None:
        wait_until(
            f"{count} GPUs on {node}",
            lambda: self.gpus(node) == (count, count),
            deadline_s,
            reads=reads,
            seen=lambda: (self.gpus(node), (self.node_pod(node) or {}).get("status")),
        )

    def wait_no_gpus(self, node: str) -> None:
        wait_until(f"no GPUs on {node}", lambda: self.gpus(node)[1] == 0, USABLE_S, seen=lambda: self.gpus(node))

    def allocations(self, node: str) -> dict[tuple[str, str], list[str]]:
        """The kubelet's own record: (namespace, pod) → UUIDs."""
        return self.kube.pod_resources(self.cluster.node(node))

    def allocated(self, node: str, namespace: str, pod: str) -> list[str]:
        return sorted(self.allocations(node).get((namespace, pod), []))

    def watch_allocatable(self, node: str) -> Callable[[], set[int]]:
        """Reads allocatable until the returned function is called, which gives every value that was seen."""
        return watch(0.2, lambda: [self.gpus(node)[1]])

    # ---- what must not change ----
    def fingerprint(self, node: str) -> dict:
        """All of a node that must stay while something happens elsewhere."""
        return {
            "gpus": self.gpus(node),
            "pod": self.pod_identity(node),
            "inventory": self.host(node).inventory(),
            "allocations": self.allocations(node),
            **self.node_marks(node),
        }

    def node_marks(self, node: str) -> dict:
        """What the API server keeps about a node that a release could leave behind."""
        found = self.kube.node(node)
        marks = {key: found["metadata"].get(key, {}) for key in ("labels", "annotations", "finalizers")}
        return {**marks, "taints": found["spec"].get("taints", [])}
