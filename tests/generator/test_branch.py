# SPDX-License-Identifier: Apache-2.0
"""Which branch a run is for: the option, CI's variables, git in the current directory; and what is no branch at all."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from generator.branch import CI_SYSTEMS, why_not_a_branch
from tests.generator import hostile

pytestmark = pytest.mark.unit

SOURCES = [
    ({"GITHUB_HEAD_REF": "feat/x", "GITHUB_REF_NAME": "12/merge"}, "feat/x", "GITHUB_HEAD_REF"),
    ({"GITHUB_HEAD_REF": "", "GITHUB_REF_NAME": "main", "GITHUB_REF_TYPE": "branch"}, "main", "GITHUB_REF_NAME"),
    (
        {"CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "feat-y", "CI_COMMIT_BRANCH": ""},
        "feat-y",
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
    ),
    ({"CI_COMMIT_BRANCH": "develop"}, "develop", "CI_COMMIT_BRANCH"),
    ({"CHANGE_BRANCH": "feat-z", "BRANCH_NAME": "PR-7"}, "feat-z", "CHANGE_BRANCH"),
    ({"BRANCH_NAME": "origin/x"}, "origin/x", "BRANCH_NAME"),
    ({"GIT_BRANCH": "origin/feat-w"}, "feat-w", "GIT_BRANCH"),
    ({"BUILD_SOURCEBRANCH": "refs/heads/team/q"}, "team/q", "BUILD_SOURCEBRANCH"),
    ({"CIRCLE_BRANCH": "c1"}, "c1", "CIRCLE_BRANCH"),
    ({"BUILDKITE_BRANCH": "b1"}, "b1", "BUILDKITE_BRANCH"),
    ({"BITBUCKET_BRANCH": "bb"}, "bb", "BITBUCKET_BRANCH"),
    ({"GPU_SIM_BRANCH": "mine", "GITHUB_HEAD_REF": "theirs"}, "mine", "GPU_SIM_BRANCH"),
    ({"TAG_NAME": "v1", "BRANCH_NAME": "main"}, "main", "BRANCH_NAME"),
]


@pytest.mark.parametrize(
    ("variables", "name", "source"), SOURCES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_ci_says_the_branch(generate, monkeypatch, variables: dict[str, str], name: str, source: str) -> None:
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    ran = generate("--stdout", "--gpus", "3")
    assert ran.code == 0, ran.err
    assert f'name: "{name}"\n' in ran.out
    assert f"branch    {name}  (from {source})\n" in ran.err


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (
            {"GITHUB_REF_TYPE": "tag", "GITHUB_REF_NAME": "v1.0"},
            'environment:GITHUB_REF_NAME: GitHub runs for a tag, not for a branch, got "v1.0"',
        ),
        ({"CI_COMMIT_TAG": "v2"}, 'environment:CI_COMMIT_TAG: GitLab runs for a tag, not for a branch, got "v2"'),
        (
            {"TAG_NAME": "v3", "BRANCH_NAME": "v3"},
            'environment:TAG_NAME: Jenkins runs for a tag, not for a branch, got "v3"',
        ),
        (
            {"BUILD_SOURCEBRANCH": "refs/tags/v4"},
            'environment:BUILD_SOURCEBRANCH: Azure Pipelines runs for a tag, not for a branch, got "refs/tags/v4"',
        ),
        (
            {"GIT_BRANCH": "HEAD"},
            'environment:GIT_BRANCH: this is no branch but git\'s word for the current commit, got "HEAD"',
        ),
    ],
)
def test_a_tag_is_no_branch(generate, folder: Path, monkeypatch, variables: dict[str, str], message: str) -> None:
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    ran = generate("--gpus", "3")
    assert ran.code == 1
    assert ran.err.startswith(message + "; give the branch with --branch NAME"), ran.err
    assert list(folder.iterdir()) == []


def test_the_option_wins_over_ci(generate, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_REF_NAME", "main")
    ran = generate("--branch", "feat-x", "--stdout")
    assert 'name: "feat-x"' in ran.out
    assert "(from --branch)" in ran.err


def git(*arguments: str | bytes) -> None:
    identity = {f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *arguments], check=True, capture_output=True, env=os.environ | identity)


@pytest.fixture
def repository(folder: Path) -> Path:
    git("init", "--initial-branch", "trunk")
    git("commit", "--allow-empty", "--message", "first")
    return folder


@pytest.mark.parametrize("name", ["feat-x", "feature/日本", "fix/a,b", "$(id)", "1e3"])
def test_git_says_the_branch(generate, repository: Path, name: str) -> None:
    git("checkout", "-b", name)
    ran = generate("--stdout")
    assert f'name: "{name}"' in ran.out
    assert f"{name}  (from git)" in ran.err


def test_git_is_asked_in_the_current_directory(generate, repository: Path, monkeypatch) -> None:
    (repository / "below").mkdir()
    monkeypatch.chdir(repository / "below")
    assert 'name: "trunk"' in generate("--stdout").out


def test_a_branch_without_commits_counts(generate, folder: Path) -> None:
    git("init", "--initial-branch", "unborn")
    assert 'name: "unborn"' in generate("--stdout").out


def test_a_branch_that_is_not_utf8(generate, repository: Path) -> None:
    """Kubernetes could not keep such bytes: the name is shown escaped, and the slug is made from the bytes."""
    git("checkout", "-b", b"caf\xe9")
    latin = generate("--stdout")
    git("checkout", "-b", b"caf\xe8")
    other = generate("--stdout")
    assert 'name: "caf\\\\xe9"' in latin.out
    assert latin.code == other.code == 0
    slugs = {ran.out.split('slug: "')[1].split('"')[0] for ran in (latin, other)}
    assert len(slugs) == 2


def test_a_detached_head_is_refused(generate, repository: Path) -> None:
    git("checkout", "--detach")
    ran = generate("--gpus", "3")
    assert ran.code == 1
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    what = "HEAD is detached, so no branch is checked out"
    expected = f'{what}, got "{head.stdout.strip()}"; give the branch with --branch NAME'
    assert ran.err == f"current directory:git: {expected}\n"
    assert sorted(path.name for path in repository.iterdir()) == [".git"]


def test_outside_a_repository(generate) -> None:
    ran = generate("--gpus", "3")
    assert ran.code == 1
    assert ran.err.startswith("current directory:git: git names no branch here (fatal: not a git repository")
    assert ran.err.endswith("; give the branch with --branch NAME\n")


def test_without_git(generate, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = generate("--gpus", "3")
    assert ran.code == 1
    assert ran.err.startswith("current directory:git: git cannot be run (No such file or directory); give the branch")


NO_BRANCHES = [
    "",
    " ",
    "a b",
    "a\nb",
    "a\tb",
    "\x7f",
    "-x",
    "/a",
    "a/",
    "a//b",
    "a..b",
    ".a",
    "a/.b",
    "a.",
    "a.lock",
    "a.lock/b",
]
NO_BRANCHES += ["a~1", "a^", "a:b", "a?", "a*", "a[b", "a@{1}", "HEAD"]


@pytest.mark.parametrize("name", NO_BRANCHES)
def test_what_git_refuses_is_refused(generate, folder: Path, name: str) -> None:
    ran = generate(f"--branch={name}", "--gpus", "3")
    assert ran.code == 1
    assert ran.err.startswith("command line:--branch: "), ran.err
    assert "; give the branch with --branch NAME as git has it" in ran.err
    assert len(ran.lines) == 1
    assert list(folder.iterdir()) == []


def test_agrees_with_git(folder: Path) -> None:
    """Both ways: nothing that git takes is refused, nothing that git refuses is taken (but for the backslash)."""
    names = [
        *NO_BRANCHES,
        *hostile.EVERY,
        "@",
        "a@b",
        "a{b",
        "x/@",
        "a-",
        "a/-b",
        "HEAD/a",
        "head",
        "a.lockx",
        "refs/heads/a",
    ]
    for name in names:
        asked = subprocess.run(["git", "check-ref-format", "--branch", name], capture_output=True, check=False)
        if "\\" not in name:
            assert (why_not_a_branch(name) is None) == (asked.returncode == 0), name


def test_no_two_systems_share_a_variable() -> None:
    names = [name for system in CI_SYSTEMS for name in (*system.branch, *system.tag)]
    assert len(names) == len(set(names))
