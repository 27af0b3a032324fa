# SPDX-License-Identifier: Apache-2.0
"""The chart as an archive, and its way into a registry: `make package`, and the second half of `make push`.

Helm reads the credentials that `helm registry login` or `docker login` left.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.harness import command, toolchain, versions
from tests.harness.upstream import ToolchainError


def package(target: Path | None = None) -> Path:
    """build/gpu-sim-<version>.tgz."""
    target = target or versions.CHECKOUT / "build"
    target.mkdir(exist_ok=True)
    helm = toolchain.programs(["helm"])["helm"]
    command.run([helm, "package", versions.CHECKOUT / "charts" / "gpu-sim", "--destination", target])
    return target / f"gpu-sim-{versions.version('gpu-sim')}.tgz"


def push(registry: str) -> str:
    """Returns oci://<registry>/charts/gpu-sim:<version>. A registry on this machine needs no TLS, as for docker."""
    registry = registry.rstrip("/")
    plain = registry.partition("/")[0].partition(":")[0] in ("localhost", "127.0.0.1")
    helm = toolchain.programs(["helm"])["helm"]
    command.run([helm, "push", package(), f"oci://{registry}/charts", *(["--plain-http"] if plain else [])])
    return f"oci://{registry}/charts/gpu-sim:{versions.version('gpu-sim')}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.harness.chart_package", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command")
    pushing = commands.add_parser("push", help="package it, and push it")
    pushing.add_argument("--registry", required=True, metavar="HOST/PATH")
    given = parser.parse_args(arguments)
    try:
        if given.command == "push":
            print(push(given.registry))
        else:
            print(package().relative_to(versions.CHECKOUT))
    except (command.CommandError, ToolchainError) as error:
        print(f"gpu-sim: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
