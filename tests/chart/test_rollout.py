# SPDX-License-Identifier: Apache-2.0
"""Any change of a value starts the node pods anew; none of them touches the selector."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.chart.rendering import CHART, CHECKOUT, Charts, Rendered

pytestmark = pytest.mark.helm

DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text())
EVERYTHING = yaml.safe_load((CHECKOUT / "values/everything.yaml").read_text())
CHANGES = [
    "gpuSim.deviceCount=8",
    "gpuSim.memoryMB=20480",
    "gpuSim.profile=tesla-t4",
    "gpuSim.deviceName=Other",
    "gpuSim.driverVersion=570.86.15",
    "branch.name=x",
    "tolerations=null",
    "allowForeign=true",
    "devicePlugin.healthChecks.ignoredXids={79}",
    "devicePlugin.image.tag=v0.19.3",
    "installer.resources.limits.memory=65Mi",
    "tests.enabled=false",
    "global.shared=1",
]
SELECTOR = {
    "app.kubernetes.io/name": "gpu-sim",
    "app.kubernetes.io/instance": "gpu-sim",
    "app.kubernetes.io/component": "node",
}


def checksum(rendered: Rendered) -> str:
    return rendered.pod["metadata"]["annotations"]["gpu-sim.io/values-checksum"]


def test_every_value_by_itself_is_a_rollout(chart: Charts) -> None:
    seen = {checksum(chart.render()): "defaults"}
    for change in CHANGES:
        value = checksum(chart.render(options=["--set", change]))
        assert value not in seen, f"{change} gives the same pods as {seen.get(value)}"
        seen[value] = change


def test_the_same_value_written_otherwise_is_none(chart: Charts, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("gpuSim: {deviceCount: 6}\n")
    assert checksum(chart.render(file)) == checksum(chart.render(options=["--set", "gpuSim.deviceCount=6"]))
    assert checksum(chart.render(options=["--set", "gpuSim.deviceCount=4"])) == checksum(chart.render())


def test_a_new_chart_version_is_a_rollout(chart: Charts, tmp_path: Path) -> None:
    newer = copy_of_chart(tmp_path, version="0.2.0")
    assert checksum(chart.render(chart=newer)) != checksum(chart.render())


def test_the_selector_never_changes(chart: Charts, tmp_path: Path) -> None:
    """It is immutable in the cluster: an upgrade that changes it fails. Written out here, for ever."""
    newer = copy_of_chart(tmp_path, version="7.0.0")
    everything = {key: value for key, value in EVERYTHING.items() if key not in ("nameOverride", "fullnameOverride")}
    file = tmp_path / "everything.yaml"
    file.write_text(json.dumps(everything))
    for rendered in (chart.render(), chart.render(file), chart.render(chart=newer)):
        assert rendered.one("DaemonSet")["spec"]["selector"] == {"matchLabels": SELECTOR}
        assert SELECTOR.items() <= rendered.pod["metadata"]["labels"].items()
        assert rendered.one("DaemonSet")["metadata"]["name"] == "gpu-sim"


def test_labels_and_annotations_of_users_are_added(chart: Charts) -> None:
    options = ["--set", "podLabels.team=a,podAnnotations.example\\.com/x=y"]
    metadata = chart.render(options=options).pod["metadata"]
    assert metadata["labels"] == {**SELECTOR, "team": "a"}
    assert metadata["annotations"]["example.com/x"] == "y"


def test_an_upgrade_reaches_many_nodes_at_once(chart: Charts) -> None:
    strategy = chart.render().one("DaemonSet")["spec"]["updateStrategy"]
    assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "50%"}}


def copy_of_chart(folder: Path, version: str) -> Path:
    target = folder / f"chart-{version}"
    for file in CHART.rglob("*"):
        if file.is_file():
            copy = target / file.relative_to(CHART)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    described = (CHART / "Chart.yaml").read_text()
    (target / "Chart.yaml").write_text(described.replace(f"\nversion: {current()}", f"\nversion: {version}"))
    return target


def current() -> str:
    return yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
