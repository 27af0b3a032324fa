# SPDX-License-Identifier: Apache-2.0
"""Rungs of the ladder, honest skips, evidence, and what every test may ask for.

A test says by its marker what it needs: unit, native, helm or cluster; one without is an error. Lower rungs run first.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.harness import native_dir, needs, plugin_image, toolchain

EVIDENCE = Path("build/evidence")


def rung(item: pytest.Item) -> str | None:
    return next((name for name in needs.MARKERS if item.get_closest_marker(name)), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    unmarked = [item.nodeid for item in items if rung(item) is None]
    if unmarked:
        marks = ", ".join(needs.MARKERS)
        raise pytest.UsageError("\n  ".join([f"tests without one of the markers {marks}:", *unmarked]))
    items.sort(key=lambda item: needs.MARKERS.index(rung(item)))


def pytest_report_header(config: pytest.Config) -> list[str]:
    lines = [f"device plugin: {device_plugin()}"]
    if needs.required():
        lines.append(f"declared present (a skip for want of it fails): {', '.join(sorted(needs.required()))}")
    return lines


def device_plugin() -> str:
    """Which of the three images the cluster tests would use, in the provider's words."""
    try:
        return plugin_image.describe()
    except plugin_image.PluginImageError as error:
        return f"none, {error}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        need = needs.need_of(reason, rung(item))
        if needs.must_be_present(need):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid}: skipped ({reason}), but GPU_SIM_REQUIRE declares {need} present"
    return report


@pytest.fixture
def evidence(request: pytest.FixtureRequest) -> Path:
    """An empty folder of this test, for what a reader of a failure wants: objects, events, logs. It is kept."""
    folder = EVIDENCE / re.sub(r"[^\w.-]+", "-", request.node.nodeid.removeprefix("tests/"))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(scope="session")
def helm_program() -> Path:
    """The pinned helm."""
    return toolchain.programs(["helm"])["helm"]


@pytest.fixture(scope="session")
def native() -> Path:
    """build/native, made with this machine's compiler and up to date."""
    return native_dir.build()
