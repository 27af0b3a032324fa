# SPDX-License-Identifier: Apache-2.0
"""The values files in cases/: the right ones render, the wrong ones are refused in the words that they name."""

from __future__ import annotations

import re

import pytest

from tests.chart import cases, kubernetes_objects
from tests.chart.cases import Case
from tests.chart.rendering import CHART, Charts, sets

pytestmark = pytest.mark.helm

BY_SCHEMA = [case for case in cases.negative() if case.judge == "schema"]
BY_RULES = [case for case in cases.negative() if case.judge == "rules"]


def name(case: Case) -> str:
    return case.file.stem


@pytest.mark.parametrize("case", cases.positive(), ids=name)
def test_right_values_render_valid_objects(chart: Charts, case: Case) -> None:
    assert kubernetes_objects.problems(chart.render(case.file)) == []


@pytest.mark.parametrize("case", BY_SCHEMA, ids=name)
def test_wrong_shape_is_named(chart: Charts, case: Case) -> None:
    told = schema_problems(chart.refuse(case.file))
    (mistake,) = case.mistakes
    assert [path for path, _ in told] == [mistake.path]
    assert mistake.message in told[0][1]


@pytest.mark.parametrize("case", BY_RULES, ids=name)
def test_values_that_do_not_go_together_are_told_all_at_once(chart: Charts, case: Case) -> None:
    lines = rule_problems(chart.refuse(case.file))
    assert len(lines) == len(case.mistakes)
    for line, mistake in zip(lines, case.mistakes, strict=True):
        assert line.startswith(f"values:{mistake.path}: ")
        what, remedy = line.split("; ", 1)
        assert mistake.message in what
        assert ", got " in what
        assert sets(mistake.fix)[1] in sets_named(remedy)


@pytest.mark.parametrize("case", BY_RULES, ids=name)
def test_the_named_option_mends_it(chart: Charts, case: Case) -> None:
    options = [word for mistake in case.mistakes for word in sets(mistake.fix)]
    assert kubernetes_objects.problems(chart.render(case.file, options=options)) == []


def test_every_option_named_by_a_rule_mends_it(chart: Charts) -> None:
    """A message may name two ways; the cases take one each. Both must work, alone."""
    single = [case for case in BY_RULES if len(case.mistakes) == 1]
    ways = [(case, way) for case in single for way in sets_named(rule_problems(chart.refuse(case.file))[0])]
    assert len(ways) > len(single)
    for case, way in ways:
        chart.render(case.file, options=["--set", way])


def test_every_rule_has_a_case() -> None:
    """The words of each rule, up to what depends on the values, are in some case."""
    source = (CHART / "templates/_validation.tpl").read_text()
    of_faults = (CHART / "templates/_validation_faults.tpl").read_text()
    told = re.findall(r'\(printf "values:[^:]+: (.*?), got', source)
    told_of_faults = re.findall(r'"gpu-sim.fault.tell" \(list (?:\$line|\.) (?:\(printf )?"(.*?)"', of_faults)
    assert len(told_of_faults) == of_faults.count('include "gpu-sim.fault.tell"')
    rules = {match.replace('\\"', '"').split("%")[0] for match in told + told_of_faults}
    elsewhere = {"must be a map", "must have a value", "plugin "}  # test_nulls.py and test_plugin_versions.py
    told = [mistake.message for case in BY_RULES for mistake in case.mistakes]
    assert len(rules) > 35
    assert {rule for rule in rules if not any(message.startswith(rule) for message in told)} <= elsewhere


def schema_problems(error: str) -> list[tuple[str, str]]:
    """(key, what is wrong) of each line in which Helm reports the schema's judgement."""
    problems = []
    for pointer, what in re.findall(r"^- at '([^']*)': (.*)$", error, re.M):
        key = "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in pointer.split("/")[1:])
        child = re.match(r"(?:missing property|additional properties) '([^']+)'", what)
        path = (key + (f".{child[1]}" if child else "")).removeprefix(".")
        problems.append((path.replace("~1", "/").replace("~0", "~"), what))
    return problems


def rule_problems(error: str) -> list[str]:
    return [line for line in error.splitlines() if line.startswith("values:")]


def sets_named(text: str) -> list[str]:
    return re.findall(r"--set '([^']+)'", text)
