# SPDX-License-Identifier: Apache-2.0
"""Each sentence of the oracle: a snapshot that provokes it, and its neighbours that must not."""

from __future__ import annotations

import pytest

from tests.harness.audit import rules
from tests.harness.audit.model import Gpu, Grant, Node, Pod, Quota, Reading, Snapshot
from tests.harness.audit.settle import SETTLE

pytestmark = pytest.mark.unit


def pod(name: str, node: str | None = "n1", **more) -> Pod:
    namespace, _, short = name.partition("/")
    return Pod(namespace, short, f"uid-{name}", node, **{"asks": 1, **more})


def said(rule, *, pods=(), grants=None, gpus=None, node="n1", nodes=None, quotas=(), **more) -> list[str]:
    """The sentences of a rule on a cluster of one node."""
    reading = Reading(node, grants, gpus, **more)
    there = (Node(node),) if nodes is None else nodes
    return [f.sentence for f in rule(Snapshot(tuple(pods), there, (reading,), tuple(quotas)))]


def held(pod_name: str, *ids: str, container: str = "c") -> Grant:
    return Grant(pod_name, ids, container)


def eight(**more) -> tuple[Gpu, ...]:
    return tuple(Gpu(f"GPU-{i}", **more) for i in range(8))


# ---- one device, two holders ----
@pytest.mark.parametrize(
    ("grants", "sentence"),
    [
        ([held("a/x", "GPU-1", "GPU-2"), held("b/y", "GPU-2")], "GPU-2 given to a/x and b/y"),
        ([held("a/x", "GPU-3::1"), held("b/y", "GPU-3::1")], "GPU-3::1 given to a/x and b/y"),
        ([held("a/x", "GPU-3"), held("b/y", "GPU-3::0")], "GPU-3 given to a/x and b/y"),
        ([held("a/x", "GPU-3::0"), held("b/y", "GPU-3")], "GPU-3::0 given to a/x and b/y"),
        ([held("a/x", "MIG-5"), held("b/y", "MIG-5")], "MIG-5 given to a/x and b/y"),
        ([held("a/x", "GPU-4", container="c"), held("a/x", "GPU-4", container="d")], "GPU-4 given twice to a/x (c, d)"),
        ([held("a/x", "GPU-1"), held("c/z", "GPU-1"), held("b/y", "GPU-1")], "GPU-1 given to a/x and b/y and c/z"),
    ],
)  # fmt: skip
def test_a_device_with_two_holders(grants, sentence):
    assert said(rules.doubled, grants=tuple(grants)) == [sentence]


@pytest.mark.parametrize(
    "grants",
    [
        [held("a/x", "GPU-1"), held("b/y", "GPU-2")],
        [held("a/x", "GPU-1::0"), held("b/y", "GPU-1::1")],
        [held("a/x", "GPU-1::0", "GPU-1::1")],
        [held("a/x", "MIG-1"), held("b/y", "MIG-2")],
        [],
    ],
)
def test_devices_with_one_holder_each(grants):
    assert said(rules.doubled, grants=tuple(grants)) == []


def test_the_same_id_on_two_nodes_is_two_devices():
    readings = (Reading("n1", (held("a/x", "mock-gpu-0"),)), Reading("n2", (held("b/y", "mock-gpu-0"),)))
    assert list(rules.doubled(Snapshot(readings=readings))) == []


@pytest.mark.parametrize(("kubelet", "told"), [((1, 33), False), ((1, 34), True)])
def test_ended_pods_that_an_old_kubelet_still_lists_hold_nothing(kubelet, told):
    seen = {
        "pods": [pod("a/x", phase="Succeeded"), pod("b/y")],
        "grants": (held("a/x", "GPU-1"), held("b/y", "GPU-1")),
        "nodes": (Node("n1", kubelet=kubelet),),
    }
    assert said(rules.doubled, **seen) == (["GPU-1 given to a/x and b/y"] if told else [])
    assert said(rules.ended_holds, **seen) == (["a/x ended but holds GPU-1"] if told else [])


# ---- pods and what they hold ----
@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_ended_and_holds(phase):
    assert said(rules.ended_holds, pods=[pod("b/y", phase=phase)], grants=(held("b/y", "GPU-7"),)) == [
        "b/y ended but holds GPU-7"
    ]


@pytest.mark.parametrize("alive", [pod("b/y"), pod("b/y", phase="Pending"), pod("b/y", deleting=True)])
def test_a_pod_that_has_not_ended_may_hold(alive):
    assert said(rules.ended_holds, pods=[alive], grants=(held("b/y", "GPU-7"),)) == []


def test_a_pod_that_the_api_does_not_know():
    grants = (held("a/x", "GPU-1", "GPU-2"), held("b/y", "GPU-3"), held("c/empty"))
    assert said(rules.unknown_pod, pods=[pod("b/y")], grants=grants) == [
        "pod-resources of n1 lists a/x, which the API does not know"
    ]


def test_a_pod_that_holds_where_it_is_not():
    there = [pod("a/x", node="n2"), pod("b/y"), pod("c/z", node=None)]
    grants = (held("a/x", "GPU-1"), held("b/y", "GPU-2"), held("c/z", "GPU-3"))
    assert said(rules.elsewhere, pods=there, grants=grants) == [
        "a/x is on n2 but holds GPU-1 of n1",
        "c/z is on no node but holds GPU-3 of n1",
    ]


@pytest.mark.parametrize(("asks", "ids"), [(2, ["GPU-1"]), (1, []), (1, ["GPU-1", "GPU-2"]), (0, ["GPU-4"])])
def test_a_pod_that_holds_another_number(asks, ids):
    found = said(rules.wrong_number, pods=[pod("a/x", asks=asks)], grants=(held("a/x", *ids),))
    assert found == [f"a/x asked for {asks} and holds {len(ids)} on n1"]


@pytest.mark.parametrize(
    ("one", "more"),
    [
        (pod("a/x", asks=2), {}),
        (pod("a/x", asks=3, phase="Pending"), {}),
        (pod("a/x", asks=3, phase="Succeeded"), {}),
        (pod("a/x", asks=3, deleting=True), {}),
        (pod("a/x", asks=3, node="n2"), {}),
        (pod("a/x", asks=3), {"exact": False}),
    ],
)
def test_pods_of_which_no_other_number_is_expected(one, more):
    assert said(rules.wrong_number, pods=[one], grants=(held("a/x", "GPU-1"), held("a/x", "GPU-2")), **more) == []


def test_nothing_is_said_of_what_could_not_be_read():
    assert said(rules.wrong_number, pods=[pod("a/x")], grants=None) == []
    assert said(rules.inventory, pods=[pod("a/x")], grants=None, gpus=(Gpu("GPU-1", pods=("a/x",)),)) == []
    assert said(rules.unknown_gpu, grants=(held("a/x", "GPU-1"),), gpus=None) == []


# ---- inventories ----
def test_a_device_that_the_node_does_not_have():
    gpus = (Gpu("GPU-1"), Gpu("GPU-2", removed=True))
    grants = (held("a/x", "GPU-1::3"), held("b/y", "GPU-2"), held("c/z", "MIG-1"), held("d/w", "GPU-9"))
    assert said(rules.unknown_gpu, grants=grants, gpus=gpus) == ["d/w holds GPU-9, which n1 does not have"]


@pytest.mark.parametrize(
    ("shown", "grants", "sentence"),
    [
        ((), [held("a/x", "GPU-1")], "the inventory of n1 shows GPU-1 with nobody, but a/x holds it"),
        (("a/x",), [], "the inventory of n1 shows GPU-1 with a/x, but nobody holds it"),
        (("b/y",), [held("a/x", "GPU-1")], "the inventory of n1 shows GPU-1 with b/y, but a/x holds it"),
        (
            ("a/x",), [held("a/x", "GPU-1::0"), held("b/y", "GPU-1::1")],
            "the inventory of n1 shows GPU-1 with a/x, but a/x and b/y holds it",
        ),
    ],
)  # fmt: skip
def test_an_inventory_that_shows_other_holders(shown, grants, sentence):
    assert said(rules.inventory, grants=tuple(grants), gpus=(Gpu("GPU-1", pods=shown),)) == [sentence]


@pytest.mark.parametrize("shown", [("a/x", "b/y"), ("b/y", "a/x"), None])
def test_an_inventory_that_shows_the_holders_or_does_not_tell(shown):
    grants = (held("a/x", "GPU-1::0", "GPU-1::2"), held("b/y", "GPU-1::1"))
    assert said(rules.inventory, grants=grants, gpus=(Gpu("GPU-1", pods=shown),)) == []


@pytest.mark.parametrize(
    ("uuids", "told"),
    [
        (("GPU-1", "GPU-1"), ["UUID GPU-1 is on n1 and n2"]),
        (("MIG-1", "MIG-1"), ["UUID MIG-1 is on n1 and n2"]),
        (("GPU-1", "GPU-2"), []),
        (("mock-gpu-0", "mock-gpu-0"), []),
    ],
)
def test_a_uuid_on_two_nodes(uuids, told):
    readings = tuple(Reading(f"n{2 - i}", None, (Gpu(uuid),)) for i, uuid in enumerate(uuids))
    assert [f.sentence for f in rules.same_uuid(Snapshot(readings=readings))] == told


# ---- nodes ----
@pytest.mark.parametrize(
    ("node", "gpus", "sentence"),
    [
        (Node("n1", True, 8, 0), eight(), "node n1 Ready with 0 of 8"),
        (Node("n1", True, 0, 0), eight(), "node n1 Ready with 0 of 8"),
        (Node("n1", True, 8, 5), eight(), "node n1 Ready with 5 of 8"),
        (Node("n1", True, 8, 6), (*eight()[:7], Gpu("GPU-7", healthy=False)), "node n1 Ready with 6 of 7"),
        (Node("n1", True, 32, 0), eight(), "node n1 Ready with 0 of 8"),
    ],
)
def test_a_ready_node_that_does_not_offer_its_gpus(node, gpus, sentence):
    assert said(rules.offered, nodes=(node,), gpus=gpus) == [sentence]


@pytest.mark.parametrize(
    ("node", "gpus"),
    [
        (Node("n1", True, 8, 8), eight()),
        (Node("n1", False, 8, 0), eight()),
        (Node("n1", True, 0, 0, plugin=False), eight()),
        (Node("n1", True, 8, 0), eight(healthy=False)),
        (Node("n1", True, 8, 8), (*eight()[:7], Gpu("GPU-7", healthy=False))),
        (Node("n1", True, 8, 7), (*eight()[:7], Gpu("GPU-7", removed=True))),
        (Node("n1", True, 32, 31), eight()),
        (Node("n1", True, 16, 3), eight()),
        (Node("n1", True, 0, 0, mig=7), eight()[:1]),
        (Node("other", True, 8, 0), eight()),
        (Node("n1", True, 8, 0), None),
    ],
)
def test_nodes_that_offer_what_they_should(node, gpus):
    assert said(rules.offered, nodes=(node,), gpus=gpus) == []


def test_a_node_that_offers_more_than_it_has():
    assert said(rules.too_many, nodes=(Node("n1", True, 11, 11),), gpus=eight()) == ["node n1 offers 11 but has 8"]
    for right in (Node("n1", True, 8, 8), Node("n1", True, 32, 31), Node("n1", True, 11, 8), Node("n1", True, 8, 0)):
        assert said(rules.too_many, nodes=(right,), gpus=eight()) == []


@pytest.mark.parametrize(
    ("ready", "problem", "told"),
    [
        (True, "connection refused", ["node n1 cannot be checked: connection refused"]),
        (False, "connection refused", []),
        (True, "", []),
    ],
)
def test_a_node_that_cannot_be_read(ready, problem, told):
    assert said(rules.unread, nodes=(Node("n1", ready),), problem=problem) == told


# ---- quotas ----
def test_a_quota_that_counts_less_than_is_held():
    pods = [pod(f"t/p{i}") for i in range(3)] + [pod("u/other")]
    grants = tuple(held(p.key, f"GPU-{i}") for i, p in enumerate(pods))
    quotas = [Quota("t", "gpus", 2, 2), Quota("u", "gpus", 4, 1), Quota("v", "gpus", 4, 0)]
    assert said(rules.quota, pods=pods, grants=grants, quotas=quotas) == ["quota of ns t: 2 of 2 used but 3 held"]


@pytest.mark.parametrize(
    "third", [pod("t/z", phase="Failed"), pod("t/z", deleting=True), pod("u/z"), pod("t/none")]
)  # fmt: skip
def test_what_a_quota_need_not_count(third):
    pods = [pod("t/x"), pod("t/y"), third]
    grants = (held("t/x", "GPU-1"), held("t/y", "GPU-2"), held(third.key if third.name == "z" else "t/z", "GPU-3"))
    grants = (*grants, held("t/x", "MIG-4"))
    assert said(rules.quota, pods=pods, grants=grants, quotas=[Quota("t", "gpus", 2, 2)]) == []


def test_every_rule_has_a_time_to_settle_and_only_doubles_count_at_once():
    there = {value for value in vars(rules).values() if callable(value) and getattr(value, "__annotations__", {}).get(
        "return") == "Iterator[Finding]"}  # fmt: skip
    assert there == set(SETTLE)
    assert [rule.__name__ for rule, seconds in SETTLE.items() if not seconds] == ["doubled"]
