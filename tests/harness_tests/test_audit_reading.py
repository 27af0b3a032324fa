# SPDX-License-Identifier: Apache-2.0
"""From what the API, the kubelet and the agent say to the oracle's model."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace

import pytest

from tests.harness import command as commands
from tests.harness import go_build
from tests.harness.audit import objects, sources
from tests.harness.audit.model import Gpu, Grant, Node, Pod, Quota, Reading
from tests.harness.audit.store import Follower
from tests.harness.kube import KubeError

pytestmark = pytest.mark.unit
STATUS = {
    "node": "n1",
    "gpus": [
        {"uuid": "GPU-1", "health": "ok", "pods": ["a/x"]},
        {"uuid": "GPU-2", "health": "xid", "pods": []},
        {"uuid": "GPU-3", "health": "removed", "pods": ["b/y", "c/z"]},
    ],
}


def test_a_pod_asks_for_what_its_containers_keep():
    asks = [{"nvidia.com/gpu": "2"}, {"nvidia.com/gpu.shared": "1", "cpu": "7"}, {"nvidia.com/mig-1g.5gb": "3"}]
    containers = [{"name": str(i), "resources": {"limits": limits}} for i, limits in enumerate(asks)]
    prepares = {"name": "prepares", "resources": {"limits": {"nvidia.com/gpu": "9"}}}
    stays = {**prepares, "name": "stays", "restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": "4"}}}
    item = {
        "metadata": {"namespace": "a", "name": "x", "uid": "u", "deletionTimestamp": "now"},
        "spec": {"nodeName": "n1", "containers": [*containers, {"name": "none"}], "initContainers": [prepares, stays]},
        "status": {"phase": "Failed", "reason": "UnexpectedAdmissionError"},
    }
    assert objects.pod(item) == Pod("a", "x", "u", "n1", "Failed", True, 10, "UnexpectedAdmissionError")
    item["status"]["reason"] = "Evicted"
    assert objects.pod(item).refused == ""


def test_a_node_and_whether_a_plugin_is_meant_to_run_there():
    ours = {"labels": {objects.COMPONENT: "node"}, "annotations": {objects.CHECKSUM: "1"}}
    pods = [
        {"metadata": ours, "spec": {"nodeName": "n1", "containers": [{"name": "agent"}, {"name": "device-plugin"}]}},
        {"metadata": ours, "spec": {"nodeName": "n2", "containers": [{"name": "idle"}]}},
        {"metadata": ours, "spec": {"containers": [{"name": "device-plugin"}]}},
        {"metadata": {"labels": ours["labels"]}, "spec": {"nodeName": "n3", "containers": [{"name": "device-plugin"}]}},
    ]
    assert objects.plugins(pods) == {"n1"}
    status = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "capacity": {"nvidia.com/gpu": "8", "nvidia.com/mig-1g.5gb": "7", "cpu": "4"},
        "allocatable": {"nvidia.com/gpu": "6", "nvidia.com/mig-1g.5gb": "5", "cpu": "4"},
        "nodeInfo": {"kubeletVersion": "v1.33.2+k3s1"},
    }
    assert objects.node({"metadata": {"name": "n1"}, "status": status}, {"n1"}) == Node(
        "n1", True, 8, 6, 5, (1, 33), True
    )
    assert objects.node({"metadata": {"name": "n2"}}, {"n1"}) == Node("n2", False, kubelet=(0, 0), plugin=False)


def test_quotas_of_gpus_that_were_counted():
    def item(**status) -> dict:
        return {"metadata": {"namespace": "t", "name": "q"}, "status": status}

    gpu, mig = "requests.nvidia.com/gpu", "requests.nvidia.com/mig-1g.5gb"
    found = objects.quotas([
        item(hard={gpu: "2", "cpu": "3", mig: "4"}, used={gpu: "1", "cpu": "1", mig: "4"}),
        item(hard={gpu: "2"}, used={}), item(), {"metadata": {"namespace": "t", "name": "new"}},
    ])  # fmt: skip
    assert found == [Quota("t", "q", 2, 1)]


# ---- the two ways to a node ----
class HostNode:
    def __init__(self, answer: str | Exception):
        self.answer = answer

    def host_path(self, path: str) -> str:
        return f"/machine{path}"

    def run(self, argv, timeout):
        assert "ctl status --json" in argv[-1]
        if isinstance(self.answer, Exception):
            raise self.answer
        return SimpleNamespace(out=self.answer)


def host(answer, grants, monkeypatch) -> Reading:
    monkeypatch.setattr(go_build, "podresources", lambda: "podresources")

    def run(argv):
        assert argv[1] == "-socket=/machine/var/lib/kubelet/pod-resources/kubelet.sock"
        if isinstance(grants, Exception):
            raise grants
        return SimpleNamespace(out=json.dumps(grants))

    return sources.HostSource(SimpleNamespace(node=lambda name: HostNode(answer)), run).read("n1")


def grant(pod: str, *ids: str, resource: str = "nvidia.com/gpu") -> dict:
    namespace, name = pod.split("/")
    return {"namespace": namespace, "pod": name, "container": "c", "resource": resource, "ids": list(ids)}


def test_a_node_read_from_below(monkeypatch):
    given = [grant("a/x", "GPU-1"), grant("b/y", "7", resource="other.io/x"), grant("b/y", "GPU-3")]
    assert host(json.dumps(STATUS), given, monkeypatch) == Reading(
        "n1",
        (Grant("a/x", ("GPU-1",), "c"), Grant("b/y", ("GPU-3",), "c")),
        (
            Gpu("GPU-1", True, False, ("a/x",)),
            Gpu("GPU-2", False, False, ()),
            Gpu("GPU-3", False, True, ("b/y", "c/z")),
        ),
    )


def test_a_kubelet_or_an_inventory_that_does_not_answer(monkeypatch):
    failed = commands.CommandError("podresources", "podresources failed with exit code 1", "a\nno list, is it running?")
    reading = host(json.dumps(STATUS), failed, monkeypatch)
    assert (reading.grants, reading.problem) == (None, "no list, is it running?")
    assert len(reading.gpus) == 3
    reading = host(failed, [grant("a/x", "GPU-1")], monkeypatch)
    assert (reading.gpus, reading.problem) == (None, "no list, is it running?")
    assert len(reading.grants) == 1


class AgentKube:
    def __init__(self, code: int = 0, said: str = json.dumps(STATUS)):
        self.answer = code, said

    def list(self, *_words, **_query):
        status = {"phase": "Running", "initContainerStatuses": [{"name": "agent", "state": {"running": {}}}]}
        meta = {"namespace": "gpu-sim", "name": "p", "annotations": {objects.CHECKSUM: "1"}}
        return [{"metadata": meta, "spec": {"nodeName": "n1"}, "status": status}]

    def exec(self, namespace, name, argv, container):
        assert (namespace, name, container) == ("gpu-sim", "p", "agent")
        assert argv == ["/gpu-sim", "ctl", "status", "--json"]
        return self.answer


def test_a_node_asked_through_its_agent():
    reading = sources.AgentSource(AgentKube()).read("n1", 2)
    assert reading.grants == (Grant("a/x", ("GPU-1",)), Grant("b/y", ("GPU-3",)), Grant("c/z", ("GPU-3",)))
    assert {gpu.pods for gpu in reading.gpus} == {None}, "it is the agent's own word: there is nothing to compare"
    assert reading.exact
    shared = sources.AgentSource(AgentKube()).read("n1", 3)
    assert shared.grants[1:] == (Grant("b/y", ("GPU-3::b/y",)), Grant("c/z", ("GPU-3::c/z",)))
    assert not shared.exact


@pytest.mark.parametrize(
    ("kube", "node", "problem"),
    [
        (AgentKube(1, "no inventory\n"), "n1", "/gpu-sim ctl status --json: exit code 1: no inventory"),
        (AgentKube(0, "not JSON"), "n1", "Expecting value: line 1 column 1 (char 0)"),
        (AgentKube(), "n9", "node n9: must have a gpu-sim pod, got none; the nodes n1 have one"),
    ],
)
def test_an_agent_that_cannot_be_asked(kube, node, problem):
    assert sources.AgentSource(kube).read(node) == Reading(node, problem=problem)


# ---- following the API ----
def test_objects_are_followed_and_each_change_rings():
    follower = Follower(None, "Pod", threading.Event())
    item = {"metadata": {"uid": "u", "resourceVersion": "5"}, "spec": {"a": 1}}
    changed = {"metadata": {"uid": "u", "resourceVersion": "6"}, "spec": {"a": 2}}
    assert follower.take({"type": "ADDED", "object": item}) == "5"
    assert follower.bell.is_set()
    assert follower.take({"type": "MODIFIED", "object": changed}) == "6"
    assert follower.objects == {"u": changed}
    follower.take({"type": "DELETED", "object": changed})
    assert follower.objects == {}
    with pytest.raises(KubeError, match="410: too old"):
        follower.take({"type": "ERROR", "object": {"code": 410, "message": "too old"}})
