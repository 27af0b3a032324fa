# SPDX-License-Identifier: Apache-2.0
"""`python3 tests/harness/bootstrap.py` prints the Python that everything else is run with.

It makes a virtual environment in the cache from the packages that pyproject.toml pins, once for each set of pins.
Called by the Makefile with any Python 3.11+, before anything is installed. Only the path goes to standard output.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  (any Python may call this one)
    sys.exit(f"gpu-sim: needs Python 3.11 or newer, got {platform.python_version()} ({sys.executable}); "
             "name another one: make PYTHON=python3.12 …")  # fmt: skip
if __package__ in (None, ""):
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # not this folder: its module names are common ones

from tests.harness import cache, command, debian, versions
from tests.harness.progress import Progress

CONSTRAINTS = Path(__file__).with_name("constraints.txt")


def _constraints() -> str:
    return CONSTRAINTS.read_text() if CONSTRAINTS.is_file() else ""


def key() -> str:
    """Changes with the pins and with the Python underneath, which the environment links to."""
    return cache.digest(*sorted(versions.packages()), _constraints(), sys.version, sys.base_prefix, platform.machine())


def python_of(folder: Path) -> Path:
    return folder / "bin" / "python"


def _build(folder: Path) -> None:
    progress = Progress()
    packages = versions.packages()
    progress.say(f"gpu-sim: preparing Python packages, {len(packages)} pinned in pyproject.toml, in {folder} (once)")
    debian.install(debian.missing("python"), progress.say)
    python = python_of(folder)
    requirements = folder / "requirements.txt"
    requirements.write_text("\n".join(packages) + "\n")
    with progress.step("virtual environment"):
        command.run([sys.executable, "-m", "venv", folder])
    with progress.step("Python packages"):
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
        pins = ["--constraint", CONSTRAINTS] if CONSTRAINTS.is_file() else []
        command.run([*pip, "install", "--quiet", "--requirement", requirements, *pins])


def python() -> Path:
    """The environment's Python, made if it is not there."""

    def waiting() -> None:
        print("gpu-sim: another process is preparing the Python packages; waiting for it", file=sys.stderr)

    return python_of(cache.entry("venv", key(), _build, waiting))


def main() -> int:
    try:
        print(python())
    except (command.CommandError, debian.MissingError) as error:
        print(f"gpu-sim: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"gpu-sim: {cache.root()}: cannot be used as the cache, got {error}; name another folder: GPU_SIM_CACHE",
              file=sys.stderr)  # fmt: skip
        return 3
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
