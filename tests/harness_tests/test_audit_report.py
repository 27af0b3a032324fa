# SPDX-License-Identifier: Apache-2.0
"""From violations to XML, a table and an exit code."""

from __future__ import annotations

import threading
from xml.etree import ElementTree

import pytest

from tests.harness import heartbeat
from tests.harness.audit import command, junit
from tests.harness.audit.judge import Judge, Violation
from tests.harness.audit.settle import SETTLE
from tests.harness.runs import RunError

pytestmark = pytest.mark.unit


def test_the_xml_has_every_rule_and_every_sentence(tmp_path):
    told = [Violation("doubled", "GPU-1 given to a/x and b/y", "12:00:03"), Violation("doubled", "\x00 & <b>", "1")]
    junit.write(tmp_path / "out.xml", told, 12.5, "a table\x1b[K")
    suite = ElementTree.parse(tmp_path / "out.xml").getroot().find("testsuite")
    assert suite.attrib == {
        "name": "gpu-sim audit", "time": "12.500", "tests": str(len(SETTLE)), "failures": "1", "errors": "0",
        "skipped": "0",
    }  # fmt: skip
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert set(cases) == {rule.__name__ for rule in SETTLE}
    assert [name for name, case in cases.items() if case.find("failure") is not None] == ["doubled"]
    failure = cases["doubled"].find("failure")
    assert failure.get("message") == "GPU-1 given to a/x and b/y at 12:00:03"
    assert failure.text == "GPU-1 given to a/x and b/y at 12:00:03\n? & <b> at 1"
    assert suite.find("system-out").text == "a table?[K"
    assert list(tmp_path.iterdir()) == [tmp_path / "out.xml"]


class FakeAudit:
    def __init__(self, violations=(), nodes=("n1",), ends=None):
        self.violations, self.nodes, self.judge = list(violations), set(nodes), Judge()
        self.ends, self.asked, self.told = ends, None, []
        self.say = self.told.append

    def watch(self, seconds=None):
        self.asked = ("watch", seconds)
        if self.ends:
            raise self.ends

    def once(self):
        self.asked = ("once",)

    def counts(self):
        return {"checks": 7, "violations": len(self.violations)}

    def summary(self):
        return "THE TABLE"


VIOLATION = Violation("doubled", "GPU-1 given to a/x and b/y", "12:00:03")


@pytest.mark.parametrize(
    ("audit", "watch", "seconds", "code", "asked"),
    [
        (FakeAudit(), False, None, 0, ("once",)),
        (FakeAudit([VIOLATION]), False, None, 1, ("once",)),
        (FakeAudit(), True, None, 0, ("watch", None)),
        (FakeAudit(), False, 7.0, 0, ("watch", 7.0)),
        (FakeAudit(nodes=()), False, None, 1, ("once",)),
        (FakeAudit(ends=KeyboardInterrupt()), True, None, 130, ("watch", None)),
        (FakeAudit([VIOLATION], ends=KeyboardInterrupt()), True, 9.0, 130, ("watch", 9.0)),
    ],
)
def test_exit_codes_and_the_table_whatever_happens(audit, watch, seconds, code, asked, tmp_path, capsys):
    assert command.run(None, watch, seconds, str(tmp_path / "a.xml"), audit) == code
    said = capsys.readouterr()
    assert (said.out, audit.asked) == ("THE TABLE\n", asked)
    assert ("nothing was checked" in said.err) is (not audit.nodes)
    assert ElementTree.parse(tmp_path / "a.xml").getroot().find("testsuite").get("failures") == str(
        len(audit.violations)
    )


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_watched(tmp_path):
    audit = FakeAudit()
    with pytest.raises(RunError, match=r"junit: its folder must be there, got '.*/none/a\.xml'"):
        command.run(None, False, None, str(tmp_path / "none/a.xml"), audit)
    assert audit.asked is None


def test_one_that_watches_tells_its_counts_while_it_does(monkeypatch, capsys):
    monkeypatch.setattr(heartbeat, "EVERY_S", 0.01)
    audit = FakeAudit()
    beaten = threading.Event()

    def say(text):
        audit.told.append(text)
        beaten.set()

    audit.say = say
    audit.watch = lambda seconds: beaten.wait(10)
    assert command.run(None, True, None, None, audit) == 0
    assert audit.told[0] == "gpu-sim: after 0 s: checks 7, violations 0"
    told = len(audit.told)
    audit.watch = lambda seconds: None
    monkeypatch.setattr(heartbeat, "EVERY_S", 60)
    command.run(None, True, None, None, audit)
    command.run(None, False, None, None, audit)
    assert len(audit.told) == told, "it went on after its end"
