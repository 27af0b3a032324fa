# SPDX-License-Identifier: Apache-2.0
"""The package as people install it: built, put into a fresh environment, and run from somebody else's repository."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.generator.conftest import REPOSITORY

pytestmark = [pytest.mark.helm, pytest.mark.timeout(600)]

# Nothing of this checkout or of the tests' own Python may be seen by the installed generator.
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV", "PIP_TARGET"))}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By way of the source archive, so that one is whole as well."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, REPOSITORY]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bin/ of a fresh virtual environment with the wheel and what it says that it needs."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    for command in (
        [sys.executable, "-m", "venv", folder],
        [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=CLEAN)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "bin"


@pytest.fixture
def elsewhere(folder: Path) -> Path:
    """Another project's repository, on a branch of its own."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch", "team/feature,1"], check=True)
    return folder


@pytest.fixture
def installed(environment: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*command: str) -> subprocess.CompletedProcess[str]:
        program, *arguments = command
        quiet = {key: value for key, value in CLEAN.items() if key in os.environ}
        return subprocess.run(
            [environment / program, *arguments], capture_output=True, text=True, check=False, env=quiet
        )

    return run


@pytest.mark.parametrize("program", [["gpu-sim-generator"], ["python", "-m", "generator"]], ids=lambda words: words[0])
def test_from_another_repository(installed, elsewhere: Path, helm, program: list[str]) -> None:
    ran = installed(*program, "--gpus", "5", "--profile", "tesla-t4")
    assert (ran.returncode, ran.stderr) == (0, "")
    (install,) = [line for line in ran.stdout.splitlines() if line.startswith("helm install")]
    _, _, release, chart, _, file = shlex.split(install)
    assert release.startswith("gpu-sim-team-feature-1-")
    assert (Path(chart) / "Chart.yaml").is_file()
    assert not Path(chart).is_relative_to(REPOSITORY)
    values = yaml.safe_load((elsewhere / file).read_text())
    assert values["branch"]["name"] == "team/feature,1"
    assert values["gpuSim"] == {"deviceCount": 5, "profile": "tesla-t4"}
    rendered = helm("template", release, chart, "-f", file, "--kube-version", "1.34.4")
    assert rendered.returncode == 0, rendered.stderr
    assert '"team/feature,1"' in rendered.stdout


def test_check_and_profiles_and_shipped_names(installed, elsewhere: Path) -> None:
    (elsewhere / "right.yaml").write_text("gpuSim: {deviceCount: 3}\n")
    (elsewhere / "wrong.yaml").write_text("gpuSim: {deviceCount: 65}\n")
    ran = installed("gpu-sim-generator", "check", "right.yaml", "wrong.yaml")
    assert (ran.returncode, ran.stdout) == (1, "right.yaml: ok\n")
    assert ran.stderr == "wrong.yaml:gpuSim.deviceCount: must be at most 64, got 65; give 1 to 64\n"
    listed = installed("gpu-sim-generator", "--list-profiles").stdout
    assert {line.split()[0] for line in listed.splitlines()[1:]} >= {"a100-sxm4-40gb", "h100-80gb-hbm3", "tesla-t4"}
    taken = installed("gpu-sim-generator", "--branch", "h100-x8")
    assert (taken.returncode, taken.stderr[:19]) == (1, "values/h100-x8.yaml")
    assert installed("gpu-sim-generator", "--version").stdout == "0.1.0\n"


def test_the_same_bytes_as_from_the_checkout(installed, elsewhere: Path, generate) -> None:
    options = ["--branch", "fix/a,b", "--gpus", "3", "--dedicated", "--stdout"]
    assert installed("gpu-sim-generator", *options).stdout == generate(*options).out


def test_the_wheel_carries_chart_profiles_and_values_as_they_are(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {name: archive.read(name) for name in archive.namelist() if name.startswith("generator/data/")}
    outside = {
        f"generator/data/{file.relative_to(REPOSITORY)}": file.read_bytes()
        for folder in ("charts/gpu-sim", "native/profiles", "values")
        for file in (REPOSITORY / folder).rglob("*")
        if file.is_file()
    }
    assert inside == outside


def test_the_package_needs_what_pyproject_pins(wheel: Path) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        lines = archive.read(name).decode().splitlines()
    needed = [line.split(": ")[1].lower() for line in lines if line.startswith("Requires-Dist") and "extra" not in line]
    assert sorted(needed) == sorted(word.lower() for word in project["dependencies"])
    assert all("==" in word for extra in project["optional-dependencies"].values() for word in extra)
