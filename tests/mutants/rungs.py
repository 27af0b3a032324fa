# SPDX-License-Identifier: Apache-2.0
"""How the tests of one rung are run in a tree, and what their result means for a mutant.

Called by __main__. What must stay true: only a test that ran and failed kills a mutant; a build that breaks, a test
that cannot be collected or a skip is the catalogue's fault and is reported as such.
"""

import os
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from tests.harness.command import CommandError, display, run

# The copy's own packages, never the checkout's; and no byte code, which would hide an edit of the same second and size.
PYTHON = {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
LIMIT_S = {"native": 300, "generator": 120, "helm": 180, "cluster": 900}


@dataclass(frozen=True)
class Outcome:
    """What one run of pytest said: `kind` is green, red or broken; `detail` is what to show a person."""

    kind: str
    detail: str


def _run(argv: list[str], tree: Path, limit_s: int) -> tuple[int, str]:
    """Exit code and what to show a person."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    try:
        done = run(argv, cwd=tree, extra={"PATH": path, **PYTHON}, timeout=limit_s, check=False)
    except CommandError as error:
        return 124, str(error)
    said = (done.out + done.err).strip().splitlines()
    return done.code, "\n".join([f"$ {display(argv, tree)}", *said[-60:]])


def _counts(report: Path) -> tuple[int, int, list[str]]:
    """Tests that ran, tests skipped, and the names of those that failed with their own verdict."""
    ran = skipped = 0
    failed = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("skipped") is not None:
            skipped += 1
            continue
        ran += 1
        if case.find("failure") is not None:
            failed.append(case.get("name", "?"))
    return ran, skipped, failed


def run_tests(rung: str, tests: list[str], tree: Path) -> Outcome:
    """Runs exactly `tests` in `tree`; what they need is built there by their own fixtures."""
    report = tree / "build" / "mutants.xml"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    code, said = _run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"--junitxml={report}", *tests],
        tree, LIMIT_S[rung],
    )  # fmt: skip
    if code not in (0, 1) or not report.is_file():
        return Outcome("broken", f"pytest could not run the tests, exit {code}\n{said}")
    ran, skipped, failed = _counts(report)
    if code == 0 and (skipped or not ran):
        return Outcome("broken", f"{ran} tests ran and {skipped} were skipped; a skipped test proves nothing\n{said}")
    if code == 0:
        return Outcome("green", f"{ran} tests passed")
    if not failed:
        return Outcome("broken", f"pytest is red, but no test failed by itself\n{said}")
    return Outcome("red", ", ".join(failed))
