# SPDX-License-Identifier: Apache-2.0
# The command line: options, order of things, what is printed where, and the exit code. Called by `python -m generator`
# and by the console script. Exits 0 fine, 1 wrong input, 2 wrong usage, 3 a bug of ours, 130 interrupted; problems go
# to stderr, all at once and without a traceback.

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import traceback
from importlib import metadata
from pathlib import Path

from generator import chart, check, commands, profiles, render, rules
from generator.branch import find_branch
from generator.errors import InputError, Problem
from generator.quoting import escape_unprintable
from generator.slug import release_of
from generator.values import COMMAND_LINE, Request, command_for, values_for

WRONG_INPUT, WRONG_USAGE, OUR_BUG, INTERRUPTED = 1, 2, 3, 130

DESCRIPTION = "Writes a Helm values file for one branch's simulated GPUs, and prints the commands that use it."
EPILOG = """\
also: python -m generator check FILE...   says whether values files are right, and all that is wrong with them

Without --branch the branch is what CI's variables say (GitHub, GitLab, Jenkins and others; GPU_SIM_BRANCH comes first),
else what git has checked out in the current directory."""


def entry() -> None:
    sys.exit(main(sys.argv[1:]))


def main(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        _need_directory()
        code = _check(arguments[1:]) if arguments[:1] == ["check"] else _generate(arguments)
        sys.stdout.flush()
        return code
    except InputError as error:
        print(error, file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:  # the output: closed by its reader, or full
            _give_up_stdout()
            if not isinstance(error, BrokenPipeError):
                what = f"cannot be written ({error.strerror})"
                print(Problem("standard output", "", what, "write it elsewhere"), file=sys.stderr)
            return WRONG_INPUT
        if os.environ.get("GPU_SIM_DEBUG"):
            traceback.print_exc()
        what = f"this is a bug ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})"
        print(Problem("generator", "", what, "please report it, with what GPU_SIM_DEBUG=1 adds"), file=sys.stderr)
        return OUR_BUG


def _need_directory() -> None:
    try:
        Path.cwd()
    except OSError:
        raise InputError(Problem("current directory", "", "does not exist any more", "go to another one")) from None


def _give_up_stdout() -> None:
    # So that the interpreter does not complain once more when it flushes at its end.
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m generator",
        usage="python -m generator [--branch NAME] [--gpus N] [options]\n       python -m generator check FILE...",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    gpus = parser.add_argument_group("the GPUs")
    gpus.add_argument("--gpus", metavar="N", help="GPUs on each node, 1 to 64 (default: the chart's)")
    gpus.add_argument("--profile", metavar="NAME", help="GPU model, see --list-profiles (default: the chart's)")
    gpus.add_argument("--memory-mb", metavar="N", help="memory of each GPU in MiB (default: the model's)")
    gpus.add_argument("--name", metavar="TEXT", help="GPU name to report instead of the model's")
    gpus.add_argument("--driver-version", metavar="X.Y.Z", help="driver version to report")
    gpus.add_argument(
        "--fault",
        metavar="LINE",
        action="append",
        default=[],
        help='a fault from the start, as gpu-sim ctl takes it: "xid --gpu 3 79"; repeatable',
    )
    place = parser.add_argument_group("the cluster")
    place.add_argument("--branch", metavar="NAME", help="any branch name that git allows (default: see below)")
    place.add_argument(
        "--node-selector",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a label that nodes need beside gpu-sim=true; repeatable",
    )
    place.add_argument(
        "--dedicated",
        action="store_true",
        help="only nodes labelled for this branch, kept free of other pods by a taint",
    )
    place.add_argument(
        "--namespace", metavar="NAME", help="namespace of the simulator's own pods (default: the chart's)"
    )
    place.add_argument("--quota", metavar="N", help="GPUs that all pods of the workload namespace may ask for together")
    place.add_argument(
        "--workload-namespace",
        metavar="NAME",
        help="namespace for the branch's workloads (with --quota: gpu-sim-<slug>)",
    )
    output = parser.add_argument_group("the output")
    where = output.add_mutually_exclusive_group()
    where.add_argument("--output", metavar="FILE", help="file to write (default: values/<slug>.yaml)")
    where.add_argument("--stdout", action="store_true", help="print the values, write no file")
    output.add_argument("--force", action="store_true", help="replace a file that has other content")
    output.add_argument("--list-profiles", action="store_true", help="show the GPU models and exit")
    output.add_argument("--version", action="version", version=_version())
    return parser


def _version() -> str:
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version("gpu-sim")
    return f"{chart.chart_version()} (not installed)"


def _generate(arguments: list[str]) -> int:
    options = vars(_parser().parse_args(arguments))
    if options["list_profiles"]:
        print(profiles.table())
        return 0
    if options["output"] in ("", "-"):
        raise InputError(Problem(COMMAND_LINE, "--output", "is no file's name", "use --stdout", options["output"]))
    request = Request(**{key: options[key] for key in Request.__dataclass_fields__})
    branch = find_branch(options["branch"], os.environ)
    values = values_for(branch, request)
    text = render.to_text(values, branch.name, command_for(branch, request))
    for warning in rules.warnings(check.laid_over(values, chart.defaults())):
        print(f"warning: {warning}", file=sys.stderr)
    slug = values["branch"]["slug"]
    head = (
        f"{'branch':<9} {escape_unprintable(branch.name)}  (from {branch.source})\n{'release':<9} {release_of(slug)}\n"
    )
    if options["stdout"]:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        print(head + "\n" + commands.usage(values, "-"), file=sys.stderr, end="")
        return 0
    file = _own_file(slug) if options["output"] is None else options["output"]
    changed = render.write(text, Path(file), file, options["force"])
    done = f"{'wrote' if changed else 'unchanged':<9} {escape_unprintable(file)}\n"
    print(done + head + "\n" + commands.usage(values, file), end="")
    return 0


def _own_file(slug: str) -> str:
    file = f"values/{slug}.yaml"
    if slug in chart.shipped_names():
        raise InputError(
            Problem(file, "", "is the name of a file that comes with gpu-sim", "name another file with --output FILE")
        )
    try:
        Path("values").mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(
            Problem("values", "", f"cannot be made ({error.strerror})", "name a file with --output FILE")
        ) from None
    return file


def _check(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m generator check", description="Judges values files by the chart's schema and rules."
    )
    parser.add_argument("files", metavar="FILE", nargs="+")
    problems = []
    for file in parser.parse_args(arguments).files:
        found = check.check_file(file)
        problems += found
        if not found:
            print(escape_unprintable(f"{file}: ok"))
    if problems:
        raise InputError(*problems)
    return 0
