# SPDX-License-Identifier: Apache-2.0
"""The plugin under test, and a node of three GPUs to start it on.

It is the stand-in; or NVIDIA's own program, which must pass the same tests, when DEVICE_PLUGIN_PROGRAM names it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness import go_build, needs
from tests.plugin.stage import DRIVER, Stage, driver_root

GPUS = 3


@pytest.fixture(scope="session")
def program() -> Path:
    given = os.environ.get("DEVICE_PLUGIN_PROGRAM")
    return Path(given) if given else go_build.standin()


@pytest.fixture
def only_the_stand_in() -> None:
    if os.environ.get("DEVICE_PLUGIN_PROGRAM"):
        needs.skip("stand-in", "NVIDIA's own program is being tested")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Stage(tmp_path) as stage:
        yield stage


@pytest.fixture
def start(stage: Stage, program: Path, native: Path, tmp_path: Path) -> Callable[..., list[str]]:
    """Starts the plugin on a node of three GPUs; the UUIDs, in order of index."""
    root = driver_root(tmp_path / "driver", native / "libnvidia-ml-mock.so", GPUS)
    inventory = root / f"usr/lib64/libnvidia-gpu-sim.so.{DRIVER}"
    subprocess.run([native / "tests/inventory_tool", inventory, "build", "--count", str(GPUS)], check=True)

    def started(**environment: str) -> list[str]:
        stage.plugin(program, CONTAINER_DRIVER_ROOT=str(root), NVIDIA_DRIVER_ROOT="/on/host", **environment)
        stage.expect("devices")
        listed = subprocess.run([go_build.client(), "-library", root / "usr/lib64/libnvidia-ml.so.1", "devices"],
                                check=True, capture_output=True, text=True)  # fmt: skip
        return [gpu["uuid"] for gpu in json.loads(listed.stdout)]

    started.root, started.inventory = root, inventory
    return started
