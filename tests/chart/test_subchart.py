# SPDX-License-Identifier: Apache-2.0
"""The chart as a part of an umbrella chart, whose values lie one level deeper and merge by other rules."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from tests.chart import cases, kubernetes_objects
from tests.chart.rendering import CHART, Charts, sets
from tests.chart.test_cases import rule_problems, schema_problems, sets_named

pytestmark = pytest.mark.helm

VERSION = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]


@pytest.fixture
def umbrella(tmp_path: Path) -> Path:
    return made(tmp_path / "umbrella", [{"name": "gpu-sim"}])


def made(folder: Path, parts: list[dict]) -> Path:
    (folder / "charts").mkdir(parents=True)
    (folder / "templates").mkdir()
    shutil.copytree(CHART, folder / "charts/gpu-sim")
    parts = [{**part, "version": VERSION} for part in parts]
    described = {"apiVersion": "v2", "name": "umbrella", "version": "1.0.0", "dependencies": parts}
    (folder / "Chart.yaml").write_text(yaml.safe_dump(described))
    return folder


def deeper(case: cases.Case, folder: Path) -> Path:
    values = folder / "values-of-parent.yaml"
    lines = [line for line in case.file.read_text().splitlines() if not line.startswith("#")]
    values.write_text("gpu-sim:\n" + "\n".join(f"  {line}" for line in lines or ["{}"]) + "\n")
    return values


def test_it_renders_under_its_own_names(chart: Charts, umbrella: Path) -> None:
    rendered = chart.render(chart=umbrella, release="app")
    assert kubernetes_objects.problems(rendered) == []
    assert rendered.one("DaemonSet")["metadata"]["name"] == "app-gpu-sim"
    assert rendered.arguments("agent")["--daemonset"] == "app-gpu-sim"
    assert rendered.arguments("installer")["--release"] == "app"
    assert rendered.pod["metadata"]["labels"]["app.kubernetes.io/name"] == "gpu-sim"


def test_global_values_are_allowed_and_typing_errors_are_not(chart: Charts, umbrella: Path) -> None:
    chart.render(chart=umbrella, options=["--set", "global.x=1,gpu-sim.gpuSim.deviceCount=3"])
    error = chart.refuse(chart=umbrella, options=["--set", "global.x=1,gpu-sim.gpuSim.cuont=3"])
    assert schema_problems(error) == [("gpuSim.cuont", "additional properties 'cuont' not allowed")]


def test_two_parts_of_one_release_do_not_share_objects(chart: Charts, tmp_path: Path) -> None:
    folder = made(tmp_path / "two", [{"name": "gpu-sim", "alias": "big"}, {"name": "gpu-sim", "alias": "small"}])
    values = tmp_path / "values.yaml"
    parts = {
        "big": {"gpuSim": {"deviceCount": 8}, "nodeSelector": {"pool": "big"}},
        "small": {"gpuSim": {"deviceCount": 2}, "nodeSelector": {"pool": "small"}, "namespace": {"create": False}},
    }
    values.write_text(yaml.safe_dump(parts))
    rendered = chart.render(values, chart=folder, release="app")
    assert kubernetes_objects.problems(rendered) == [], "the same object twice"
    pods = {item["metadata"]["name"]: item["spec"] for item in rendered.of("DaemonSet")}
    assert set(pods) == {"app-big", "app-small"}
    assert pods["app-big"]["selector"] != pods["app-small"]["selector"]


@pytest.mark.parametrize("case", cases.positive(), ids=lambda case: case.file.stem)
def test_right_values_are_right_there_too(chart: Charts, umbrella: Path, tmp_path: Path, case: cases.Case) -> None:
    assert kubernetes_objects.problems(chart.render(deeper(case, tmp_path), chart=umbrella)) == []


def differently_merged(case: cases.Case) -> bool:
    """Rules name an option, and null and unknown keys go through the parent's merge; other shapes are as above."""
    return case.judge == "rules" or any(word in case.mistakes[0].message for word in ("missing", "additional"))


@pytest.mark.parametrize("case", [*filter(differently_merged, cases.negative())], ids=lambda case: case.file.stem)
def test_wrong_values_are_named_there_too(chart: Charts, umbrella: Path, tmp_path: Path, case: cases.Case) -> None:
    error = chart.refuse(deeper(case, tmp_path), chart=umbrella)
    if case.judge == "schema":
        assert [path for path, _ in schema_problems(error)] == [case.mistakes[0].path]
        return
    lines = rule_problems(error)
    assert len(lines) == len(case.mistakes)
    for line, mistake in zip(lines, case.mistakes, strict=True):
        assert mistake.message in line
        assert f"gpu-sim.{sets(mistake.fix)[1]}" in sets_named(line), "the option must reach the part, not the whole"


@pytest.mark.parametrize(
    "key", ["gpuSim", "gpuSim.deviceCount", "branch", "namespace", "devicePlugin.image", "hostRoot"]
)
def test_null_from_the_parent_is_named(chart: Charts, umbrella: Path, key: str) -> None:
    error = chart.refuse(chart=umbrella, options=["--set", f"gpu-sim.{key}=null"])
    assert schema_problems(error) == [(key, f"missing property '{key.split('.')[-1]}'")]


def test_nothing_for_the_whole_part_is_refused_by_name(chart: Charts, umbrella: Path) -> None:
    assert "gpu-sim" in chart.refuse_in_helms_words(chart=umbrella, options=["--set", "gpu-sim=null"])


def test_switched_off_it_leaves_nothing(chart: Charts, umbrella: Path) -> None:
    assert chart.render(chart=umbrella, options=["--set", "gpu-sim.gpuSim.enabled=false"]).objects == []


def test_old_clusters_are_refused_by_the_part_itself(chart: Charts, umbrella: Path) -> None:
    """Helm looks at kubeVersion of the umbrella chart only."""
    (line,) = rule_problems(chart.refuse(chart=umbrella, kubernetes="1.28.15"))
    assert "plugin 0.20 needs Kubernetes 1.29 or later, got v1.28.15; upgrade the cluster" in line.replace('"', "")
    (option,) = sets_named(line)
    assert option == "gpu-sim.devicePlugin.enabled=false"
    chart.render(chart=umbrella, kubernetes="1.28.15", options=["--set", option])
    chart.render(chart=umbrella, kubernetes="1.29.0")
