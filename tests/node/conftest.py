# SPDX-License-Identifier: Apache-2.0
"""The built program and library, and an empty root, for every test of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.bundle import Bundle
from tests.node.fake_plugin import Plugin, plugin
from tests.node.node_root import NodeRoot


@pytest.fixture
def node(native: Path, tmp_path: Path) -> NodeRoot:
    return NodeRoot(native / "gpu-sim", (native / "libnvidia-ml.so.1").resolve(), tmp_path / "gpu-sim")


@pytest.fixture
def bundle(node: NodeRoot, tmp_path: Path) -> Bundle:
    return Bundle(node, tmp_path)


@pytest.fixture
def beside(node: NodeRoot) -> Iterator[Plugin]:
    """A device plugin, not started yet, beside a node of eight GPUs."""
    node.install(8)
    with plugin(node.path) as running:
        yield running
