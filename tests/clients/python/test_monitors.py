# SPDX-License-Identifier: Apache-2.0
"""gpustat and nvitop, unmodified: no GPU is missing for want of an answer, and what is not there says so."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.harness import cache, command, needs

pytestmark = pytest.mark.native

# With what they need beside this environment's nvidia-ml-py; in a folder of their own, since they serve one test file.
PACKAGES = ("gpustat==1.1.1", "nvitop==1.7.2", "psutil==7.2.2", "blessed==1.52.0", "jinxed==2.1.0", "wcwidth==0.9.4")
PROFILES = {"a100-sxm4-40gb": ("NVIDIA A100-SXM4-40GB", 40960, 33, 49, 400),
            "h100-80gb-hbm3": ("NVIDIA H100 80GB HBM3", 81559, 29, 68, 700),
            "tesla-t4": ("Tesla T4", 15360, 33, 33, 70)}  # fmt: skip


def install(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command.run([*pip, "--target", folder, *PACKAGES], timeout=180)


@pytest.fixture(scope="module")
def monitors() -> dict[str, str]:
    """The environment in which they are found."""
    try:
        folder = cache.entry("monitors", cache.digest(sys.version, *PACKAGES), install)
    except command.CommandError as error:
        needs.skip("pypi", str(error))
    return {"PYTHONPATH": str(folder), "TERM": "dumb"}


@pytest.mark.parametrize("profile", PROFILES)
def test_gpustat_shows_every_gpu_of_every_profile(root, monitors, profile):
    name, mib, temperature, power, limit = PROFILES[profile]
    driver = root(count=3, profile=profile)
    driver.process(1, os.getpid(), 1, 2 << 30, "pytest")
    driver.tool("set", 2, "utilization", 30)
    result = driver.run([sys.executable, "-m", "gpustat", "--json"], **monitors)
    assert result.returncode == 0, result.stderr
    gpus = json.loads(result.stdout)["gpus"]
    assert [gpu["index"] for gpu in gpus] == [0, 1, 2]
    assert gpus[0] == {
        "index": 0,
        "uuid": gpus[0]["uuid"],
        "name": name,
        "temperature.gpu": temperature,
        "fan.speed": None,  # passive boards
        "utilization.gpu": 0,
        "utilization.enc": 0,
        "utilization.dec": 0,
        "power.draw": power,
        "enforced.power.limit": limit,
        "memory.used": 0,
        "memory.total": mib,
        "processes": [],
    }
    assert [process["pid"] for process in gpus[1]["processes"]] == [os.getpid()]
    assert gpus[1]["memory.used"] == 2048
    assert gpus[2]["utilization.gpu"] == 30
    assert power < gpus[2]["power.draw"] < limit


# As nvitop writes a board's name and memory.
NVITOP = {"a100-sxm4-40gb": ("A100-SXM4-40GB", "40.00GiB"), "h100-80gb-hbm3": ("H100 80GB HBM3", "79.65GiB"),
          "tesla-t4": ("Tesla T4", "15360MiB")}  # fmt: skip


@pytest.mark.parametrize("profile", NVITOP)
def test_nvitop_shows_every_gpu_of_every_profile(root, monitors, profile):
    (short, memory), (_, _, temperature, power, limit) = NVITOP[profile], PROFILES[profile]
    driver = root(count=3, profile=profile)
    driver.process(2, os.getpid(), 1, 1 << 30, "pytest")
    result = driver.run([sys.executable, "-m", "nvitop", "-1", "--ascii"], **monitors)
    assert result.returncode == 0, result.stderr
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert [line.split()[1] for line in lines if short in line] == ["0", "1", "2"]
    board = f"N/A {temperature}C P0 {power + 1}W / {limit}W"  # it rounds up
    usage = [line for line in lines if f"{limit}W" in line]
    assert usage == [f"| {board} | {used} / {memory} | 0% Default |" for used in ("0B", "0B", "1024MiB")]
    assert any(line.split()[1:4] == ["2", str(os.getpid()), "C"] for line in lines)
