# SPDX-License-Identifier: Apache-2.0
"""Two versions of the real nvidia-smi, for each test; where they cannot be had, a skip that says why."""

from __future__ import annotations

import itertools
import platform
from pathlib import Path

import pytest

from tests.clients.driver_root import DriverRoot
from tests.clients.smi.program import Smi
from tests.harness import debian_packages, needs, nvidia_smi


def fetch(suite: str) -> tuple[Path, str]:
    """A program and its version."""
    if platform.machine() != "x86_64":
        needs.skip("x86_64", "the tests' nvidia-smi is built for it")
    try:
        return nvidia_smi.program(suite)
    except debian_packages.UnavailableError as error:
        needs.skip("nvidia-smi", str(error))


@pytest.fixture(scope="session", params=nvidia_smi.SUITES)
def fetched(request):
    return fetch(request.param)


@pytest.fixture(scope="session")
def newest():
    """The version whose format ours has."""
    return fetch(nvidia_smi.SUITES[-1])


@pytest.fixture
def root(tmp_path, native):
    """A driver root for each test, inside of a node's root, so that `gpu-sim ctl` knows it."""
    number = itertools.count()
    return lambda **options: DriverRoot(tmp_path / f"root-{next(number)}" / "driver", native, **options)


@pytest.fixture
def smi(fetched, root):
    """On two A100, the first with a process."""
    smi = Smi(*fetched, root, count=2)
    smi.driver.process(0, 4242, 1, 1 << 30, "/usr/bin/train")
    return smi
