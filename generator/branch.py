# SPDX-License-Identifier: Apache-2.0
# Which branch this run is for: what the user said, else what CI says, else git in the current directory. Called by
# cli.py. A branch's name is kept as str with the bytes that are not UTF-8 as surrogates, whatever the locale. A tag, a
# detached HEAD or an impossible name is refused: a guess would create somebody else's environment.

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from generator.errors import NOTHING, InputError, Problem

GIVE_BRANCH = "give the branch with --branch NAME"


@dataclass(frozen=True)
class Branch:
    name: str
    source: str  # where the name comes from, for messages: an option, a variable or git


@dataclass(frozen=True)
class CiSystem:
    """Variables in order of preference: the source branch of a pull request comes before its passing merge ref."""

    name: str
    branch: tuple[str, ...]
    tag: tuple[str, ...]


CI_SYSTEMS = (
    CiSystem("gpu-sim's own variable", ("GPU_SIM_BRANCH",), ()),
    CiSystem("GitHub", ("GITHUB_HEAD_REF", "GITHUB_REF_NAME"), ()),
    CiSystem("GitLab", ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_BRANCH"), ("CI_COMMIT_TAG",)),
    CiSystem("Azure Pipelines", ("SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCH"), ()),
    CiSystem("CircleCI", ("CIRCLE_BRANCH",), ("CIRCLE_TAG",)),
    CiSystem("Buildkite", ("BUILDKITE_BRANCH",), ("BUILDKITE_TAG",)),
    CiSystem("Bitbucket", ("BITBUCKET_BRANCH",), ("BITBUCKET_TAG",)),
    CiSystem("Jenkins", ("CHANGE_BRANCH", "BRANCH_NAME", "GIT_BRANCH"), ("TAG_NAME",)),
)


def find_branch(given: str | None, environment: Mapping[str, str]) -> Branch:
    if given is not None:
        found = Branch(as_utf8(given), "--branch")
    else:
        found = _from_ci(environment) or Branch(_from_git(), "git")
    wrong = why_not_a_branch(found.name)
    if wrong:
        where = "command line" if given is not None else "environment"
        raise InputError(Problem(where, found.source, wrong, GIVE_BRANCH + " as git has it", found.name))
    return found


def as_utf8(text: str) -> str:
    """Undoes the locale's decoding of an argument or variable: branch names are bytes, nearly always UTF-8."""
    return os.fsencode(text).decode(errors="surrogateescape")


def _from_ci(environment: Mapping[str, str]) -> Branch | None:
    for system in CI_SYSTEMS:
        if tag := _tag_variable(system, environment):
            raise InputError(_on_a_tag(system, tag, as_utf8(environment.get(tag, ""))))
        variable = next((name for name in system.branch if environment.get(name)), None)
        if variable is None:
            continue
        value = as_utf8(environment[variable])
        if value.startswith("refs/tags/"):
            raise InputError(_on_a_tag(system, variable, value))
        value = value.removeprefix("refs/heads/")
        return Branch(value.removeprefix("origin/") if variable == "GIT_BRANCH" else value, variable)
    return None


def _tag_variable(system: CiSystem, environment: Mapping[str, str]) -> str | None:
    if system.name == "GitHub":
        return "GITHUB_REF_NAME" if environment.get("GITHUB_REF_TYPE") == "tag" else None
    if system.name == "Jenkins" and environment.get("TAG_NAME") != environment.get("BRANCH_NAME"):
        return None  # TAG_NAME is too common a name to mean Jenkins by itself; on a tag Jenkins sets both
    return next((name for name in system.tag if environment.get(name)), None)


def _on_a_tag(system: CiSystem, variable: str, value: str) -> Problem:
    return Problem("environment", variable, f"{system.name} runs for a tag, not for a branch", GIVE_BRANCH, value)


def _from_git() -> str:
    try:
        head = subprocess.run(["git", "symbolic-ref", "--quiet", "HEAD"], capture_output=True, check=False)
    except OSError as error:
        raise InputError(_problem(f"git cannot be run ({error.strerror})")) from None
    ref = head.stdout.decode(errors="surrogateescape").removesuffix("\n")
    if head.returncode == 0 and ref.startswith("refs/heads/"):
        return ref.removeprefix("refs/heads/")
    if head.returncode == 0:
        raise InputError(_problem("HEAD is no branch", ref))
    if head.returncode == 1 and not head.stderr:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, check=False)
        raise InputError(
            _problem("HEAD is detached, so no branch is checked out", commit.stdout.decode().strip() or "no commit")
        )
    said = head.stderr.decode(errors="replace").strip().splitlines() or [f"git exits {head.returncode}"]
    raise InputError(_problem(f"git names no branch here ({said[0]})"))


def _problem(what: str, value: object = NOTHING) -> Problem:
    return Problem("current directory", "git", what, GIVE_BRANCH, value)


def why_not_a_branch(name: str) -> str | None:
    """git's rules for a branch's name (git check-ref-format --branch), but for one: a backslash is let through, since
    a name that comes from CI may belong to another system, and here it does no harm."""
    if not name:
        return "the branch's name is empty"
    if name == "HEAD":
        return "this is no branch but git's word for the current commit"
    if re.search(r"[\x00-\x20\x7f]", name):
        return "a branch's name cannot hold a space or control character"
    if bad := re.search(r"[~^:?*\[]|\.\.|//|@\{", name):
        return f"a branch's name cannot hold {bad.group()!r}"
    if name.startswith(("-", "/")) or name.endswith(("/", ".")):
        return "a branch's name cannot begin with '-' or '/', nor end with '/' or '.'"
    if any(part.startswith(".") or part.endswith(".lock") for part in name.split("/")):
        return "no part of a branch's name can begin with '.' or end with '.lock'"
    return None
