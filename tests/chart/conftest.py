# SPDX-License-Identifier: Apache-2.0
"""What the chart's tests share. HELM names the helm to use; without it the harness's pinned one is taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.chart.api_server import ApiServer
from tests.chart.rendering import Charts
from tests.chart.server_install import Install


@pytest.fixture(scope="session")
def chart(request: pytest.FixtureRequest) -> Charts:
    named = os.environ.get("HELM")
    return Charts(Path(named) if named else request.getfixturevalue("helm_program"))


@pytest.fixture
def api_server():
    """A Kubernetes API with just enough in it for helm to look something up."""
    with ApiServer() as server:
        yield server


@pytest.fixture
def install(chart: Charts, api_server: ApiServer, tmp_path: Path) -> Install:
    return Install(chart, api_server, tmp_path)
