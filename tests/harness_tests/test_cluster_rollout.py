# SPDX-License-Identifier: Apache-2.0
"""When a release counts as usable, and that no node at all does not."""

from __future__ import annotations

import pytest

from tests.harness import demo, rollout
from tests.harness.rollout import Goal, RolloutError
from tests.harness.runs import RunError

pytestmark = pytest.mark.unit


def daemonset(selector=None, **status) -> dict:
    full = {"observedGeneration": 3, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 2}
    return {
        "metadata": {"namespace": "ns", "name": "r", "generation": 3},
        "spec": {"template": {"spec": {"nodeSelector": selector or {"gpu-sim": "true"}}}},
        "status": {**full, **status},
    }


class FakeKube:
    """Two labelled nodes and one without; `counts` is (capacity, allocatable) by node."""

    def __init__(self, item=None, counts=None):
        self.item = item
        self.counts = counts or {"a": (5, 5), "b": (5, 5)}

    def list(self, version, kind, **query):
        assert query["labelSelector"].startswith("app.kubernetes.io/instance=r")
        return [self.item] if self.item else []

    def nodes(self):
        labelled = [{"metadata": {"name": name, "labels": {"gpu-sim": "true", "x": "y"}}} for name in ("b", "a")]
        return [*labelled, {"metadata": {"name": "plain", "labels": {}}}]

    def gpus(self, name):
        return self.counts[name]

    said = ()  # messages of FailedCreate

    def events(self, namespace, name):
        assert (namespace, name) == ("ns", "r")
        return [
            {"reason": "SuccessfulCreate", "message": "x"},
            *({"reason": "FailedCreate", "message": m} for m in self.said),
        ]

    def pods(self, namespace=None, selector=""):
        status = {
            "initContainerStatuses": [
                {
                    "name": "installer",
                    "state": {"terminated": {"exitCode": 1, "reason": "Error", "message": "occupied by q"}},
                }
            ]
        }
        return [{"metadata": {"namespace": "ns", "name": "p"}, "spec": {"nodeName": "a"}, "status": status}]

    def pod_log(self, *words):
        return "plugin says\nno"


@pytest.mark.parametrize(
    ("status", "done"),
    [
        ({}, True),
        ({"observedGeneration": 2}, False),
        ({"updatedNumberScheduled": 1}, False),
        ({"numberReady": 1}, False),
        ({"desiredNumberScheduled": 0, "updatedNumberScheduled": 0, "numberReady": 0}, False),
    ],
)
def test_rolled_out_means_that_every_wanted_pod_is_new_and_ready(status, done):
    assert rollout.rolled_out(daemonset(**status)) is done


def test_every_intended_node_must_have_the_gpus():
    goal = Goal("r", 5)
    assert rollout.wait_usable(FakeKube(daemonset()), goal, 0.1) == {"a": 5, "b": 5}
    for counts in ({"a": (5, 5), "b": (5, 4)}, {"a": (5, 5), "b": (None, None)}, {"a": (6, 6), "b": (6, 6)}):
        with pytest.raises(RolloutError, match=r"nvidia.com/gpu: 5 on a, b; last seen"):
            rollout.wait_usable(FakeKube(daemonset(), counts), goal, 0.1)


def test_a_failure_brings_what_the_pods_say():
    with pytest.raises(RolloutError) as caught:
        rollout.wait_usable(FakeKube(daemonset(numberReady=0)), Goal("r", 5), 0.1)
    assert "  | ns/p on a: installer: Error occupied by q" in str(caught.value)
    assert "  | p device-plugin: no" in str(caught.value)


REFUSED = 'Error creating: pods "r-x" is forbidden: violates PodSecurity "restricted:latest": hostPath volumes'


def refused_after(kube, *instants: float) -> str:
    """What is raised when a DaemonSet without pods is looked at at these times; empty if nothing is."""
    refusals = rollout.Refusals(kube, iter(instants).__next__)
    try:
        for _ in instants:
            refusals.look("rel", kube.item)
    except RolloutError as error:
        return str(error)
    return ""


def test_a_namespace_that_refuses_the_pods_is_not_waited_for():
    kube = FakeKube(daemonset(currentNumberScheduled=0, numberReady=0))
    kube.said = ['Error creating: pods "r-w" is forbidden: an older one', REFUSED]
    assert refused_after(kube, 100, 100 + rollout.REFUSED_S) == (
        f"release rel: namespace ns takes none of its pods, got FailedCreate: {REFUSED}; "
        "kubectl label namespace ns pod-security.kubernetes.io/enforce=privileged --overwrite"
    )
    assert refused_after(kube, 100, 100 + rollout.REFUSED_S - 0.1) == "", "it may be from a moment ago"
    kube.said = ['Error creating: pods "r-x" is forbidden: exceeded quota: q']
    assert refused_after(kube, 0, 99).endswith("exceeded quota: q; give its pods what they ask for")
    for said in ([], ["Error creating: Timeout: request did not complete"]):
        kube.said = said
        assert refused_after(kube, 0, 99) == "", "what passes by itself"


def test_a_refusal_that_is_over_counts_no_more():
    kube = FakeKube(daemonset(currentNumberScheduled=2))
    kube.said = [REFUSED]
    assert refused_after(kube, 0, 99) == "", "no pod is missing"
    kube.item["status"]["currentNumberScheduled"] = 1
    refusals = rollout.Refusals(kube, iter((10, 11, 10 + rollout.REFUSED_S)).__next__)
    refusals.look("rel", kube.item)
    kube.said = []
    refusals.look("rel", kube.item)
    kube.said = [REFUSED]
    refusals.look("rel", kube.item)


def test_no_node_is_a_failure_that_names_the_label_command():
    nobody = daemonset({"gpu-sim": "true", "gpu-sim.io/branch": "x"}, desiredNumberScheduled=0, numberReady=0)
    with pytest.raises(RolloutError, match=r"got 0 nodes; kubectl label node <node> gpu-sim=true gpu-sim.io/branch=x$"):
        rollout.wait_usable(FakeKube(nobody), Goal("r", 5), 60)
    with pytest.raises(RolloutError, match="has no DaemonSet"):
        rollout.wait_usable(FakeKube(None), Goal("r", 5), 60)


def test_the_goal_is_what_the_values_say():
    values = {"gpuSim": {"enabled": True, "deviceCount": 7}, "devicePlugin": {"enabled": True}}
    assert Goal.of("r", values) == Goal("r", 7, True)
    values["devicePlugin"]["enabled"] = False
    assert Goal.of("r", values).count is None
    values["gpuSim"]["enabled"] = False
    assert not Goal.of("r", values).enabled


def test_without_a_plugin_the_pods_are_all_there_is_to_wait_for():
    counts = {"a": (None, None), "b": (None, None)}
    assert rollout.wait_usable(FakeKube(daemonset(), counts), Goal("r", None), 0.1) == {"a": 0, "b": 0}


REFUSED_POD = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "GPU is lost"}


class Refusing:
    """An API whose kubelet refuses the pod for good, as with a lost GPU."""

    def delete(self, *_, **__):
        pass

    def apply(self, pod):
        self.made = pod

    def get(self, *_):
        return {"kind": "ServiceAccount"}

    def wait_pod(self, namespace, name, phase, deadline_s):
        assert "Failed" in phase, "waited for in vain"
        return {"spec": {"nodeName": "n1"}, "status": REFUSED_POD}


def test_a_demo_that_a_kubelet_refuses_is_told_at_once():
    item = {"spec": {"template": {"spec": {}}}}
    with pytest.raises(RunError) as raised:
        demo.run(Refusing(), "rel", item, hold=True)
    assert str(raised.value) == (
        "pod default/demo-rel: failed on n1, got UnexpectedAdmissionError: GPU is lost; "
        "kubectl describe pod demo-rel -n default, and make ctl NODE=<node> ARGS=status"
    )


def test_the_demo_goes_where_the_release_goes():
    item = daemonset({"gpu-sim": "true", "gpu-sim.io/branch": "x"})
    branch = {"key": "gpu-sim.io/branch", "operator": "Equal", "value": "x", "effect": "NoSchedule"}
    item["spec"]["template"]["spec"]["tolerations"] = [branch, {"operator": "Exists"}]
    made = demo.pod("gpu-sim-x", item, hold=True)
    assert made["spec"]["nodeSelector"] == {"gpu-sim": "true", "gpu-sim.io/branch": "x"}
    assert made["spec"]["tolerations"] == [branch], "what tolerates everything is the DaemonSet's own affair"
    asked = [c["resources"]["limits"] for c in made["spec"]["initContainers"] + made["spec"]["containers"]]
    assert asked == [{"nvidia.com/gpu": 1}] * 2
    once = demo.pod("gpu-sim-x", item, hold=False)
    assert [c["args"] for c in once["spec"]["containers"]] == [["nvidia-smi", "-L"]]
    assert "initContainers" not in once["spec"]


class FaultyKube(FakeKube):
    """Nodes that tell what came of their faults; `told` is (node, reason, time, message)."""

    def __init__(self, item, counts, told):
        super().__init__(item, counts)
        self.told = told

    def pods(self, namespace=None, selector=""):
        meta = {"namespace": "ns", "creationTimestamp": "2026-01-01T10:00:00Z"}
        return [{"metadata": {**meta, "name": n}, "spec": {"nodeName": n}, "status": {}} for n in ("a", "b")]

    def events(self, namespace, name):
        if namespace != "default":
            return []
        return [
            {"reason": reason, "lastTimestamp": time, "message": message, "involvedObject": {"name": node}}
            for node, reason, time, message in self.told
            if node == name
        ]


FAULTY = {"gpuSim": {"deviceCount": 5, "enabled": True, "faults": ["xid --gpu 1 79"]}}
EARLIER = ("b", "FaultsRefused", "2026-01-01T09:59:00Z", "of the pod before")


def test_faults_from_the_start_may_take_gpus_away():
    told = [(node, "FaultsApplied", "2026-01-01T10:00:05Z", "xid --gpu 1 79") for node in ("a", "b")]
    goal = Goal.of("r", FAULTY)
    kube = FaultyKube(daemonset(), {"a": (5, 4), "b": (5, 5)}, [EARLIER, *told])
    assert rollout.wait_usable(kube, goal, 1) == {"a": 4, "b": 5}
    for counts in ({"a": (5, 0), "b": (5, 5)}, {"a": (4, 4), "b": (5, 5)}):
        with pytest.raises(RolloutError, match="waited"):
            rollout.wait_usable(FaultyKube(daemonset(), counts, told), goal, 0.2)


def test_faults_that_a_node_refuses_are_no_success():
    told = [
        ("a", "FaultsApplied", "2026-01-01T10:00:05Z", "x"),
        ("b", "FaultsRefused", "2026-01-01T10:00:07Z", "line 1: no such GPU, got 9"),
    ]
    kube = FaultyKube(daemonset(), {"a": (5, 5), "b": (5, 5)}, told)
    with pytest.raises(RolloutError, match=r"node b refuses gpuSim.faults.*\nline 1: no such GPU, got 9"):
        rollout.wait_usable(kube, Goal.of("r", FAULTY), 1)
