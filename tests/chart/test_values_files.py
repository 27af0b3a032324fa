# SPDX-License-Identifier: Apache-2.0
"""Every values file that is shipped renders to valid objects, and to the same bytes each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chart import kubernetes_objects
from tests.chart.rendering import CHECKOUT, Charts, Rendered
from tests.harness import versions

pytestmark = pytest.mark.helm

FILES = sorted((CHECKOUT / "values").glob("*.yaml"))


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def file(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_there_are_values_files() -> None:
    assert {"branch", "everything"} <= {file.stem for file in FILES}


def test_it_renders_valid_objects(chart: Charts, file: Path) -> None:
    assert kubernetes_objects.problems(chart.render(file)) == []


def test_two_renders_are_alike(chart: Charts, file: Path) -> None:
    assert chart.template(file).stdout == chart.template(file).stdout


def test_every_container_and_pod_has_what_an_operator_looks_for(chart: Charts, file: Path) -> None:
    rendered = chart.render(file)
    for container in containers(rendered):
        assert container["resources"]["requests"], container["name"]
        assert not container["image"].endswith(":latest")
        assert ":" in container["image"]


def test_the_images_by_default_are_the_pinned_ones(chart: Charts) -> None:
    own = versions.version("gpu-sim")
    assert {container["image"] for container in containers(chart.render())} == {
        f"localhost/gpu-sim:{own}",
        f"localhost/gpu-sim-agent:{own}",
        f"nvcr.io/nvidia/k8s-device-plugin:v{versions.version('device-plugin')}",
    }
    assert {container["imagePullPolicy"] for container in containers(chart.render())} == {"IfNotPresent"}


def test_byte_order_mark_and_line_ends_are_harmless(chart: Charts, tmp_path: Path) -> None:
    text = 'gpuSim:\n  deviceCount: 7\n  deviceName: "Tesla T4"\n'
    plain, odd = tmp_path / "plain.yaml", tmp_path / "odd.yaml"
    plain.write_text(text)
    odd.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert chart.template(odd).stdout == chart.template(plain).stdout
    assert chart.render(odd).arguments("installer")["--count"] == "7"


def containers(rendered: Rendered) -> list[dict]:
    specs = [rendered.pod["spec"], *(pod["spec"] for pod in rendered.of("Pod"))]
    return [item for spec in specs for item in [*spec.get("initContainers", []), *spec["containers"]]]
