# SPDX-License-Identifier: Apache-2.0
"""The cluster of these tests: started once, with its own name, and checked for leftovers when it is gone.

GPU_SIM_TEST_PROVIDER=kind or current runs the same tests elsewhere (current: NODE_NAMES=a,b); GPU_SIM_TEST_RUN=<name>
uses a run of `make cluster NODES=2` and leaves it. A failed test's evidence is taken before its fixtures clean up.
"""

from __future__ import annotations

import importlib.util
import os

import pytest

from tests.harness import current, evidence, images, kind, needs, plugin_image, preflight, providers, runs, up
from tests.harness.embedded import clean, provider
from tests.harness.progress import Progress
from tests.harness.runs import Run

if importlib.util.find_spec("tests.e2e.fixtures"):
    from tests.e2e.fixtures import *  # noqa: F403

NODES = 2


@pytest.fixture(scope="session")
def cluster():
    """Two labelled nodes without a release; images of ours and the device plugin's are loaded."""
    progress = Progress(live=False)
    name = os.environ.get("GPU_SIM_TEST_RUN")
    if name:
        yield providers.attach(runs.find(name) or Run(name), progress)
        return
    where = os.environ.get("GPU_SIM_TEST_PROVIDER") or "embedded"
    run = Run(f"test-{os.getpid()}")
    if where == "embedded":
        yield from _embedded(run, progress)
        return
    run.lock()
    programs = providers.programs(where, progress)
    if where == "kind":
        archives = [*up.archives("kind", progress), images.archive("probe")]
        settings = {"labels": provider.LABELS, "feature_gates": {}}
        made = kind.start(run, NODES, settings, None, archives, programs, progress)
    else:
        made = current.start(run, os.environ.get("NODE_NAMES", "").split(","), programs)
    yield made
    made.stop()


def _embedded(run: Run, progress: Progress):
    try:
        preflight.require(state=runs.base(), say=progress.say)
    except preflight.NotHereError as error:
        needs.skip("cluster", "; ".join(error.problems))
    archives = [*up.archives("embedded", progress), images.archive("probe")]
    made = provider.start(run.name, NODES, images=archives, transient=True, progress=progress, run=run)
    yield made
    state = made.run.state
    made.stop()
    left = clean.leftovers(run.name, state)
    assert not left, "the cluster left behind: " + "; ".join(left)


@pytest.fixture(scope="session")
def node_a(cluster) -> str:
    return cluster.nodes[0]


@pytest.fixture(scope="session")
def node_b(cluster) -> str:
    return cluster.nodes[1]


@pytest.fixture
def real_plugin(cluster) -> None:
    """For what only NVIDIA's own plugin can show."""
    choice = plugin_image.choose(cluster.provider)
    if not choice.real:
        needs.skip("real-plugin", f"this cluster runs {choice.source}")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    there = getattr(item, "funcargs", {}).get("cluster")
    if report.failed and call.when in ("setup", "call") and there is not None:
        folder = evidence.collect(there, evidence.folder_of(item.nodeid))
        report.sections.append(("evidence", str(folder)))
    return report
