# SPDX-License-Identifier: Apache-2.0
"""Every fault that the project shows somewhere is one that `gpu-sim ctl` takes."""

from __future__ import annotations

import re
import shlex

import pytest
import yaml

from tests.harness.versions import CHECKOUT
from tests.node.node_root import NodeRoot

pytestmark = pytest.mark.native

FILES = sorted([*CHECKOUT.glob("values/*.yaml"), *CHECKOUT.glob("tests/chart/cases/positive/*.yaml")])


def lines_of_values() -> dict[str, list[str]]:
    found = {file.name: (yaml.safe_load(file.read_text()) or {}).get("gpuSim", {}).get("faults") for file in FILES}
    comment = " ".join(
        line.strip(" #") for line in (CHECKOUT / "charts/gpu-sim/values.yaml").read_text().splitlines() if "#" in line
    )
    found["values.yaml of the chart"] = re.findall(r'"((?:xid|lost|set|throttle|nvlink-down|fault) [^"]*)"', comment)
    return {name: lines for name, lines in found.items() if lines}


def test_there_are_some() -> None:
    found = lines_of_values()
    assert {"faults.yaml", "everything.yaml", "faults-of-each-kind.yaml", "values.yaml of the chart"} <= set(found)
    assert {line.split()[0] for lines in found.values() for line in lines} >= {
        "xid",
        "lost",
        "set",
        "throttle",
        "fault",
    }


@pytest.mark.parametrize("name", lines_of_values())
def test_values_declare_what_the_node_program_takes(node: NodeRoot, name: str) -> None:
    node.install(6)
    node.run("ctl", "declare", "--root", node.path, input="\n".join(lines_of_values()[name]) + "\n")


def test_the_readme_breaks_gpus_with_commands_that_work(node: NodeRoot) -> None:
    text = (CHECKOUT / "README.md").read_text()
    commands = [
        next(word for word in shlex.split(line, comments=True) if word.startswith("ARGS=")).removeprefix("ARGS=")
        for line in re.findall(r"^    (?:\$ )?(make ctl NODE=.*)$", text, re.M)
    ]
    assert len(commands) > 4
    node.install(4)
    for command in commands:
        node.run("ctl", *shlex.split(command), "--root", node.path)
