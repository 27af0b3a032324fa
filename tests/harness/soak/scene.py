# SPDX-License-Identifier: Apache-2.0
"""Where a soak takes place: a release that is upgraded, one that is steady, and what must be true afterwards.

Called by run. The nodes are the cluster's; labels and releases are taken back by `leave`.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.harness import control
from tests.harness.audit.model import Reading
from tests.harness.audit.sources import ROOT
from tests.harness.cluster import Cluster
from tests.harness.kube import GPU
from tests.harness.soak.churn import NAMESPACE, manifest
from tests.harness.soak.plan import GPUS
from tests.harness.versions import CHECKOUT
from tests.harness.wait import wait_until

CHART = CHECKOUT / "charts/gpu-sim"
ROLE = "gpu-sim.io/soak"
CHANGING, STEADY = "changing", "steady"
USABLE_S = 120  # the README's 60 s on a machine that has just been busy with everything at once
READS = 3


class Scene:
    def __init__(self, cluster: Cluster, nodes: list[str], read: Callable[[str], Reading]):
        self.cluster, self.kube, self.nodes, self.read = cluster, cluster.kube, nodes, read
        self.roles = dict.fromkeys(nodes[:-1], CHANGING) | {nodes[-1]: STEADY}
        self.uuids: dict[str, set[str]] = {}
        self.files: dict[str, set[str]] = {}

    def prepare(self) -> None:
        for node, role in self.roles.items():
            self.kube.label_node(node, {ROLE: role})
        for role in sorted(set(self.roles.values())):
            self.apply(role, {})
        for node in self.nodes:
            self._usable(node)
            self.uuids[node] = self._uuids(node)
            self.files[node] = self._files(node)
        self.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        account = lambda: self.kube.get("v1", "ServiceAccount", "default", NAMESPACE)  # noqa: E731
        wait_until(f"the default service account of {NAMESPACE}", account, 30)

    def apply(self, role: str, gpu_sim: dict) -> None:
        """Install or upgrade; nobody waits for the pods."""
        values = {
            "nodeSelector": {"gpu-sim": "true", ROLE: role},
            "gpuSim": {"deviceCount": GPUS, **gpu_sim},
            "tests": {"enabled": False},
        }
        self.cluster.helm.apply(f"soak-{role}", CHART, set=values, namespace="default")

    def _usable(self, node: str) -> None:
        wait_until(
            f"{GPUS} GPUs on {node}", lambda: self.kube.gpus(node) == (GPUS, GPUS), USABLE_S, reads=READS,
            seen=lambda: (self.kube.gpus(node), (control.node_pods(self.kube).get(node) or {}).get("status")),
        )  # fmt: skip

    def _uuids(self, node: str) -> set[str]:
        return {gpu.uuid for gpu in self.read(node).gpus or ()}

    def _files(self, node: str) -> set[str]:
        """Of our folder on the node: a writer that was killed must not leave half a file for ever."""
        top = self.cluster.node(node).host_path(ROOT)
        return {str(path.relative_to(top)) for path in top.rglob("*") if not path.is_dir()}

    # ---- afterwards ----
    def proven(self) -> list[str]:
        """What is wrong with the nodes now that everything was repaired; a pod of all GPUs finds each device."""
        wrong = []
        for node in self.nodes:
            try:
                control.ctl(self.cluster, node, ["clear", "--gpu", "all"])
                self._usable(node)
                self._nobody_holds(node)
                held = self._all_gpus(node)
                if held != self.uuids[node]:
                    lost, new = sorted(self.uuids[node] - held), sorted(held - self.uuids[node])
                    wrong.append(f"{node}: a pod of {GPUS} GPUs misses {lost} and has {new}")
                left = sorted(self._files(node) - self.files[node])
                if left:
                    wrong.append(f"{node}: {ROOT} has files that were not there before: {', '.join(left)}")
            except (AssertionError, control.ControlError) as error:
                wrong.append(f"{node}: {error}")
        return wrong

    def _nobody_holds(self, node: str) -> None:
        def free() -> bool:
            reading = self.read(node)
            return reading.grants == () and not any(gpu.pods for gpu in reading.gpus or ())

        wait_until(f"all GPUs of {node} to be free", free, USABLE_S, seen=lambda: self.read(node))

    def _all_gpus(self, node: str) -> set[str]:
        name = f"all-of-{node}"
        pod = manifest(name, GPUS, ends=False)
        pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
        self.kube.create(pod)
        try:
            self.kube.wait_pod(NAMESPACE, name, "Running", USABLE_S)
            held = lambda: {i for g in self.read(node).grants or () if g.pod == f"{NAMESPACE}/{name}" for i in g.ids}  # noqa: E731
            return wait_until(f"{GPU} in the kubelet's list for {name}", held, 30)
        finally:
            self.kube.delete("v1", "Pod", name, NAMESPACE)

    def leave(self) -> None:
        for role in sorted(set(self.roles.values())):
            if self.cluster.helm.status(f"soak-{role}", "default"):
                self.cluster.helm.uninstall(f"soak-{role}", "default")
        self.kube.delete("v1", "Namespace", NAMESPACE)
        for node in self.roles:
            self.kube.label_node(node, {ROLE: None})
