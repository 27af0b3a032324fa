# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's Go libraries as clients of the library. They accept only what a real driver may answer."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.harness import go_build

pytestmark = pytest.mark.native


def ask(native: Path, *words: str, **environment: object) -> object:
    variables = {f"NVML_MOCK_{name}": str(value) for name, value in environment.items()}
    argv = [go_build.client(), "-library", native / "libnvidia-ml-mock.so", *words]
    done = subprocess.run(argv, env=variables, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("count", "profile", "name", "memory", "capability", "architecture", "mig"),
    [
        (3, "a100-sxm4-40gb", "NVIDIA A100-SXM4-40GB", 40960, "8.0", "Ampere", True),
        (5, "h100-80gb-hbm3", "NVIDIA H100 80GB HBM3", 81559, "9.0", "Hopper", True),
        (2, "tesla-t4", "Tesla T4", 15360, "7.5", "Turing", False),
    ],
)
def test_devices(native: Path, count: int, profile: str, name: str, memory: int, capability: str,
                 architecture: str, mig: bool) -> None:  # fmt: skip
    gpus = ask(native, "devices", DEVICE_COUNT=count, PROFILE=profile)
    assert [gpu["index"] for gpu in gpus] == list(range(count))
    assert len({gpu["uuid"] for gpu in gpus}) == count
    for gpu in gpus:
        assert (gpu["name"], gpu["memory_mib"]) == (name, memory)
        assert (gpu["compute_capability"], gpu["architecture"]) == (capability, architecture)
        # Each is an error in go-nvlib unless the library says yes or "not supported".
        assert (gpu["mig_capable"], gpu["mig_enabled"]) == (mig, False)
        assert (gpu["fabric_attached"], gpu["coherent"]) == (False, False)
        assert gpu["processes"] == [0, 0, 0]


def test_process_lists_that_outgrow_the_first_question(native: Path, root) -> None:
    """go-nvml asks with room for one process and doubles it for as long as it is told that there are more."""
    driver = root(count=3)
    for slot, kinds in ((1, (1,)), (2, (1, 1, 1, 2, 2, 4))):
        for number, kind in enumerate(kinds):
            driver.process(slot, 4000 + number, kind, 1 << 30, "train")
    argv = [go_build.client(), "-library", driver.libraries / "libnvidia-ml.so.1", "devices"]
    done = driver.run(argv)
    assert done.returncode == 0, done.stderr
    assert [gpu["processes"] for gpu in json.loads(done.stdout)] == [[0, 0, 0], [1, 0, 0], [3, 2, 1]]


def test_links_are_complete_and_symmetric(native: Path) -> None:
    table = ask(native, "links", DEVICE_COUNT=6)
    assert sorted(table) == [str(i) for i in range(6)]
    for one, others in table.items():
        assert sorted(others) == [i for i in sorted(table) if i != one], "a pair without any link"
        for other, links in others.items():
            assert links == table[other][one]


@pytest.mark.parametrize("milliseconds", [0, 130, 700])
def test_wait_for_an_event_sleeps_and_times_out(native: Path, milliseconds: int) -> None:
    seen = ask(native, "wait", str(milliseconds), DEVICE_COUNT=2)
    assert seen["code"] == 10
    assert milliseconds <= seen["waited_ms"] < milliseconds + 500
    assert [mask & 8 for mask in seen["supported"]] == [8, 8], "Xid events are what the device plugin registers for"


def test_a_thousand_openings(native: Path) -> None:
    seen = ask(native, "cycle", "1000", DEVICE_COUNT=7)
    assert (seen["count"], seen["rounds"]) == (7, 1000)
    half, end = seen["mappings"]
    assert end <= half + 2, "mappings pile up"


def test_go_tests() -> None:
    go_build.test(go_build.CLIENTS / "go")
    go_build.test(go_build.PLUGIN)
