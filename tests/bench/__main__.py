# SPDX-License-Identifier: Apache-2.0
"""`make bench`: measures, prints, and writes docs/benchmarks.md.

Options also come from the environment: GPU_SIM_BASELINE (a library to compare with) and GPU_SIM_BASELINE_NAME.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.bench import cluster, library, report
from tests.harness import cli, images, native_build
from tests.harness.progress import Progress
from tests.harness.versions import CHECKOUT

DOCUMENT = CHECKOUT / "docs" / "benchmarks.md"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
IMAGES = ("gpu-sim", "gpu-sim-agent")  # archives for amd64 and arm64 together


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--baseline", type=Path, default=os.environ.get("GPU_SIM_BASELINE") or None,
                        help="another libnvidia-ml.so, measured in turns with ours")  # fmt: skip
    parser.add_argument("--baseline-name", default=os.environ.get("GPU_SIM_BASELINE_NAME") or None)
    parser.add_argument("--without-cluster", action="store_true", help="the library and the images only")
    parser.add_argument("--output", type=Path, default=DOCUMENT, help="the page (default: docs/benchmarks.md)")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    options = arguments(words)
    if options.baseline and not options.baseline.is_file():
        print(f"--baseline: no such library, got {options.baseline}; name a file", file=sys.stderr)
        return 1
    name = (options.baseline_name or options.baseline.name) if options.baseline else None
    progress = Progress()
    try:
        with progress.step("library"):
            ours = native_build.build()[ARCHITECTURES[os.uname().machine]] / "libnvidia-ml.so"
            with tempfile.TemporaryDirectory() as folder:
                figures = library.compare(library.client(Path(folder)), ours, options.baseline)
        sections = {"The library": report.table(figures, name)}
        with progress.step("images"):
            sections["Images"] = report.pairs(
                (path.name, f"{path.stat().st_size / 1024:,.0f} KiB") for path in map(images.archive, IMAGES)
            )
        if not options.without_cluster:
            sections["A cluster"] = report.pairs(cluster.measure(progress))
    except (*cli.EXPECTED, native_build.PortableError) as error:
        print(f"gpu-sim: {error}", file=sys.stderr)
        return 1
    page = report.document(sections)
    print(page)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
