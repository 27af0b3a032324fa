# SPDX-License-Identifier: Apache-2.0
"""Every function of the header: before an init, with nothing, with a handle that is none, and on a lost GPU."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.versions import CHECKOUT
from tests.native import header

pytestmark = pytest.mark.native

SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, LOST = 0, 1, 2, 3, 15
NO_INVENTORY = {"NVML_MOCK_DEVICE_COUNT": "2"}


def kind(type_name: str) -> str:
    """How a test passes a parameter of this type: by NULL or room where it is a pointer, else as zero."""
    if type_name == "nvmlDevice_t":
        return "device"
    return "pointer" if type_name.endswith("*") else "value"


@pytest.fixture(scope="module")
def free() -> set[str]:
    """They begin, end or explain an init, or look through the driver's back door."""
    return header.exports().FREE | {"nvmlInternalGetExportTable"}


@pytest.fixture(scope="module")
def functions(native, free):
    return [one for one in header.functions(native) if one.name not in free]


def call(native: Path, mode: str, functions, environment: dict[str, str]) -> dict[str, tuple[int, bool]]:
    """Name → result, and whether anything was written."""
    lines = "".join(f"{one.name} {' '.join(kind(type_) for type_, _ in one.parameters)}\n" for one in functions)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NVML_MOCK")}
    done = subprocess.run(
        [sys.executable, CHECKOUT / "tests" / "native" / "every.py", native / "libnvidia-ml.so.1", mode],
        input=lines, capture_output=True, text=True, env={**clean, **environment}, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, f"after {done.stdout[-200:]}: {done.stderr}"
    rows = [line.split() for line in done.stdout.splitlines()]
    return {name: (int(result), written == "True") for name, result, written in rows}


def of_device(functions) -> list:
    return [one for one in functions if any(type_ == "nvmlDevice_t" for type_, _ in one.parameters)]


def test_before_an_init_each_says_uninitialized(native, functions):
    found = call(native, "uninitialized", functions, NO_INVENTORY)
    assert len(found) == len(functions)
    assert {name: result for name, (result, _) in found.items() if result != UNINITIALIZED} == {}


def test_a_handle_that_is_none_is_an_invalid_argument_and_nothing_is_written(native, functions):
    functions = of_device(functions)
    found = call(native, "stranger", functions, NO_INVENTORY)
    assert len(found) == len(functions)
    assert {name: got for name, got in found.items() if got != (INVALID_ARGUMENT, False)} == {}


def test_null_never_succeeds_where_something_was_asked_for(native, functions):
    optional = header.exports().OPTIONAL
    asking = [
        one for one in functions
        if any(kind(type_) == "pointer" and name not in optional for type_, name in one.parameters)
    ]  # fmt: skip
    found = call(native, "nothing", asking, NO_INVENTORY)
    assert {name: result for name, (result, _) in found.items() if result == SUCCESS} == {}


def handwritten(native: Path) -> set[str]:
    texts = "\n".join(file.read_text() for file in (CHECKOUT / "native" / "src").glob("*.c"))
    return {f"nvml{name}" for name in re.findall(r"\bgs([A-Z]\w+)\(", texts)}


def test_what_nobody_wrote_by_hand_says_not_supported_and_writes_nothing(native, functions):
    """FUNCTION_NOT_FOUND and UNKNOWN are faults to NVIDIA's libraries, and a success without an answer is a lie."""
    stubs = [one for one in functions if one.name not in handwritten(native)]
    assert len(stubs) > 100
    found = call(native, "device", stubs, NO_INVENTORY)
    assert {name: got for name, got in found.items() if got[0] == SUCCESS} == {}
    answers = {result for result, _ in found.values()}
    assert answers <= {NOT_SUPPORTED, INVALID_ARGUMENT}
    assert {name for name, (_, written) in found.items() if written} == set()


def test_a_lost_gpu_says_so_in_every_function_and_the_other_gpu_does_not(native, functions, tmp_path):
    inventory = tmp_path / "inventory"
    tool = native / "tests" / "inventory_tool"
    subprocess.run([tool, inventory, "build", "--count", "2"], check=True)
    environment = {"NVML_MOCK_INVENTORY": str(inventory)}
    devices = of_device(functions)
    healthy = call(native, "device", devices, environment)
    assert LOST not in {result for result, _ in healthy.values()}
    subprocess.run([tool, inventory, "set", "1", "lost", "1"], check=True)
    lost = call(native, "device", devices, environment)
    assert {name: got for name, got in lost.items() if got != (LOST, False)} == {}
    subprocess.run([tool, inventory, "set", "1", "lost", "0"], check=True)
    subprocess.run([tool, inventory, "set", "0", "lost", "1"], check=True)
    single = [one for one in devices if sum(type_ == "nvmlDevice_t" for type_, _ in one.parameters) == 1]
    other = call(native, "device", single, environment)
    assert LOST not in {result for result, _ in other.values()}
