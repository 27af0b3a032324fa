# SPDX-License-Identifier: Apache-2.0
"""The oracle's loop, with an API and nodes of the test's own."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.harness.audit import Audit, objects, rules, watch
from tests.harness.audit.model import Gpu, Grant, Reading
from tests.harness.kube import KubeError

pytestmark = pytest.mark.unit


class Source:
    every_s = 0.0

    def __init__(self, *readings: Reading):
        self.readings, self.asked = {reading.node: reading for reading in readings}, []

    def read(self, node: str, offered: int = 0) -> Reading:
        self.asked.append((node, offered))
        return self.readings[node]


def item(name: str, **more) -> dict:
    return {"metadata": {"name": name, "namespace": "t", "uid": f"u-{name}", **more.pop("meta", {})}, **more}


def audit_of(source: Source, pods: list[dict], nodes: list[dict], told: list[str]) -> Audit:
    audit = Audit(SimpleNamespace(kube=None), source, told.append)
    for kind, found in (("Pod", pods), ("Node", nodes), ("ResourceQuota", [])):
        follower = audit.store._followers[kind]
        follower.objects = {each["metadata"]["uid"]: each for each in found}
        follower.start = follower.fresh.set
    return audit


OURS = {"labels": {objects.COMPONENT: "node"}, "annotations": {objects.CHECKSUM: "1"}}


def scene(*holders: str) -> tuple[Source, list[dict], list[dict]]:
    """Two nodes, one of them with a pod of ours and two GPUs, of which the first has these holders."""
    plugin = {"nodeName": "n1", "containers": [{"name": "device-plugin"}]}
    work = {"nodeName": "n1", "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}
    pods = [item(name, spec=work, status={"phase": "Running"}) for name in ("x", "y")]
    pods.append(item("stranger", spec={"nodeName": "n2", "containers": [{"name": "c"}]}, status={"phase": "Running"}))
    status = {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1.34.4"}}
    status["capacity"] = status["allocatable"] = {"nvidia.com/gpu": "2"}
    grants = tuple(Grant(f"t/{name}", ("GPU-1",)) for name in holders)
    source = Source(Reading("n1", grants, (Gpu("GPU-1", pods=None), Gpu("GPU-2", pods=None))))
    return source, [*pods, item("ours", meta=OURS, spec=plugin)], [item("n1", status=status), item("n2")]


def test_a_single_audit_of_a_cluster_in_order_ends_at_once_and_asks_only_our_nodes():
    source, pods, nodes = scene("x")
    pods = [pod for pod in pods if pod["metadata"]["name"] != "y"]
    audit = audit_of(source, pods, nodes, told := [])
    audit.once()
    assert (told, audit.judge.checks, audit.nodes) == ([], 2, {"n1"})
    assert source.asked == [("n1", 2)] * 2


def test_a_double_is_told_while_it_watches():
    audit = audit_of(*scene("x", "y"), told := [])
    audit.watch(0.1)
    assert [text.rpartition(" at ")[0] for text in told] == ["GPU-1 given to t/x and t/y"]


def test_a_single_audit_waits_for_what_is_not_certain(monkeypatch):
    monkeypatch.setattr(watch, "EVERY_S", 0.01)
    monkeypatch.setattr(watch, "GAP_S", 0.01)
    audit = audit_of(*scene("x"), told := [])
    audit.judge.rules = {rules.wrong_number: 0.2}
    audit.once()
    assert [text.rpartition(" at ")[0] for text in told] == ["t/y asked for 1 and holds 0 on n1"]
    assert audit.judge.checks > 3


def test_nothing_is_judged_while_the_api_is_away():
    audit = audit_of(*scene("x", "y"), told := [])
    audit.look()
    assert (told, audit.judge.checks) == ([], 0)


def test_a_refusal_of_the_api_ends_the_audit_with_its_words():
    audit = audit_of(*scene("x"), [])
    audit.store._followers["Pod"].start = lambda: None
    audit.store._followers["Pod"].error = KubeError(403, "GET /api/v1/pods", "pods is forbidden")
    with pytest.raises(KubeError, match="403: pods is forbidden"):
        audit.watch(5)
    with pytest.raises(KubeError, match="403: pods is forbidden"), audit:
        pass
    with pytest.raises(KubeError, match="403: pods is forbidden"):
        audit.look()
