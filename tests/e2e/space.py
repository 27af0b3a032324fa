# SPDX-License-Identifier: Apache-2.0
"""A test's own namespace: its pods, what became of them, and what they printed.

Made by the fixture `namespace`, one for each test. Nothing in it outlives the test.
"""

from __future__ import annotations

import datetime

from tests.e2e.scenes import report_in
from tests.harness.kube import Kube
from tests.harness.wait import wait_until

START_S = 40  # a pod of ours starts in about a second; two cores under load need more


class Space:
    def __init__(self, kube: Kube, name: str):
        self.kube, self.name = kube, name

    def open(self) -> None:
        self.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name}})
        wait_until(
            f"the default service account of {self.name}",
            lambda: self.kube.get("v1", "ServiceAccount", "default", self.name), 20,
        )  # fmt: skip

    def close(self) -> None:
        """Ends the pods now: the next test may need their GPUs. The namespace goes when it likes."""
        self.kube.delete("v1", "Namespace", self.name, deadline_s=None)
        for pod in self.kube.pods(self.name):
            self.delete_pods(pod["metadata"]["name"])

    # ---- making and ending ----
    def create(self, *items: dict, dry_run: bool = False) -> None:
        """POST, not apply: a refusal must be the API's answer to a new object."""
        for item in items:
            path = self.kube.path(item["apiVersion"], item["kind"], "x", self.name).rpartition("/")[0]
            self.kube.request("POST", path, item, {"dryRun": "All"} if dry_run else None)

    def delete_pods(self, *names: str, grace_s: int = 0) -> None:
        for name in names:
            self.kube.delete("v1", "Pod", name, self.name, grace_s=grace_s, deadline_s=None)
        for name in names:
            wait_until(f"pod {name} to be gone", lambda name=name: self.pod(name) is None, START_S)

    # ---- looking ----
    def pod(self, name: str) -> dict | None:
        return self.kube.pod(self.name, name)

    def phase(self, name: str) -> str | None:
        """None when there is no such pod."""
        pod = self.pod(name)
        return pod and pod["status"]["phase"]

    def wait_phase(self, name: str, phase: str, deadline_s: float = START_S) -> dict:
        return self.kube.wait_pod(self.name, name, phase, deadline_s)

    def node_of(self, name: str) -> str | None:
        return (self.pod(name) or {"spec": {}})["spec"].get("nodeName")

    def unschedulable(self, name: str) -> str:
        """The scheduler's reason why the pod waits; empty where it gives none."""
        conditions = (self.pod(name) or {"status": {}})["status"].get("conditions", [])
        found = [c.get("message", "") for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"]
        return found[0] if found else ""

    def events(self, name: str) -> list[tuple[str, str]]:
        return [(event["reason"], event["message"]) for event in self.kube.events(self.name, name)]

    def running_on(self, selector: str) -> str | None:
        """The node of the one running pod with these labels."""
        nodes = [
            pod["spec"]["nodeName"]
            for pod in self.kube.pods(self.name, selector)
            if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]
        ]
        return nodes[0] if len(nodes) == 1 else None

    def age_s(self, name: str) -> float:
        made = datetime.datetime.fromisoformat(self.pod(name)["metadata"]["creationTimestamp"])
        return (datetime.datetime.now(datetime.UTC) - made).total_seconds()

    # ---- what pods print ----
    def log_until(self, name: str, mark: str) -> str:
        """The pod's log once a line says `mark`."""
        self.wait_phase(name, "Running")
        wait_until(
            f"pod {name} to print {mark!r}", lambda: mark in self.kube.pod_log(self.name, name), START_S,
            seen=lambda: self.kube.pod_log(self.name, name),
        )  # fmt: skip
        return self.kube.pod_log(self.name, name)

    def report(self, name: str) -> dict:
        """What the probe in the pod saw through NVML."""
        return report_in(self.log_until(name, "}"))

    def wait_quota(self, name: str) -> None:
        wait_until(
            f"quota {name} to be counted",
            lambda: self.kube.get("v1", "ResourceQuota", name, self.name)["status"].get("used"), 20,
        )  # fmt: skip
