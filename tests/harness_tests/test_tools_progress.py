# SPDX-License-Identifier: Apache-2.0
"""Progress: one line for each step, on standard error."""

import io
import re

import pytest

from tests.harness import progress

pytestmark = pytest.mark.unit


def test_one_line_for_a_step_and_its_time_is_kept():
    stream = io.StringIO()
    steps = progress.Progress(stream, live=False)
    with steps.step("control plane") as step:
        step.note("etcd")
    assert re.fullmatch(r"  control plane +done +0\.\d s\n", stream.getvalue())
    assert 0 <= steps.times["control plane"] < 1


def test_a_failed_step_says_so_and_the_error_goes_on():
    stream = io.StringIO()
    steps = progress.Progress(stream, live=False)
    with pytest.raises(ValueError, match="broken"), steps.step("node"):
        raise ValueError("broken")
    assert re.fullmatch(r"  node +FAILED +0\.\d s\n", stream.getvalue())


def test_a_terminal_sees_the_line_change():
    stream = io.StringIO()
    with progress.Progress(stream, live=True).step("build") as step:
        step.note("3 of 7 packages")
    assert "\r  build: 3 of 7 packages (0.0 s)\x1b[K" in stream.getvalue()
    assert stream.getvalue().count("\n") == 1


def test_without_a_terminal_a_long_step_lives(monkeypatch):
    monkeypatch.setattr(progress, "HEARTBEAT_S", 0.0)
    stream = io.StringIO()
    with progress.Progress(stream, live=False).step("build") as step:
        step.note("3 of 7 packages")
    assert "  build: 3 of 7 packages (0.0 s)\n" in stream.getvalue()


def test_ci_is_no_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    assert progress.Progress(Terminal()).live
    monkeypatch.setenv("CI", "true")
    assert not progress.Progress(Terminal()).live


def test_durations():
    assert [progress.took(s) for s in (0.04, 59.94, 99.9, 100, 3725)] == [
        "0.0 s", "59.9 s", "99.9 s", "1 min 40 s", "62 min 05 s"]  # fmt: skip
