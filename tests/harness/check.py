# SPDX-License-Identifier: Apache-2.0
"""`make check`: lint, format and generated files, for Python, C, Go, shell and text. `--fix` is `make fmt`.

All of it runs; then every problem is shown once, with the command that mends it. Nothing is changed without --fix.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.harness import cgo, command, golang, native_dir, textrules, upstream, versions
from tests.harness.progress import Progress


@dataclass(frozen=True)
class Check:
    """`find` returns what is wrong; `fix` mends what a program can."""

    name: str
    find: Callable[[], Iterable[str]]
    fix: Callable[[], object] | None = None
    mend: str = "make fmt"


def _says(argv: list, extra: dict | None = None, folder: Path = Path()) -> list[str]:
    """The output of a program that fails when something is wrong."""
    done = command.run(argv, cwd=versions.CHECKOUT / folder, extra=extra, check=False)
    if not done.code:
        return []
    lines = [line for line in (done.out + done.err).splitlines() if line.strip()]
    return lines or [f"{command.display(argv)} {command.died(done.code)}"]


def _run(argv: list) -> None:
    command.run(argv, cwd=versions.CHECKOUT)


def ruff(*words: str) -> list:
    return [native_dir.tool("ruff"), *words, "."]


def c_files() -> list[Path]:
    return textrules.files(".c", ".h")


def clang_format(*words: str) -> list[str]:
    said = _says([native_dir.tool("clang-format"), *words, *c_files()]) if c_files() else []
    return [line for line in said if ": error: " in line] or said  # without its excerpts of three lines each


def go_files() -> list[Path]:
    return textrules.files(".go")


def gofmt() -> list[str]:
    if not go_files():
        return []
    listed = command.run([golang.gofmt(), "-l", *go_files()], cwd=versions.CHECKOUT, check=False)
    return [f"{line}: not as gofmt writes it" for line in listed.out.splitlines()] + listed.err.splitlines()


def go_modules() -> list[Path]:
    """Folders with Go code of ours; the harness's tools have none."""
    return [path.parent for path in textrules.files(".mod") if "tools" not in path.parts]


def go_vet() -> list[str]:
    found = []
    for module in go_modules():
        folder = versions.CHECKOUT / module
        uses_cgo = "github.com/NVIDIA/go-nvml" in (folder / "go.mod").read_text()
        extra = cgo.environment(folder, upstream.arch()) if uses_cgo else golang.environment()
        found += [f"{module}: {line}" for line in _says([golang.go(), "vet", "./..."], extra, module)]
    return found


def shellcheck() -> list[str]:
    scripts = textrules.shell_scripts()
    return _says([native_dir.tool("shellcheck"), "--severity=style", *scripts]) if scripts else []


def generators() -> list[Path]:
    """Programs that write files of the tree: exit 1 and a diff when one is stale, `--write` to mend it."""
    return [path for path in textrules.files(".py") if path.name == "generate.py" and "tools" in path.parts]


def stale() -> list[str]:
    return [line for path in generators() for line in _says([sys.executable, path])]


CHECKS = (
    Check("Python: ruff", lambda: _says(ruff("check", "--quiet", "--output-format=concise")),
          lambda: command.run(ruff("check", "--fix", "--quiet"), cwd=versions.CHECKOUT, check=False)),
    Check("Python: format", lambda: _says(ruff("format", "--check", "--output-format=concise")),
          lambda: _run(ruff("format", "--quiet"))),
    Check("C: clang-format", lambda: clang_format("--dry-run", "--Werror"), lambda: clang_format("-i")),
    Check("Go: gofmt", gofmt, lambda: go_files() and _run([golang.gofmt(), "-w", *go_files()])),
    Check("Go: vet", go_vet, mend="mend it by hand"),
    Check("shell: shellcheck", shellcheck, mend="mend it by hand"),
    Check("generated files", stale, lambda: [_run([sys.executable, path, "--write"]) for path in generators()]),
    Check("licence lines", textrules.licence_lines, mend="add the line"),
    Check("machine names", textrules.machine_names, mend="write what holds on every machine"),
    Check("links", textrules.dead_links, mend="mend the link"),
    Check("make targets", textrules.unknown_targets, mend="name a target of make help"),
)  # fmt: skip


def check(checks: Iterable[Check] = CHECKS, progress: Progress | None = None) -> dict[Check, list[str]]:
    """What each check found, of those that found something."""
    progress = progress or Progress()
    found: dict[Check, list[str]] = {}
    for one in checks:
        with progress.step(one.name) as step:
            problems = list(one.find())
            if problems:
                found[one] = problems
                step.result = f"{len(problems)} ✗"
    return found


def report(found: dict[Check, list[str]]) -> str:
    lines = []
    for one, problems in found.items():
        lines += ["", f"{one.name}: {one.mend}", *(f"  {problem}" for problem in problems)]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--fix"]):
        print(f"check: unknown option, got {' '.join(arguments)}; give nothing or --fix", file=sys.stderr)
        return 2
    if arguments:
        for one in CHECKS:
            if one.fix:
                one.fix()
    found = check()
    if found:
        print(report(found), file=sys.stderr)
        print(
            f"\nmake check: {sum(map(len, found.values()))} problems in {len(found)} of {len(CHECKS)} checks",
            file=sys.stderr,
        )
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except command.CommandError as error:
        sys.exit(f"gpu-sim: {error}")
