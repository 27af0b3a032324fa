# SPDX-License-Identifier: Apache-2.0
"""Memory by program: of a small family of processes whose sizes are known."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import memory

pytestmark = pytest.mark.unit
FAMILY = """
import subprocess, sys
held = bytearray(b"x" * (int(sys.argv[1]) << 20))
children = [subprocess.Popen([sys.executable, "-c", sys.argv[3], size, "", sys.argv[3]], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE) for size in sys.argv[2].split()]
for child in children:
    child.stdout.readline()
print("ready", flush=True)
sys.stdin.read()
for child in children:
    child.communicate()
"""


@pytest.fixture
def family():
    """A process of 30 MiB with two children of 50 and 70 MiB."""
    argv = [sys.executable, "-c", FAMILY, "30", "50 70", FAMILY]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout.readline() == b"ready\n"
        yield parent
        parent.stdin.close()


def rss_kib(pid: int) -> int:
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def test_children_count_and_what_is_held_counts_once(family):
    ((name, kib), (others, rest)) = memory.by_program([family.pid])
    assert len(memory.below([family.pid])) == 3
    assert (name, others, rest) == (memory.program(family.pid), "all others", 0)
    resident = sum(map(rss_kib, memory.below([family.pid])))
    assert 150 <= kib / 1024 < 150 + 3 * 15, "the three, each with its share of Python"
    assert kib < resident - 2 * 1024, "what they share is not counted three times"


def test_small_programs_are_one_row(family, monkeypatch):
    monkeypatch.setattr(memory, "SMALL_KIB", 1 << 20)
    ((others, kib),) = memory.by_program([family.pid])
    assert (others, kib >> 10 >= 150) == ("all others", True)


def test_a_process_that_ended_has_nothing():
    with subprocess.Popen(["true"]) as ended:
        pass
    assert (memory.kib(ended.pid), memory.program(ended.pid), memory.below([ended.pid])) == (0, "", [ended.pid])
