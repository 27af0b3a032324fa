# SPDX-License-Identifier: Apache-2.0
"""Names: text whatever it looks like, DNS labels whatever the release is called, and never those of another release."""

from __future__ import annotations

import re

import pytest

from tests.chart import kubernetes_objects
from tests.chart.rendering import Charts, Rendered

pytestmark = pytest.mark.helm

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
NUMBER_LIKE = ["1.10", "08", "123", "00215e6", "1e3", "0x10", "true", "null", "y"]
LONGEST = "r" * 53


@pytest.mark.parametrize("release", [*NUMBER_LIKE, LONGEST, "a.b.c"])
def test_a_release_may_be_called_anything_that_helm_takes(chart: Charts, release: str) -> None:
    rendered = chart.render(release=release)
    assert kubernetes_objects.problems(rendered) == []
    assert rendered.one("DaemonSet")["metadata"]["labels"]["app.kubernetes.io/instance"] == release
    assert rendered.arguments("installer")["--release"] == release
    assert rendered.arguments("agent")["--release"] == release
    for item in rendered.of("DaemonSet") + rendered.of("Pod") + rendered.of("ServiceAccount"):
        assert DNS_LABEL.fullmatch(item["metadata"]["name"]), "pods take their host names from it"


@pytest.mark.parametrize("branch", NUMBER_LIKE)
def test_a_branch_stays_as_it_is(chart: Charts, branch: str) -> None:
    options = ["--set-string", f"branch.name={branch},branch.slug={branch.replace('.', '-')}"]
    rendered = chart.render(options=options)
    assert kubernetes_objects.problems(rendered) == []
    assert rendered.pod["metadata"]["annotations"]["gpu-sim.io/branch-name"] == branch


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("r", "a"), ("r", "b")),
        (("a-b", "c"), ("a", "b-c")),
        (("1.10", "a"), ("1-10", "a")),
        (("1.1.0", "a"), ("1.1-0", "a")),
        (("r" * 52 + "a", "a"), ("r" * 52 + "b", "a")),
        (("x", "default"), ("x-gpu-sim", "default")),
    ],
)
def test_two_releases_share_no_cluster_scoped_name(chart: Charts, one: tuple[str, str], other: tuple[str, str]) -> None:
    first, second = (chart.render(release=release, namespace=namespace) for release, namespace in (one, other))
    assert cluster_scoped(first) & cluster_scoped(second) == {("Namespace", "gpu-sim")}, "which lookup guards"
    assert len(cluster_scoped(first)) == 5
    if one[0] != other[0]:
        assert first.one("DaemonSet")["metadata"]["name"] != second.one("DaemonSet")["metadata"]["name"]
    else:
        assert {title(item) for item in first.of("Pod")} & {title(item) for item in second.of("Pod")} == set()


def test_no_namespace_is_written_into_the_chart(chart: Charts) -> None:
    options = ["--set", "namespace.name=sim-x,workload.namespace=team-x,workload.quota.requests\\.nvidia\\.com/gpu=2"]
    rendered = chart.render(namespace="rel-ns", release="r", options=options)
    used = {item["metadata"].get("namespace") for item in rendered.objects} - {None}
    assert used == {"sim-x", "team-x", "rel-ns"}
    assert {item["metadata"]["name"] for item in rendered.of("Namespace")} == {"sim-x", "team-x"}


def test_overrides(chart: Charts) -> None:
    named = chart.render(release="r", options=["--set", "fullnameOverride=mine"])
    assert named.one("DaemonSet")["metadata"]["name"] == "mine"
    assert named.arguments("agent")["--daemonset"] == "mine"
    renamed = chart.render(release="r", options=["--set", "nameOverride=sim"])
    assert renamed.one("DaemonSet")["metadata"]["name"] == "r-sim"
    assert renamed.pod["metadata"]["labels"]["app.kubernetes.io/name"] == "sim"


def cluster_scoped(rendered: Rendered) -> set[tuple[str, str]]:
    return {
        (item["kind"], item["metadata"]["name"]) for item in rendered.objects if "namespace" not in item["metadata"]
    }


def title(item: dict) -> tuple[str, str]:
    return item["metadata"]["namespace"], item["metadata"]["name"]
