# SPDX-License-Identifier: Apache-2.0
"""Null, and nothing, in every place where a value could be: a chart that renders, or a message that names the key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from tests.chart import kubernetes_objects
from tests.chart.rendering import CHART, TRACES, Charts, Rendered

pytestmark = pytest.mark.helm

DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text())


def paths(values: dict, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in values.items():
        yield (*before, key)
        if isinstance(value, dict):
            yield from paths(value, (*before, key))


PATHS = list(paths(DEFAULTS))


def written(path: tuple[str, ...]) -> str:
    return ".".join(part.replace(".", "\\.") for part in path)


@pytest.mark.parametrize("path", PATHS, ids=written)
def test_null_renders_or_is_named(chart: Charts, path: tuple[str, ...]) -> None:
    done = chart.template(options=["--set", f"{written(path)}=null"])
    if done.returncode == 0:
        assert kubernetes_objects.problems(Rendered(done.stdout)) == []
        return
    assert not [trace for trace in TRACES if trace in done.stderr], done.stderr
    named = (f"missing property '{path[-1]}'", f"at '/{path[0]}'", f"values:{'.'.join(path)}: ")
    assert any(name in done.stderr for name in named), done.stderr


@pytest.mark.parametrize("path", PATHS, ids=written)
def test_no_trace_even_where_the_schema_is_skipped(chart: Charts, path: tuple[str, ...]) -> None:
    done = chart.template(options=["--skip-schema-validation", "--set", f"{written(path)}=null"])
    assert not [trace for trace in TRACES if trace in done.stderr], done.stderr
    if done.returncode != 0:
        assert f"values:{'.'.join(path)}: " in done.stderr


def test_all_missing_sections_are_named_at_once(chart: Charts) -> None:
    options = ["--skip-schema-validation", "--set", "gpuSim=null,devicePlugin.image=null,namespace=null"]
    error = chart.refuse(options=options)
    assert [line.split(": ")[0] for line in error.splitlines() if line.startswith("values:")] == [
        "values:gpuSim",
        "values:devicePlugin.image",
        "values:namespace",
    ]


def test_a_missing_value_is_named_where_the_schema_is_skipped(chart: Charts) -> None:
    options = ["--skip-schema-validation", "--set", "hostRoot=null,namespace.name=null"]
    assert [line for line in chart.refuse(options=options).splitlines() if line.startswith("values:")] == [
        "values:hostRoot: must have a value, got null; leave the key out to have the chart's default",
        "values:namespace.name: must have a value, got null; leave the key out to have the chart's default",
    ]
