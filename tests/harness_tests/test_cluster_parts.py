# SPDX-License-Identifier: Apache-2.0
"""Waiting, tables, recorded processes, records of runs: the parts that everything else stands on."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import runs
from tests.harness.embedded import process
from tests.harness.embedded.process import Process
from tests.harness.runs import Run, RunError
from tests.harness.table import table
from tests.harness.wait import WaitTimeout, wait_until

pytestmark = pytest.mark.unit


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def wait(what, values, deadline_s, **more):
    clock, left = Clock(), iter(values)
    return wait_until(what, lambda: next(left), deadline_s, clock=clock, sleep=clock.sleep, **more), clock.now


def test_waiting_returns_the_first_true_value():
    assert wait("x", [0, None, 7, 8], 60)[0] == 7


def test_several_good_reads_in_a_row_start_anew_after_a_bad_one():
    assert wait("x", [1, 2, 0, 4, 5, 6, 7], 60, reads=3)[0] == 6


def test_a_timeout_says_what_how_long_and_the_last_value():
    with pytest.raises(WaitTimeout) as caught:
        wait("4 GPUs on n1", iter(lambda: 0, 1), 3)
    assert str(caught.value) == "waited 3.0 s for 4 GPUs on n1; last seen: 0"


def test_a_timeout_shows_what_seen_gives_and_the_last_error_before_all():
    with pytest.raises(WaitTimeout, match=r"last seen: \('n1', 2\)$"):
        wait("x", iter(lambda: False, 1), 1, seen=lambda: ("n1", 2))

    def refused():
        raise ConnectionRefusedError("nobody there")

    clock = Clock()
    with pytest.raises(WaitTimeout, match=r"last seen: ConnectionRefusedError: nobody there$"):
        wait_until("x", refused, 1, clock=clock, sleep=clock.sleep)


def test_an_error_that_is_no_not_yet_ends_the_wait_at_once():
    with pytest.raises(ZeroDivisionError):
        wait_until("x", lambda: 1 / 0, 60)


def test_a_table_is_as_wide_as_its_cells_and_numbers_are_on_the_right():
    assert table(["NODE", "GPUS"], [["n1", 4], ["worker-17", 16]]).splitlines() == [
        "  NODE       GPUS",
        "  n1            4",
        "  worker-17    16",
    ]
    assert table(["A", "B"], [["", None]]).splitlines()[1] == "  -  -"
    assert table(["NODE"], []) == "  NODE"
    with pytest.raises(ValueError, match="a row of 1 cells under 2 heads"):
        table(["A", "B"], [["x"]])


@pytest.fixture
def sleeper():
    made = subprocess.Popen(["sleep", "60"])
    yield made
    made.kill()
    made.wait()


def test_only_the_process_that_was_recorded_is_ended(sleeper):
    right = process.of(sleeper.pid)
    assert process.alive(right)
    wrong = Process(sleeper.pid, right.started + 1)
    assert not process.alive(wrong)
    assert process.end(wrong) is False
    assert sleeper.poll() is None
    assert process.end(right) is True
    assert not process.alive(right)
    assert process.end(right) is False


def test_a_process_that_ignores_sigterm_is_killed_when_its_time_is_up():
    stubborn = subprocess.Popen(["sh", "-c", "trap '' TERM; echo ready; sleep 60 & wait; wait"], stdout=subprocess.PIPE)
    assert stubborn.stdout.readline() == b"ready\n"
    recorded = process.of(stubborn.pid)
    with pytest.raises(TimeoutError, match=f"process {stubborn.pid} did not end within 0.2 s"):
        process.end(recorded, 15, 0.2, then_kill=False)
    assert process.end(recorded, 15, 0.2)
    assert not process.alive(recorded)
    stubborn.stdout.close()


@pytest.fixture
def base(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("GPU_SIM_RUN_DIR", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.mark.parametrize("name", ["", "A", "a_b", "1a", "a-", "a/b", "../x", "a" * 31, "ä"])
def test_a_name_that_is_no_dns_label_is_refused(name, base):
    with pytest.raises(RunError, match=r"^name: must be 1 to 30 of a-z.*got .*; rename it$"):
        Run(name)
    assert not base.exists()


def test_a_run_is_owned_by_one_and_free_when_that_one_dies(base):
    code = (
        "import sys; from tests.harness.runs import Run; Run('one').lock(); print('got', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert other.stdout.readline() == b"got\n"
    assert Run("one").lock(wait=False) is False
    assert list(runs.abandoned()) == []
    other.kill()
    other.wait()
    other.stdin.close()
    other.stdout.close()
    assert [run.name for run in runs.abandoned()] == ["one"]


def test_a_lock_that_outlives_its_owner_for_a_moment_is_waited_for(base):
    """As of a process killed between fork and exec: its child has the open file until it becomes another program."""
    (base / "one").mkdir(parents=True)
    with (base / "one/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        child = subprocess.Popen(["sleep", "0.1"], pass_fds=[lock.fileno()])
    assert Run("one").lock(wait=False) is False, "the child has it"
    assert [run.name for run in runs.abandoned()] == ["one"]
    child.wait()


@pytest.mark.parametrize(
    ("state", "abandoned"),
    [
        ({}, True),
        ({"status": "starting"}, True),
        ({"status": "stopping"}, True),
        ({"status": "running"}, False),
        ({"status": "running", "transient": True}, True),
        ({"status": "running", "boot": "another"}, True),
        ({"status": "running", "boot": "another", "provider": "kind"}, False),
    ],
)
def test_which_runs_nobody_will_come_back_for(state, abandoned, base):
    run = Run("one")
    run.lock()
    if state:
        run.save(**state)
    run.release()
    assert [found.name for found in runs.abandoned()] == (["one"] if abandoned else [])


def test_a_record_that_is_cut_off_counts_as_none(base):
    (base / "one").mkdir(parents=True)
    (base / "one/state.json").write_text('{"status": "runn')
    assert runs.find("one") is None
    assert [run.name for run in runs.abandoned()] == ["one"]


def test_the_last_run_takes_the_common_folder_along(base):
    one, two = Run("one"), Run("two")
    one.lock()
    two.lock()
    one.remove()
    assert runs.names() == ["two"]
    two.remove()
    assert not base.exists()


def test_pids_of_another_boot_are_nobodys(base):
    run = Run("one")
    run.lock()
    run.save(machines={"n1": {"holder": [os.getpid(), process.of(os.getpid()).started]}})
    assert [p.pid for p in run.processes()] == [os.getpid()]
    run.state["boot"] = "another"
    assert run.processes() == []


def test_a_reader_sees_a_whole_record(base):
    run = Run("one")
    run.lock()
    run.save(slot=3)
    assert json.loads((base / "one/state.json").read_text())["slot"] == 3
    assert not [path for path in (base / "one").iterdir() if path.name.startswith(".state")]


def test_two_checkouts_have_different_runs(tmp_path):
    names = {runs.default_name(tmp_path / "a"), runs.default_name(tmp_path / "b")}
    assert len(names) == 2
    assert all(runs.NAME.fullmatch(name) for name in names)
