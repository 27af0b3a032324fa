# SPDX-License-Identifier: Apache-2.0
"""The pods of a soak: made as planned, each ended when it has lived, or has waited too long for its GPUs.

Called by run, from one thread: `create` for each planned pod, `tend` again and again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.harness import images
from tests.harness.audit.objects import REFUSED
from tests.harness.kube import GPU, Kube, KubeError

NAMESPACE = "gpu-sim-soak"
PATIENCE_S = 20.0  # a pod of all GPUs may never find a node empty
LABEL = "gpu-sim.io/soak"


def manifest(name: str, gpus: int, ends: bool) -> dict:
    """A pod that looks at its GPUs and ends, or one that keeps them."""
    look = {"image": images.reference("gpu-sim"), "args": ["nvidia-smi", "-L"]}
    keep = {"image": images.reference("pause")}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {LABEL: "pod"}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "containers": [{"name": "work", **(look if ends else keep), "resources": {"limits": {GPU: gpus}}}],
        },
    }


def is_given(pod: dict) -> bool:
    """Its node is being asked for its GPUs, or is starting it with them."""
    ours = pod["metadata"]["namespace"] == NAMESPACE
    return ours and bool(pod["spec"].get("nodeName")) and pod["status"].get("phase") == "Pending"


@dataclass
class _Life:
    gpus: int
    life_s: float
    made: float
    ran: float | None = None
    deleted: float | None = None


class Churn:
    """`pods` gives the API's pods as they are now."""

    def __init__(self, kube: Kube, pods: Callable[[], list[dict]], clock: Callable[[], float] = time.monotonic):
        self.kube, self.pods, self.clock = kube, pods, clock
        self.made = self.ran = self.refused = self.failed = self.waited = 0
        self._lives: dict[str, _Life] = {}

    @property
    def living(self) -> int:
        return len(self._lives)

    def create(self, gpus: int, life_s: float, ends: bool) -> None:
        self.made += 1
        name = f"pod-{self.made}"
        self._lives[name] = _Life(gpus, life_s, self.clock())
        self.kube.create(manifest(name, gpus, ends))

    def tend(self) -> None:
        now = self.clock()
        there = {p["metadata"]["name"]: p for p in self.pods() if p["metadata"]["namespace"] == NAMESPACE}
        for name, life in list(self._lives.items()):
            if name in there:
                self._see(life, there[name]["status"], now)
            elif life.deleted is not None:
                self._lives.pop(name)
                continue
            if life.deleted is None and self._over(life, now):
                life.deleted = now
                self._delete(name)

    def _see(self, life: _Life, status: dict, now: float) -> None:
        if life.ran is not None or life.deleted is not None:
            return
        match status.get("phase"):
            case "Running" | "Succeeded":
                life.ran = now
                self.ran += 1
            case "Failed":  # a kubelet without healthy devices, or without its runtime, at that moment
                life.ran, life.life_s = now, 0
                if REFUSED.fullmatch(status.get("reason", "")):
                    self.refused += 1
                else:
                    self.failed += 1

    def _over(self, life: _Life, now: float) -> bool:
        if life.ran is not None:
            return now - life.ran >= life.life_s
        if now - life.made < PATIENCE_S:
            return False
        self.waited += 1
        return True

    def _delete(self, name: str) -> None:
        try:
            self.kube.delete("v1", "Pod", name, NAMESPACE, deadline_s=None)
        except KubeError as error:
            if error.status != 404:
                raise

    def end(self) -> None:
        """Every pod is told to end; `tend` until `living` is 0."""
        for name, life in self._lives.items():
            if life.deleted is None:
                life.deleted = self.clock()
                self._delete(name)
