# SPDX-License-Identifier: Apache-2.0
"""The page of figures: what it says of given ones; and that the measuring program measures, whatever the times."""

from __future__ import annotations

import datetime
import sys

import pytest

from tests.bench import cluster, cold, library, report
from tests.bench.library import Figure
from tests.harness.progress import Progress

FIGURES = [Figure("dlopen", 80_000, 600_000), Figure("MemoryInfo", 4.25, 238), Figure("threads", 1, 7)]


@pytest.mark.unit
def test_a_table_with_ratios():
    assert report.table(FIGURES, "another") == [
        "| | gpu-sim | another | times |",
        "|---|---:|---:|---:|",
        "| dlopen, ns | 80,000 | 600,000 | 7.5 |",
        "| nvmlDeviceGetMemoryInfo, ns | 4.2 | 238 | 56 |",
        "| threads of a client | 1 | 7 | 7 |",
    ]


@pytest.mark.unit
def test_a_table_without_another_library():
    alone = [Figure(one.name, one.ours, None) for one in FIGURES]
    assert report.table(alone, None)[2:] == [
        "| dlopen, ns | 80,000 |",
        "| nvmlDeviceGetMemoryInfo, ns | 4.2 |",
        "| threads of a client | 1 |",
    ]


@pytest.mark.unit
def test_a_column_for_each_run():
    assert report.runs([["up", "9.8 s", "9.1 s"], ["down", "2.1 s", "2.2 s"]]) == [
        "| | run 1 | run 2 |",
        "|---|---:|---:|",
        "| up | 9.8 s | 9.1 s |",
        "| down | 2.1 s | 2.2 s |",
    ]


@pytest.mark.unit
def test_usable_is_counted_from_helms_start():
    parts = {"1 node": 0.5, "helm upgrade": 0.25, "8 GPUs usable": 4.0, "a pod with one GPU": 2.0}
    assert cluster.until_usable(parts) == 4.25


@pytest.mark.unit
def test_the_parts_of_a_first_time_are_those_that_progress_printed(capsys):
    progress = Progress(stream=sys.stdout, live=False)
    with progress.step("[2/5] containerd 2.2.9, build"):
        pass
    with progress.step("something else"):
        pass
    found = cold.steps(["gpu-sim: preparing upstream programs", *capsys.readouterr().out.splitlines()])
    assert [title for title, _ in found] == ["– containerd 2.2.9, build"]
    assert found[0][1].endswith(" s")


@pytest.mark.unit
def test_the_page_says_when_and_where():
    page = report.document({"One": ["x"], "Two": ["y"]}, datetime.date(2031, 2, 3)).splitlines()
    assert page[0] == "# Benchmarks"
    assert page[5].startswith("Taken 2031-02-03 on ")
    assert page[-7:] == ["## One", "", "x", "", "## Two", "", "y"]


@pytest.mark.native
def test_every_figure_is_measured(tmp_path, native, monkeypatch):
    monkeypatch.setattr(library, "TURNS", 1)
    monkeypatch.setattr(library, "ROUNDS", 100)
    ours = native / "libnvidia-ml-mock.so"
    figures = {one.name: one for one in library.compare(library.client(tmp_path), ours, ours)}
    assert set(figures) == set(library.NAMES)
    assert figures["threads"].ours == 1
    assert figures["size_kib"].ours == figures["size_kib"].other == ours.stat().st_size / 1024
    assert all(one.ours > 0 and one.other > 0 for one in figures.values())
