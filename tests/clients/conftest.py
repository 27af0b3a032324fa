# SPDX-License-Identifier: Apache-2.0
"""A driver root for each test: `root(count=3, profile="tesla-t4")`."""

from __future__ import annotations

import itertools

import pytest

from tests.clients.driver_root import DriverRoot


@pytest.fixture
def root(tmp_path, native):
    number = itertools.count()
    return lambda **options: DriverRoot(tmp_path / f"root-{next(number)}", native, **options)
