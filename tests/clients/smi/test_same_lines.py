# SPDX-License-Identifier: Apache-2.0
"""Command lines, right and wrong: ours and the real nvidia-smi say the same and end with the same code. See lines/."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.clients.smi.program import Smi

pytestmark = pytest.mark.native
LINES = Path(__file__).parent / "lines"


@pytest.fixture
def smi(newest, root):
    return Smi(*newest, root, count=3)


def lines(name: str, smi: Smi) -> list[list[str]]:
    uuid, serial = smi("-i", "1", "--query-gpu=uuid,serial", "--format=csv,noheader").strip().split(", ")
    text = (LINES / name).read_text().replace("{uuid}", uuid).replace("{serial}", serial)
    return [shlex.split(line) for line in text.splitlines() if not line.startswith("#")]


def of_lines(name: str, smi: Smi) -> list[list[str]]:
    found = lines(name, smi)
    return [["-i", *words, "--query-gpu=index,uuid", "--format=csv"] for words in found] if "gpus" in name else found


@pytest.mark.parametrize(("name", "least"), [("arguments.txt", 140), ("changes.txt", 90), ("gpus.txt", 29)])
def test_lines(smi, name, least):
    found = of_lines(name, smi)
    assert len(found) >= least
    assert smi.differing(found) == {}


@pytest.mark.parametrize("name", ["arguments.txt", "changes.txt", "gpus.txt"])
def test_lines_beside_a_lost_gpu(smi, name):
    found = of_lines(name, smi)
    smi.driver.tool("set", 1, "lost", 1)
    assert smi.differing(found) == {}


def test_into_a_file(smi, tmp_path):
    for number, run in enumerate((smi.run, smi.run_ours)):
        done = run("-f", str(tmp_path / f"{number}"), "--query-gpu=index,name,memory.total", "--format=csv")
        assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "0").read_text() == (tmp_path / "1").read_text() != ""


def test_again_and_again(smi):
    """Until it is stopped; of a query the heading is said once."""
    ended = []
    for program in (smi.program, smi.our_program):
        words = [program, "--query-gpu=index,name", "--format=csv", "-lms", "100"]
        done = smi.driver.run(["timeout", "0.45", *words])
        ended.append((done.returncode, done.stdout.splitlines()[:7]))
    assert ended[0] == ended[1]
    assert ended[1][0] == 124
    assert len(ended[1][1]) == 7


def test_help_names_every_field_of_the_real_one(smi):
    """Not in its words: nothing parses them."""
    for option, least in (
        ("--help-query-gpu", 135),
        ("--help-query-compute-apps", 8),
        ("--help-query-remapped-rows", 9),
    ):
        theirs, ours = (
            set(re.findall(r'^"[\w.]+"(?: or "[\w.]+")?', run(option).stdout, flags=re.MULTILINE))
            for run in (smi.run, smi.run_ours)
        )
        assert {
            names for names in theirs if names not in ours and names != '"clocks.max.sm" or "clocks.max.sm"'
        } == set()
        assert len(ours) >= least


ELSEWHERE = [
    ["dmon"], ["dmon", "-c", "1"], ["pmon"], ["daemon"], ["replay"], ["drain"], ["nvlink", "-s"], ["c2c"], ["clocks"],
    ["encodersessions"], ["fbcsessions"], ["vgpu"], ["mig", "-lgip"], ["compute-policy"], ["boost-slider"],
    ["power-hint"], ["base-clocks"], ["conf-compute"], ["gpm"], ["pci"], ["--dtd"], ["topo", "-p2p", "r"],
    ["--query-supported-clocks=mem", "--format=csv"], ["--query-accounted-apps=pid", "--format=csv"],
    ["--query-retired-pages=address", "--format=csv"],
]  # fmt: skip


@pytest.mark.parametrize("words", ELSEWHERE, ids=" ".join)
def test_what_only_the_real_one_has(smi, words):
    done = smi.run_ours(*words)
    named = " ".join(words[:2]) if words[0] == "topo" else words[0]
    assert done.stdout.startswith(f"nvidia-smi: {named} is not simulated by gpu-sim's own nvidia-smi")
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (3, 1, "")
