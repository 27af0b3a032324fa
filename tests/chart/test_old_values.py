# SPDX-License-Identifier: Apache-2.0
"""`helm upgrade --reuse-values` puts the old chart's values in place of the new one's: every newer key is missing."""

from __future__ import annotations

import copy
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.chart.rendering import CHART, CHECKOUT, Charts

pytestmark = pytest.mark.helm

NOW = yaml.safe_load((CHART / "values.yaml").read_text())
with tarfile.open(CHECKOUT / "tests/e2e/first-release.tgz") as archive:
    FIRST = yaml.safe_load(archive.extractfile("gpu-sim/values.yaml"))


def newer(now: dict, first: dict, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of the keys that the first release does not have, and of all that is in them."""
    for key, value in now.items():
        if key not in first:
            yield (*above, key)
        if isinstance(value, dict):
            yield from newer(value, first.get(key) or {}, (*above, key))


def without(values: dict, path: tuple[str, ...]) -> dict:
    left = copy.deepcopy(values)
    inner = left
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return left


def chart_with(values: dict, folder: Path) -> Path:
    made = folder / "gpu-sim"
    shutil.copytree(CHART, made)
    (made / "values.yaml").write_text(yaml.safe_dump(values))
    return made


def test_the_first_release_had_what_is_still_there() -> None:
    assert list(newer(FIRST, NOW)) == [], "a key of the first release is gone: who has set it cannot upgrade"
    assert ("gpuSim", "faults") in newer(NOW, FIRST), "the archive is not the first release"


def test_with_the_first_releases_values_the_chart_renders_as_with_its_own(chart: Charts, tmp_path: Path) -> None:
    """But for the checksum over all values, which may differ."""

    def nodes(made: Path) -> dict:
        found = chart.render(chart=made).pod
        found["metadata"]["annotations"].pop("gpu-sim.io/values-checksum")
        return found

    assert nodes(chart_with(FIRST, tmp_path)) == nodes(CHART)


@pytest.mark.parametrize("path", list(newer(NOW, FIRST)), ids=".".join)
def test_any_newer_key_may_be_missing(path: tuple[str, ...], chart: Charts, tmp_path: Path) -> None:
    made = chart_with(without(NOW, path), tmp_path)
    assert chart.render(chart=made).one("DaemonSet")["spec"]["template"]["spec"]["containers"]
