# SPDX-License-Identifier: Apache-2.0
"""Is a release usable? Its DaemonSet rolled out, and on every node it is meant for, as many GPUs as its values say.

Called by up and report, and by tests. `helm --wait` is content with a DaemonSet that wants no node at all; this is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.harness.kube import GPU, Kube
from tests.harness.wait import WaitTimeout, wait_until

REFUSED = "FaultsRefused"
DECLARED = ("FaultsApplied", REFUSED)
# Its controller tries again at once and then ever later: what it has said for so long, it will go on saying.
REFUSED_S = 4


class RolloutError(Exception):
    """The release cannot become usable, or did not in time; the message holds what its pods say."""


@dataclass(frozen=True)
class Goal:
    """What a release's values promise."""

    release: str
    count: int | None  # GPUs on each node; None where no device plugin runs
    enabled: bool = True
    faulty: bool = False  # faults from the start may take some of them away

    @classmethod
    def of(cls, release: str, values: dict) -> Goal:
        plugin = values.get("devicePlugin", {}).get("enabled", True)
        simulated = values["gpuSim"]
        count = simulated["deviceCount"] if plugin else None
        return cls(release, count, simulated["enabled"], bool(simulated.get("faults")))

    def met(self, capacity: int | None, allocatable: int | None) -> bool:
        if self.faulty:
            return capacity == self.count and 0 < (allocatable or 0) <= self.count
        return (capacity, allocatable) == (self.count, self.count)


def daemonset(kube: Kube, release: str) -> dict | None:
    selector = f"app.kubernetes.io/instance={release},app.kubernetes.io/name=gpu-sim"
    found = kube.list("apps/v1", "DaemonSet", labelSelector=selector)
    return found[0] if found else None


def intended_nodes(kube: Kube, item: dict) -> list[str]:
    """Nodes that carry every label that the DaemonSet selects, whether its pods are there or not."""
    wanted = item["spec"]["template"]["spec"].get("nodeSelector", {})
    return sorted(
        node["metadata"]["name"]
        for node in kube.nodes()
        if wanted.items() <= node["metadata"].get("labels", {}).items()
    )


def rolled_out(item: dict) -> bool:
    status, wanted = item.get("status", {}), item.get("status", {}).get("desiredNumberScheduled", 0)
    current = status.get("observedGeneration") == item["metadata"]["generation"]
    return current and 0 < wanted == status.get("updatedNumberScheduled") == status.get("numberReady")


def explain(kube: Kube, release: str) -> list[str]:
    """What keeps a release's pods from being ready, a line for each."""
    lines = []
    for pod in kube.pods(None, f"app.kubernetes.io/instance={release}"):
        meta, status = pod["metadata"], pod["status"]
        name = f"{meta['namespace']}/{meta['name']} on {pod['spec'].get('nodeName', 'no node')}"
        for condition in status.get("conditions", []):
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                lines.append(f"{name}: {condition.get('message', condition.get('reason'))}")
        for container in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
            for state in (container["state"], container.get("lastState", {})):
                bad = state.get("terminated") or state.get("waiting")
                if bad and bad.get("exitCode", 1) and bad.get("reason") != "PodInitializing":
                    said = (bad.get("message") or "").strip()
                    lines.append(f"{name}: {container['name']}: {bad.get('reason')} {said}".rstrip())
        if not lines:
            lines += [f"{name}: {event['reason']}: {event['message']}" for event in warnings(kube, meta)]
    return list(dict.fromkeys(lines))


def warnings(kube: Kube, meta: dict) -> list[dict]:
    return [e for e in kube.events(meta["namespace"], meta["name"]) if e.get("type") == "Warning"][-3:]


def refusal(kube: Kube, item: dict) -> str:
    """Why no pod of the DaemonSet may be made, in the API's words; empty while none is missing."""
    meta, status = item["metadata"], item.get("status", {})
    wanted = status.get("desiredNumberScheduled", 0)
    if status.get("currentNumberScheduled", wanted) >= wanted:
        return ""
    said = [e["message"] for e in kube.events(meta["namespace"], meta["name"]) if e["reason"] == "FailedCreate"]
    refused = [message for message in said if "is forbidden" in message]
    return refused[-1] if refused else ""


class Refusals:
    """Raises once a DaemonSet's pods have been refused for REFUSED_S: waiting on would only hide the reason."""

    def __init__(self, kube: Kube, clock: Callable[[], float] = time.monotonic):
        self.kube, self.clock, self.since = kube, clock, None

    def look(self, release: str, item: dict) -> None:
        reason, now = refusal(self.kube, item), self.clock()
        if not reason:
            self.since = None
            return
        self.since = now if self.since is None else self.since
        if now - self.since < REFUSED_S:
            return
        namespace = item["metadata"]["namespace"]
        remedy = "give its pods what they ask for"
        if "PodSecurity" in reason:
            remedy = f"kubectl label namespace {namespace} pod-security.kubernetes.io/enforce=privileged --overwrite"
        raise RolloutError(
            f"release {release}: namespace {namespace} takes none of its pods, got FailedCreate: {reason}; {remedy}"
        )


def wait_usable(kube: Kube, goal: Goal, deadline_s: float = 120, reads: int = 2) -> dict[str, int]:
    """GPUs by node once every intended node has them. No intended node is an error, not a success."""
    item = daemonset(kube, goal.release)
    if item is None:
        raise RolloutError(
            f"release {goal.release}: has no DaemonSet, got none; look at: helm get manifest {goal.release}"
        )
    nodes = intended_nodes(kube, item)
    if not nodes:
        wanted = [f"{k}={v}" for k, v in item["spec"]["template"]["spec"].get("nodeSelector", {}).items()]
        raise RolloutError(
            f"release {goal.release}: no node has the label {','.join(wanted)}, got 0 nodes; "
            f"kubectl label node <node> {' '.join(wanted)}"
        )

    def counts() -> dict[str, tuple]:
        return {node: kube.gpus(node) for node in nodes}

    refusals = Refusals(kube)

    def usable() -> bool:
        item = daemonset(kube, goal.release)
        refusals.look(goal.release, item)
        good = rolled_out(item)
        return good and (goal.count is None or all(goal.met(*each) for each in counts().values()))

    what = (
        f"{GPU}: {goal.count} on {', '.join(nodes)}"
        if goal.count
        else f"the pods of {goal.release} on {', '.join(nodes)}"
    )
    try:
        wait_until(what, usable, deadline_s, reads=reads, seen=lambda: counts())
    except WaitTimeout as error:
        lines = explain(kube, goal.release) + plugin_log(kube, goal.release)
        raise RolloutError("\n".join([str(error), *(f"  | {line}" for line in lines)])) from None
    if goal.faulty and goal.count:
        wait_declared(kube, goal.release, nodes)
    return {node: count[1] or 0 for node, count in counts().items()}


def wait_declared(kube: Kube, release: str, nodes: list[str], deadline_s: float = 30) -> None:
    """Until the agents have said what came of the faults from the start; a refusal is an error. An Event lives for an
    hour: a release that has stood longer says nothing any more."""

    def last(node: str) -> dict | None:
        pods = kube.pods(None, f"app.kubernetes.io/instance={release},app.kubernetes.io/component=node")
        since = min((p["metadata"]["creationTimestamp"] for p in pods if p["spec"].get("nodeName") == node), default="")
        told = [e for e in kube.events("default", node) if e.get("reason") in DECLARED and told_at(e) >= since]
        return max(told, key=told_at, default=None)

    def all_told() -> list[dict] | None:
        told = [last(node) for node in nodes]
        return told if all(told) else None

    try:
        told = wait_until(f"the faults of {release} to be declared on {', '.join(nodes)}", all_told, deadline_s)
    except WaitTimeout:
        return
    for event in told:
        if event["reason"] == REFUSED:
            node = event["involvedObject"]["name"]
            raise RolloutError(
                f"release {release}: node {node} refuses gpuSim.faults, none is in force\n{event['message']}"
            )


def told_at(event: dict) -> str:
    return event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"]


def plugin_log(kube: Kube, release: str, lines: int = 15) -> list[str]:
    found = []
    for pod in kube.pods(None, f"app.kubernetes.io/instance={release},app.kubernetes.io/component=node"):
        meta = pod["metadata"]
        try:
            text = kube.pod_log(meta["namespace"], meta["name"], "device-plugin")
        except Exception as error:  # there may be no such container, or none yet
            text = str(error)
        found += [f"{meta['name']} device-plugin: {line}" for line in text.splitlines()[-lines:]]
    return found
