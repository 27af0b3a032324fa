# SPDX-License-Identifier: Apache-2.0
# From the command line's options to the values of one branch. Called by cli.py. Only what was asked for is written; the
# chart's defaults hold for the rest. The one exception is the GPU count, which is always there since it is what people
# look for. Ranges and forms are the schema's business: here only text becomes types.

from __future__ import annotations

import re
from dataclasses import dataclass, field

from generator import chart, check
from generator.branch import Branch
from generator.errors import InputError, Problem
from generator.profiles import all_profiles
from generator.quoting import escape_unprintable, shell_word
from generator.slug import release_of, slug_of

COMMAND_LINE = "command line"

# Which option is to blame for a value, so that a message names what the user typed.
_OPTIONS = {
    "gpuSim.deviceCount": "--gpus",
    "gpuSim.memoryMB": "--memory-mb",
    "gpuSim.profile": "--profile",
    "gpuSim.deviceName": "--name",
    "gpuSim.driverVersion": "--driver-version",
    "gpuSim.faults": "--fault",
    "nodeSelector": "--node-selector",
    "namespace.name": "--namespace",
    "workload.namespace": "--workload-namespace",
    "workload.quota": "--quota",
    "branch.dedicated": "--dedicated",
    "branch": "--branch",
}


@dataclass(frozen=True)
class Request:
    """The options that decide what is in the file, as the user wrote them."""

    gpus: str | None = None
    memory_mb: str | None = None
    profile: str | None = None
    name: str | None = None
    driver_version: str | None = None
    fault: list[str] = field(default_factory=list)
    node_selector: list[str] = field(default_factory=list)
    namespace: str | None = None
    dedicated: bool = False
    quota: str | None = None
    workload_namespace: str | None = None


def values_for(branch: Branch, request: Request) -> dict:
    """Complete and checked, or InputError with every problem."""
    problems: list[Problem] = []
    slug = slug_of(branch.name)
    names: dict = {
        "name": re.sub("[\udc80-\udcff]", lambda byte: escape_unprintable(byte.group()), branch.name),
        "slug": slug,
    }
    if request.dedicated:
        names["dedicated"] = True

    gpu_sim = {
        "deviceCount": _whole(request.gpus, "--gpus", "1 to 64", problems)
        if request.gpus is not None
        else chart.defaults()["gpuSim"]["deviceCount"],
        "memoryMB": _whole(request.memory_mb, "--memory-mb", "the size in MiB, such as 40960", problems),
        "profile": request.profile,
        "deviceName": request.name,
        "driverVersion": request.driver_version,
        "faults": request.fault or None,
    }
    values: dict = {"branch": names, "gpuSim": {key: value for key, value in gpu_sim.items() if value is not None}}
    if request.profile is not None and request.profile not in (known := [p.name for p in all_profiles()]):
        problems.append(
            Problem(
                COMMAND_LINE,
                "--profile",
                "there is no such profile",
                f"choose one of {', '.join(known)}",
                request.profile,
            )
        )
        del values["gpuSim"]["profile"]
    if selector := _selector(request.node_selector, problems):
        values["nodeSelector"] = selector
    if request.namespace is not None:
        values["namespace"] = {"name": request.namespace}
    workload: dict = {}
    if request.workload_namespace is not None or request.quota is not None:
        workload["namespace"] = release_of(slug) if request.workload_namespace is None else request.workload_namespace
    if request.quota is not None and (quota := _quota(request.quota, problems)) is not None:
        workload["quota"] = {chart.QUOTA_KEY: quota}
    if workload:
        values["workload"] = workload

    problems += [_blame(problem, branch) for problem in check.problems_of(values, COMMAND_LINE)]
    if problems:
        raise InputError(*problems)
    return values


def command_for(branch: Branch, request: Request) -> str:
    """The command that asks for the same again, in one canonical spelling."""
    words = ["python", "-m", "generator", "--branch", shell_word(branch.name)]
    for option, value in (
        ("--gpus", request.gpus),
        ("--memory-mb", request.memory_mb),
        ("--profile", request.profile),
        ("--name", request.name),
        ("--driver-version", request.driver_version),
        *(("--fault", line) for line in request.fault),
        *(("--node-selector", label) for label in request.node_selector),
        ("--namespace", request.namespace),
        ("--quota", request.quota),
        ("--workload-namespace", request.workload_namespace),
    ):
        if value is not None:
            # joined where the value would read as an option
            words += [f"{option}={shell_word(value)}"] if value.startswith("-") else [option, shell_word(value)]
    return " ".join(words + (["--dedicated"] if request.dedicated else []))


def _whole(text: str | None, option: str, example: str, problems: list[Problem]) -> int | None:
    if text is None:
        return None
    # Not int(): it takes 1_000, other scripts' digits and spaces, and Helm reads 010 as 8.
    if re.fullmatch("0|-?[1-9][0-9]{0,17}", text):
        return int(text)
    problems.append(Problem(COMMAND_LINE, option, "must be a whole decimal number", f"give {example}", text))
    return None


def _quota(text: str, problems: list[Problem]) -> int | None:
    key, separator, number = text.rpartition("=")
    if separator and key != chart.QUOTA_KEY:
        what = f"Kubernetes enforces GPU quotas only on {chart.QUOTA_KEY}; any other key is accepted and does nothing"
        problems.append(Problem(COMMAND_LINE, "--quota", what, f"give --quota {number or 'N'}", text))
        return None
    return _whole(number, "--quota", "the number of GPUs that all pods of the namespace may ask for", problems)


def _selector(labels: list[str], problems: list[Problem]) -> dict[str, str]:
    selector: dict[str, str] = {}
    for label in labels:
        key, separator, value = label.partition("=")
        if not separator or not key:
            problems.append(
                Problem(
                    COMMAND_LINE, "--node-selector", "must be KEY=VALUE", "give a node label such as pool=gpu", label
                )
            )
        elif selector.setdefault(key, value) != value:
            what = f'the label {key} is asked for twice, once as "{selector[key]}"'
            problems.append(Problem(COMMAND_LINE, "--node-selector", what, "keep one", label))
    return selector


def _blame(problem: Problem, branch: Branch) -> Problem:
    for path, option in _OPTIONS.items():
        if problem.path == path or problem.path.startswith((path + ".", path + "[")):
            return Problem(
                problem.file,
                branch.source if option == "--branch" else option,
                problem.what,
                problem.todo,
                problem.value,
            )
    return problem
