# SPDX-License-Identifier: Apache-2.0
"""`make pins`: writes constraints.txt, the versions of packages that only other packages ask for.

pyproject.toml pins what we ask for ourselves; without these pins, the rest would change from one day to the next.
"""

from __future__ import annotations

import re
import sys

from tests.harness import bootstrap, command, versions

HEAD = """# SPDX-License-Identifier: Apache-2.0
# Versions of packages that the ones in pyproject.toml bring along. Written by `make pins`.
"""


def name(pin: str) -> str:
    """As package indexes compare names."""
    return re.sub(r"[-_.]+", "-", re.split(r"[=<>!~ \[;]", pin, maxsplit=1)[0]).lower()


def indirect(frozen: list[str], asked: list[str]) -> list[str]:
    """Of what is installed, what nobody asked for here. pip itself comes with Python."""
    ours = {name(pin) for pin in asked} | {"pip", "setuptools"}
    return sorted(pin for pin in frozen if "==" in pin and name(pin) not in ours)


def write() -> None:
    bootstrap.CONSTRAINTS.unlink(missing_ok=True)
    frozen = command.run([bootstrap.python(), "-m", "pip", "freeze"]).out.splitlines()
    bootstrap.CONSTRAINTS.write_text(HEAD + "".join(f"{pin}\n" for pin in indirect(frozen, versions.packages())))


if __name__ == "__main__":
    try:
        write()
    except command.CommandError as error:
        sys.exit(f"gpu-sim: {error}")
