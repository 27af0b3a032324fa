# SPDX-License-Identifier: Apache-2.0
"""Where the library fails as a whole, or tells of no GPU, ours says and answers what the real nvidia-smi does."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.clients.smi.program import Smi

pytestmark = pytest.mark.native
UUID = "GPU-00000000-0000-0000-0000-000000000000"
VIEWS = [
    [], ["-L"], ["-q"], ["-q", "-x"], ["-q", "-u"], ["topo", "-m"], ["topo", "-mp"], ["--version"], ["-B"],
    ["--query-gpu=index,driver_version,count", "--format=csv"], ["--query-compute-apps=pid", "--format=csv"],
    ["-i", "1"], ["-i", "7"], ["-i", ","], ["-i", UUID], ["-i", "1", "-q"], ["-i", "4e56:02:00.0", "-q", "-x"],
    ["-pm", "0"], ["--query-gpu=nosuch", "--format=csv"],
]  # fmt: skip
CODES = (
    "UNKNOWN", "NOT_SUPPORTED", "NO_PERMISSION", "GPU_IS_LOST", "NOT_FOUND", "IRQ_ISSUE", "RESET_REQUIRED",
    "INSUFFICIENT_POWER", "TIMEOUT", "UNINITIALIZED",
)  # fmt: skip


def faulty(smi: Smi, function: str) -> dict[str, str]:
    """By code and line: where the two differ."""
    found = {}
    for code in CODES:
        smi.ctl("fault", function, code)
        found |= {f"{code} {line}": text for line, text in smi.differing(VIEWS).items()}
        smi.ctl("clear", "--gpu", "all")
    return found


@pytest.fixture
def two(newest, root):
    return Smi(*newest, root, count=2)


@pytest.mark.parametrize(
    "function",
    ["nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion",
     "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion", "nvmlInitWithFlags", "nvmlInit_v2"],
)  # fmt: skip
def test_a_function_of_the_node_fails(two, function):
    assert faulty(two, function) == {}


def test_what_failures_look_like(two):
    """So that the comparison above is not one of two programs that see no fault."""
    two.ctl("fault", "nvmlSystemGetCudaDriverVersion_v2", "UNKNOWN")
    assert "CUDA Version: ERR! " in two.run_ours().stdout
    two.ctl("fault", "nvmlDeviceGetCount_v2", "UNKNOWN")
    done = two.run_ours("-L")
    assert (done.returncode, done.stdout) == (255, "Unable to determine the number of available GPUs: Unknown Error\n")


def rounds(smi: Smi, program: Path, words: list[str]) -> int:
    """How often it has asked a second after its first answer."""
    line = [str(program), *words, "--query-gpu=index", "--format=csv,noheader", "-i", "0"]
    environment = {"LD_LIBRARY_PATH": str(smi.driver.libraries)}
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environment) as process:
        first = process.stdout.readline()
        assert first == "0\n", f"{words}: {first}"
        time.sleep(1)
        process.kill()
        return 1 + process.stdout.read().count("\n")


@pytest.mark.parametrize(
    ("words", "least", "most"),
    [
        (["-l", "1e3"], 1, 1), (["-l", "1x"], 1, 1), (["-l"], 1, 1), (["-l", "9999999"], 1, 1), (["-lms", "300"], 2, 5),
        (["-lms", "0x190"], 2, 4), (["-lms", "1e3"], 4, 12), (["-lms"], 4, 12), (["-lms", "4294967297"], 4, 12),
    ],
)  # fmt: skip
def test_how_often(two, words, least, most):
    for program in (two.program, two.our_program):
        assert least <= rounds(two, program, words) <= most, program
