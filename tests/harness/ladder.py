# SPDX-License-Identifier: Apache-2.0
"""`make test`: the rungs from the lowest to a real kubelet; a red one ends it, since those above would prove nothing.

Called by the Makefile, and through it by .ci/run. The last thing it prints is pytest's closing line. Words after the
options go to pytest: `make test ARGS="tests/e2e -k drain"`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.harness import check, command, debian, download, go_build, images, native_dir, toolchain, upstream
from tests.harness.progress import Progress
from tests.harness.versions import CHECKOUT

SANITIZED = CHECKOUT / "build" / "native-sanitized"


def checked(progress: Progress) -> None:
    found = check.check(progress=progress)
    if found:
        raise command.CommandError("make check", f"make check found something{check.report(found)}")


def ctest(folder: Path) -> None:
    argv = [native_dir.tool("ctest"), "--test-dir", folder, "--output-on-failure", "--no-tests=error"]
    command.run([*argv, "--parallel", "2"])


def native(progress: Progress) -> None:
    debian.install(debian.missing("compiler"), progress.say)
    with progress.step("library, this machine's compiler"):
        native_dir.build()
    with progress.step("library's own tests"):
        ctest(native_dir.FOLDER)
    with progress.step("library with sanitizers"):
        native_dir.build(SANITIZED, "Debug", ("-DGPU_SIM_SANITIZE=ON",))
    with progress.step("library's own tests with sanitizers"):
        ctest(SANITIZED)


def go(progress: Progress) -> None:
    for module in check.go_modules():
        with progress.step(f"{module}'s own tests"):
            go_build.test(CHECKOUT / module)


def prepare(progress: Progress, cluster: bool) -> None:
    """Make what tests would make when they first need it: on a new machine that takes longer than a test may."""
    toolchain.programs(toolchain.GROUPS if cluster else ["helm"], progress)
    with progress.step("programs of ours") as step:
        for name, build in go_build.PROGRAMS.items():
            step.note(name)
            build()
    if cluster:
        with progress.step("images") as step:
            for name in images.RECIPES:
                step.note(name)
                images.archive(name)


def pytest(words: list[str]) -> int:
    """Its output goes straight through: who waits for it sees it live."""
    return subprocess.run([sys.executable, "-m", "pytest", *words], cwd=CHECKOUT).returncode


def main(arguments: list[str]) -> int:
    words = [word for word in arguments if word != "--without-cluster"]
    if len(words) < len(arguments):
        words += ["-m", "not cluster"]
    progress = Progress()
    try:
        progress.say("gpu-sim: make check")
        checked(progress)
        progress.say("gpu-sim: native tests")
        native(progress)
        progress.say("gpu-sim: Go tests")
        go(progress)
        progress.say("gpu-sim: what the tests run on")
        prepare(progress, cluster="not cluster" not in words)
    except (command.CommandError, debian.MissingError, download.ChecksumError, upstream.ToolchainError) as error:
        print(f"gpu-sim: {error}", file=sys.stderr)
        return 1
    progress.say("gpu-sim: pytest")
    return pytest(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
