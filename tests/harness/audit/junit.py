# SPDX-License-Identifier: Apache-2.0
"""The outcome as JUnit XML: a test case for each rule, a failure with every sentence. Called by the command `audit`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from tests.harness.audit.judge import Violation, by_rule
from tests.harness.audit.rules import Rule
from tests.harness.audit.settle import SETTLE

# What XML 1.0 cannot hold, in whatever way it is written.
UNSPEAKABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(
    violations: list[Violation], seconds: float, summary: str = "", rules: Iterable[Rule] = SETTLE
) -> ElementTree.ElementTree:
    found = by_rule(rules, violations)
    counts = {"tests": str(len(found)), "failures": str(sum(map(bool, found.values()))), "errors": "0", "skipped": "0"}
    top = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(top, "testsuite", name="gpu-sim audit", time=f"{seconds:.3f}", **counts)
    for rule, told in found.items():
        case = ElementTree.SubElement(suite, "testcase", classname="gpu-sim.audit", name=rule, time="0.000")
        if told:
            text = UNSPEAKABLE.sub("?", "\n".join(map(str, told)))
            failure = ElementTree.SubElement(case, "failure", message=text.splitlines()[0], type="violation")
            failure.text = text
    ElementTree.SubElement(suite, "system-out").text = UNSPEAKABLE.sub("?", summary)
    ElementTree.indent(top)
    return ElementTree.ElementTree(top)


def write(file: Path, *words, **more) -> None:
    """As a whole or not at all."""
    unfinished = file.with_name(f".{file.name}.part")
    document(*words, **more).write(unfinished, encoding="utf-8", xml_declaration=True)
    unfinished.rename(file)
