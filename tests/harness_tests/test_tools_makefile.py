# SPDX-License-Identifier: Apache-2.0
"""The Makefile and the workflows: every target is explained, calls something that exists, and takes any value."""

import re
import subprocess
import sys

import pytest
import yaml

from tests.harness.versions import CHECKOUT

pytestmark = pytest.mark.unit
MAKEFILE = (CHECKOUT / "Makefile").read_text()
TARGETS = re.findall(r"^([a-z][a-z0-9-]*):", MAKEFILE, re.M)
WORKFLOWS = sorted((CHECKOUT / ".github" / "workflows").glob("*.yml"))


def make(*words, **environment):
    """With this Python instead of the bootstrap's."""
    done = subprocess.run(
        ["make", f"PY={sys.executable}", *words],
        cwd=CHECKOUT,
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


def test_help_explains_every_target_and_is_the_default():
    code, said, _ = make()
    assert code == 0 and said == make("help")[1]
    listed = re.findall(r"^  make ([a-z0-9-]+) +\S", said, re.M)
    assert sorted(listed) == sorted(TARGETS)


def test_every_target_is_phony():
    phony = " ".join(re.findall(r"^\.PHONY: (.*)", MAKEFILE, re.M)).split()
    assert sorted(phony) == sorted(TARGETS)


@pytest.mark.parametrize("module", sorted(set(re.findall(r"-m (tests[\w.]*)", MAKEFILE))))
def test_what_a_target_calls_is_there(module):
    path = CHECKOUT.joinpath(*module.split("."))
    assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


@pytest.mark.parametrize(
    "branch", ["feat-x", 'it\'s "quoted" ; id', "a b", "`id`", "a$HOME#$$b", "$(error run)", "${PATH},(x"]
)
def test_a_value_reaches_the_command_as_it_was_given(branch, tmp_path):
    show = tmp_path / "python"
    show.write_text('#!/bin/sh\nprintf "%s|%s|%s\\n" "$*" "$BRANCH" "$NAME"\n')
    show.chmod(0o755)
    # The computer's name, which WSL puts into NAME, is not taken for a run's.
    done = subprocess.run(
        ["make", "up", f"BRANCH={branch}", f"PY={show}"],
        cwd=CHECKOUT,
        env={"PATH": "/usr/bin:/bin", "NAME": "my-computer"},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == (f"-m tests.harness up|{branch}|\n", "")


def test_a_dollar_sign_survives_in_the_environment(tmp_path):
    show = tmp_path / "python"
    show.write_text('#!/bin/sh\nprintf "%s\\n" "$BRANCH"\n')
    show.chmod(0o755)
    assert make("up", f"PY={show}", BRANCH="a$HOME$(id)")[1] == "a$HOME$(id)\n"


def test_a_registry_must_be_named():
    code, _, said = make("push")
    assert code == 2 and "name one: make push REGISTRY=host/path" in said


def test_the_environment_is_made_only_by_recipes_that_need_it(tmp_path):
    """`make help` must work, and at once, on a machine where nothing can be prepared."""
    done = subprocess.run(
        ["make", "help", "PYTHON=/nonexistent/python3"], cwd=CHECKOUT, capture_output=True, text=True, timeout=10
    )
    assert done.returncode == 0 and done.stderr == ""
    done = subprocess.run(["make", "up", "PYTHON=/nonexistent/python3"], cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 2 and "the Python environment could not be made, see above" in done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_limits_and_few_rights(path):
    flow = yaml.safe_load(path.read_text())
    assert set(flow["permissions"].items()) <= {("contents", "read"), ("packages", "write")}
    assert flow[True]  # `on`, as YAML 1.1 reads it
    for name, job in flow["jobs"].items():
        assert 0 < job["timeout-minutes"] <= 90, name
        assert all(step.keys() & {"run", "uses"} for step in job["steps"]), name
        assert all(re.search(r"@v[\d.]+$", step["uses"]) for step in job["steps"] if "uses" in step), name


def test_every_hosted_job_has_a_line_on_the_page_of_platforms():
    page = (CHECKOUT / "docs" / "platforms.md").read_text()
    for name in yaml.safe_load((CHECKOUT / ".github/workflows/test.yml").read_text())["jobs"]:
        assert f"job {name} |" in page, name


def test_the_page_of_platforms_says_of_each_what_somebody_saw():
    page = (CHECKOUT / "docs" / "platforms.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 8
    for row in rows:
        assert re.search(r"\| (never run|last green \d{4}-\d\d-\d\d.*) \|$", row), row
