# SPDX-License-Identifier: Apache-2.0
"""The table of device plugin against Kubernetes versions, and the places that repeat a version."""

from __future__ import annotations

import pytest
import yaml

from tests.chart.rendering import CHART, Charts
from tests.harness import versions

pytestmark = pytest.mark.helm

TABLE = yaml.safe_load((CHART / "files/plugin-versions.yaml").read_text())
DESCRIBED = yaml.safe_load((CHART / "Chart.yaml").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@pytest.mark.parametrize("plugin", TABLE)
def test_every_version_of_the_table_renders_from_its_kubernetes_on(chart: Charts, plugin: str) -> None:
    lowest = TABLE[plugin]["kubernetes"]["from"]
    options = ["--set", f"devicePlugin.image.tag=v{plugin}.1"]
    for kubernetes in (f"{lowest}.0", f"v{lowest}.3+k3s1", f"{lowest}.1-eks-17b3", "1.34.4-gke.100", "1.99.0"):
        rendered = chart.render(kubernetes=kubernetes, options=options)
        assert rendered.container("device-plugin")["image"].endswith(f":v{plugin}.1")


def test_older_clusters_are_refused_at_install(chart: Charts) -> None:
    assert "chart requires kubeVersion: >=1.29.0-0" in chart.refuse(kubernetes="1.28.15")


def test_the_chart_asks_for_the_lowest_kubernetes_of_the_table() -> None:
    lowest = min((row["kubernetes"]["from"] for row in TABLE.values()), key=number)
    assert DESCRIBED["kubeVersion"] == f">={lowest}.0-0"


def test_the_pinned_versions_are_the_ones_of_the_project() -> None:
    pinned = versions.version("device-plugin")
    assert VALUES["devicePlugin"]["image"]["tag"] == f"v{pinned}"
    assert ".".join(pinned.split(".")[:2]) == max(TABLE, key=number), "the newest that is known is the one that is used"
    assert DESCRIBED["version"] == versions.version("gpu-sim")
    assert DESCRIBED["appVersion"] == versions.version("gpu-sim")


def test_the_version_can_be_given_for_an_image_without_one(chart: Charts) -> None:
    options = ["--set", "devicePlugin.image.tag=mine,devicePlugin.version=0.19.2"]
    assert chart.render(options=options).container("device-plugin")["image"].endswith(":mine")
    unknown = chart.refuse(options=["--set", "devicePlugin.version=0.16.0"])
    assert "is not a version that this chart can run" in unknown
    assert 'got "0.16"' in unknown


def test_a_plugin_that_is_not_installed_needs_no_version(chart: Charts) -> None:
    options = ["--set", "devicePlugin.enabled=false,devicePlugin.image.tag=nightly"]
    assert chart.render(options=options).one("DaemonSet")
