# SPDX-License-Identifier: Apache-2.0
"""`make up` asks the chart about values before it makes or changes a cluster."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.harness import cli, preflight, providers, runs, up
from tests.harness.helm import Helm

pytestmark = pytest.mark.helm


@pytest.fixture
def touched(tmp_path, monkeypatch, helm_program) -> list[str]:
    """What was done to clusters; `up` would make an embedded one, of which nothing is real but helm."""
    done: list[str] = []
    for name in ("BRANCH", "VALUES", "NODES", "NAME", "DEDICATED", "PROVIDER", "FEATURE_GATES", "SCHEDULER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GPU_SIM_RUN_DIR", str(tmp_path / "runs"))
    monkeypatch.setattr(providers, "choose", lambda asked: ("embedded", "a test"))
    monkeypatch.setattr(providers, "programs", lambda name, progress: {"helm": helm_program})
    monkeypatch.setattr(preflight, "require", lambda **_: None)
    monkeypatch.setattr(up, "archives", lambda *_: [])
    monkeypatch.setattr(up.embedded, "start", lambda *_, **__: done.append("start"))
    return done


@pytest.fixture
def wrong(tmp_path) -> Path:
    file = tmp_path / "wrong.yaml"
    file.write_text('gpuSim:\n  deviceCount: "7"\n')
    return file


def test_wrong_values_start_nothing(touched, wrong, capsys):
    assert cli.main(["up", "--values", str(wrong)]) == 1
    assert "at '/gpuSim/deviceCount': got string, want integer" in capsys.readouterr().err
    assert touched == []
    assert not runs.base().exists()


def test_right_values_start_one(touched, wrong, monkeypatch):
    wrong.write_text("gpuSim:\n  deviceCount: 7\n")
    monkeypatch.setattr(up.Up, "_note_images", lambda *_: None)
    monkeypatch.setattr(up.Up, "release", lambda *_: touched.append("release"))
    monkeypatch.setattr(up.Up, "finish", lambda *_: None)
    assert cli.main(["up", "--values", str(wrong)]) == 0
    assert touched == ["start", "release"]


def test_wrong_values_change_no_cluster_that_is_up(touched, wrong, monkeypatch, helm_program, capsys):
    there = SimpleNamespace(provider="embedded", helm=Helm(helm_program))
    monkeypatch.setattr(runs.Run, "running", True)
    monkeypatch.setattr(providers, "attach", lambda *_: there)
    monkeypatch.setattr(up.embedded, "EmbeddedCluster", SimpleNamespace)
    monkeypatch.setattr(up.Up, "_changed", lambda *_: touched.append("changed"))
    assert cli.main(["up", "--nodes", "3", "--values", str(wrong)]) == 1
    assert "at '/gpuSim/deviceCount': got string, want integer" in capsys.readouterr().err
    assert touched == []
