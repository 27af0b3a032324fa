# SPDX-License-Identifier: Apache-2.0
"""What the generator's tests share: a run of it in an empty directory with an empty environment, and the real helm.

HELM names the helm to use; without it the harness's pinned one is taken. Nothing is skipped for want of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from generator import branch, cli

REPOSITORY = Path(__file__).resolve().parents[2]
CHART = REPOSITORY / "charts" / "gpu-sim"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()

    def command(self, beginning: str) -> str:
        """The one printed command that begins so."""
        (line,) = [line for line in (self.out + self.err).splitlines() if line.startswith(beginning)]
        return line


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the CI system that runs these tests reaches the generator."""
    for system in branch.CI_SYSTEMS:
        for name in (*system.branch, *system.tag, "GITHUB_REF_TYPE", "GPU_SIM_DEBUG"):
            monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory of the test: empty, and in no git repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return tmp_path


@pytest.fixture
def generate(folder: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """The generator in this process, in `folder`. Usage errors leave by SystemExit: their code is taken."""

    def run(*arguments: str) -> Ran:
        capfd.readouterr()
        try:
            code = cli.main(list(arguments))
        except SystemExit as leaving:
            code = leaving.code
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return run


@pytest.fixture
def generate_apart(folder: Path) -> Callable[..., Ran]:
    """The generator as its own process, as people run it."""

    def run(*arguments: str, **more: object) -> Ran:
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY)} | more.pop("environment", {})
        command = [sys.executable, "-m", "generator", *arguments]
        done = subprocess.run(command, capture_output=True, check=False, env=environment, timeout=60, **more)
        return Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    return run


@pytest.fixture(scope="session")
def helm(request: pytest.FixtureRequest) -> Callable[..., subprocess.CompletedProcess[str]]:
    program = os.environ.get("HELM") or str(request.getfixturevalue("helm_program"))

    def run(*arguments: object, **more: object) -> subprocess.CompletedProcess[str]:
        command = [program, *(str(argument) for argument in arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **more)

    return run


@pytest.fixture(scope="session")
def helm_template(helm) -> Callable[..., list[dict]]:
    """The chart's objects for a release and a values file. A helm built from source calls itself Kubernetes 1.20."""

    def run(release: str, file: object) -> list[dict]:
        done = helm("template", release, CHART, "-f", file, "--kube-version", "1.34.4")
        assert done.returncode == 0, done.stderr
        return [document for document in yaml.safe_load_all(done.stdout) if document]

    return run


@pytest.fixture(scope="session")
def helm_reads(helm, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], object]:
    """What Helm makes of a values file's text; its error, as a string beginning with `Error`, where it refuses it."""
    chart = tmp_path_factory.mktemp("echo")
    (chart / "templates").mkdir()
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: echo\nversion: 0.1.0\n")
    (chart / "templates" / "values.yaml").write_text("values: {{ toJson .Values | quote }}\n")

    def read(text: str) -> object:
        file = chart / "given.txt"
        file.write_text(text, encoding="utf-8")
        done = helm("template", "echo", chart, "-f", file)
        return json.loads(yaml.safe_load(done.stdout)["values"]) if done.returncode == 0 else done.stderr

    return read
