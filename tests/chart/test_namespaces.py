# SPDX-License-Identifier: Apache-2.0
"""Whether a Namespace is part of the release depends on the cluster; nothing else that is installed does."""

from __future__ import annotations

import pytest

from tests.chart.rendering import Charts, Rendered
from tests.chart.server_install import Install, daemon_set, namespace

pytestmark = pytest.mark.helm

HELM = {"app.kubernetes.io/managed-by": "Helm"}
MINE = {"meta.helm.sh/release-name": "rel-a", "meta.helm.sh/release-namespace": "ns-a"}


def rendered_namespaces(rendered: Rendered) -> list[str]:
    return [item["metadata"]["name"] for item in rendered.of("Namespace")]


def test_an_absent_namespace_is_created_kept_and_privileged(install: Install) -> None:
    rendered, _ = install()
    metadata = rendered.one("Namespace", "gpu-sim")["metadata"]
    assert metadata["annotations"]["helm.sh/resource-policy"] == "keep"
    assert metadata["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


@pytest.mark.parametrize(
    ("labels", "annotations", "ours"),
    [
        (HELM, MINE, True),
        ({}, MINE, False),
        ({}, {}, False),
        (None, None, False),
        (HELM, {**MINE, "meta.helm.sh/release-name": "rel-b"}, False),
        (HELM, {**MINE, "meta.helm.sh/release-namespace": "ns-b"}, False),
    ],
)
def test_a_namespace_that_is_there_is_rendered_only_by_its_release(
    install: Install, labels: dict | None, annotations: dict | None, ours: bool
) -> None:
    there = namespace("gpu-sim")
    there["metadata"] = {"name": "gpu-sim", "labels": labels, "annotations": annotations}
    install.server.objects = [there]
    rendered, _ = install()
    assert rendered_namespaces(rendered) == (["gpu-sim"] if ours else [])
    assert rendered.one("DaemonSet")["metadata"]["namespace"] == "gpu-sim"


def test_the_release_never_owns_its_own_namespace(install: Install, chart: Charts) -> None:
    options = ["--set", "namespace.name=ns-a,workload.namespace=ns-a"]
    assert rendered_namespaces(install(*options)[0]) == []
    assert rendered_namespaces(chart.render(namespace="ns-a", options=options)) == []


def test_the_workload_namespace_follows_the_same_rule_and_is_not_privileged(install: Install) -> None:
    options = ["--set", "workload.namespace=team-a,workload.quota.requests\\.nvidia\\.com/gpu=3"]
    rendered, _ = install(*options)
    metadata = rendered.one("Namespace", "team-a")["metadata"]
    assert metadata["annotations"]["helm.sh/resource-policy"] == "keep"
    assert not [label for label in metadata["labels"] if label.startswith("pod-security")]
    install.server.objects = [namespace("team-a")]
    rendered, _ = install(*options)
    assert rendered_namespaces(rendered) == ["gpu-sim"]
    quota = rendered.one("ResourceQuota")
    assert quota["metadata"]["namespace"] == "team-a"
    assert quota["spec"] == {"hard": {"requests.nvidia.com/gpu": "3"}}


def test_nothing_else_depends_on_the_cluster(install: Install) -> None:
    before, _ = install()
    spec = {"nodeSelector": {"nvidia.com/gpu.present": "true"}, "containers": []}
    install.server.objects = [namespace("gpu-sim", HELM, MINE), daemon_set("other", spec)]
    after, notes = install()
    assert "WARNING" in notes
    assert after.objects == before.objects


def test_without_the_right_to_look_around_namespace_create_false_installs(install: Install) -> None:
    install.server.forbidden = {"Namespace", "DaemonSet"}
    refused = install.run()
    assert refused.returncode != 0
    assert "namespaces is forbidden" in refused.stderr
    install.server.forbidden = {"Namespace"}
    install.server.asked.clear()
    rendered, notes = install("--set", "namespace.create=false")
    assert rendered_namespaces(rendered) == []
    assert "/apis/apps/v1/daemonsets" not in install.server.asked
    assert "kubectl label namespace gpu-sim --overwrite pod-security.kubernetes.io/enforce=privileged" in notes
