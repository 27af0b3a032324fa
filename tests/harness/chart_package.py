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


def push(registry: str, plain_http: bool = False) -> str:
    """The chart's address: oci://<registry>/charts/gpu-sim, version as the chart's."""
    where = f"oci://{registry.removeprefix('oci://').rstrip('/')}/charts"
    helm = toolchain.programs(["helm"])["helm"]
    command.run([helm, "push", package(), where, *(["--plain-http"] if plain_http else [])])
    return f"{where}/gpu-sim:{versions.version('gpu-sim')}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.harness.chart_package", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command")
    pushing = commands.add_parser("push", help="package it, and push it")
    pushing.add_argument("--registry", required=True, metavar="HOST/PATH")
    pushing.add_argument("--plain-http", action="store_true", help="for a registry without TLS")
    given = parser.parse_args(arguments)
    try:
        if given.command == "push":
            print(push(given.registry, given.plain_http))
        else:
            print(package().relative_to(versions.CHECKOUT))
    except (command.CommandError, ToolchainError) as error:
        print(f"gpu-sim: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
