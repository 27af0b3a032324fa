# SPDX-License-Identifier: Apache-2.0
"""The probe that test pods run, here on this machine with the library on the loader's path."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.harness import go_build

pytestmark = pytest.mark.native


def probe(native: Path, *words: str, **environment: str) -> subprocess.Popen:
    variables = {"LD_LIBRARY_PATH": str(native), **environment}
    return subprocess.Popen(
        [go_build.probe(), *words], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_prints_what_it_sees(native: Path) -> None:
    process = probe(
        native, NVML_MOCK_DEVICE_COUNT="3", NVML_MOCK_MEMORY_SIZE_MB="12345", NVML_MOCK_DEVICE_NAME='A "B" \\ C'
    )
    out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, "")
    seen = json.loads(out)
    assert seen["count"] == 3
    assert [gpu["minor"] for gpu in seen["gpus"]] == [0, 1, 2]
    assert {gpu["memory_mib"] for gpu in seen["gpus"]} == {12345}
    assert {gpu["name"] for gpu in seen["gpus"]} == {'A "B" \\ C'}
    assert len({gpu["uuid"] for gpu in seen["gpus"]} | {gpu["bus_id"] for gpu in seen["gpus"]}) == 6


def test_no_gpus(native: Path) -> None:
    out, _ = probe(native, NVML_MOCK_DEVICE_COUNT="0").communicate(timeout=20)
    assert json.loads(out) == {"count": 0, "gpus": []}


def test_sleeps_until_it_is_told_to_end(native: Path) -> None:
    process = probe(native, "--sleep", "600", NVML_MOCK_DEVICE_COUNT="2")
    assert json.loads(process.stdout.readline())["count"] == 2
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(2) == 0
    process.communicate()


def test_says_what_fails(native: Path, tmp_path: Path) -> None:
    process = probe(tmp_path)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "nvml-probe: libnvidia-ml.so.1: " in err
    process = probe(native, NVML_MOCK_DEVICE_COUNT="four")
    _, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "nvml-probe: nvmlInit_v2: " in err
    process = probe(native, "--sleep", "long")
    _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert "got long" in err
