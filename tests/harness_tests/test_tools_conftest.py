# SPDX-License-Identifier: Apache-2.0
"""The rules of tests/conftest.py, on small test files of their own."""

import os
import subprocess
import sys
import textwrap

import pytest

from tests.harness.versions import CHECKOUT

pytestmark = pytest.mark.unit


@pytest.fixture
def session(tmp_path):
    """Runs pytest with our conftest on the given test file."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  unit\n  native\n  helm\n  cluster\n")

    def run(text, **environment):
        (tmp_path / "test_it.py").write_text("import pytest\nfrom tests.harness import needs\n" + textwrap.dedent(text))
        argv = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-rA", "-v"]
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("GPU_SIM_", "PYTEST_"))}
        done = subprocess.run(
            [*argv, "-c", tmp_path / "pytest.ini", "--rootdir", tmp_path, tmp_path / "test_it.py"],
            cwd=tmp_path,
            env={**clean, "PYTHONPATH": str(CHECKOUT), **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_a_test_without_a_marker_is_an_error(session):
    code, said = session("""
        @pytest.mark.unit
        def test_marked(): pass
        def test_forgotten(): pass
    """)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "tests without one of the markers unit, native, helm, cluster:\n  test_it.py::test_forgotten\n" in said


def test_lower_rungs_run_first(session):
    code, said = session("""
        @pytest.mark.cluster
        def test_a(): pass
        @pytest.mark.helm
        def test_b(): pass
        @pytest.mark.unit
        def test_c(): pass
        @pytest.mark.native
        def test_d(): pass
    """)
    order = [line.split("::")[1][:6] for line in said.splitlines() if "::" in line and "%]" in line]
    assert code == 0 and order == ["test_c", "test_d", "test_b", "test_a"]


SKIPS = """
    pytestmark = pytest.mark.cluster
    def test_real(): needs.skip("real-plugin", "no archive of it")
    @pytest.mark.skip(reason="not today")
    def test_other(): pass
    @pytest.mark.xfail(reason="upstream")
    def test_expected(): assert False
"""


def test_skips_are_listed_with_their_reasons(session):
    code, said = session(SKIPS)
    assert code == 0 and "2 skipped, 1 xfailed" in said
    assert "needs real-plugin: no archive of it" in said and "not today" in said


@pytest.mark.parametrize(
    ("declared", "failed", "skipped"),
    [("real-plugin", ["test_real"], 1), ("cluster", ["test_other"], 1), ("all", ["test_real", "test_other"], 0),
     ("native, helm", [], 2)],
)  # fmt: skip
def test_a_skip_for_want_of_what_was_declared_present_fails(session, declared, failed, skipped):
    code, said = session(SKIPS, GPU_SIM_REQUIRE=declared)
    assert code == (1 if failed else 0)
    summary = [line for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    assert sorted(line.split("::")[1].split()[0] for line in summary) == sorted(failed)
    assert f"{skipped} skipped" in said or not skipped
    for name in failed:
        need = "real-plugin" if name == "test_real" else "cluster"
        assert f"::{name}: skipped (" in said and f"but GPU_SIM_REQUIRE declares {need} present" in said


def test_evidence_is_an_empty_folder_for_each_test(session, tmp_path):
    text = """
        pytestmark = pytest.mark.unit
        @pytest.mark.parametrize("n", ["a/b", "c"])
        def test_it(evidence, n):
            assert list(evidence.iterdir()) == []
            (evidence / "events").write_text(n)
    """
    assert session(text)[0] == 0
    assert session(text)[0] == 0  # what a former run left is gone
    kept = {path.name: (path / "events").read_text() for path in (tmp_path / "build" / "evidence").iterdir()}
    assert kept == {"test_it.py-test_it-a-b-": "a/b", "test_it.py-test_it-c-": "c"}


def test_the_header_names_the_device_plugin(session):
    assert "device plugin: " in session("@pytest.mark.unit\ndef test_it(): pass")[1]
