# SPDX-License-Identifier: Apache-2.0
"""`make bench`: measures, prints, and writes docs/benchmarks.md.

Options also come from the environment: GPU_SIM_BENCH_BASELINE, a library to compare with, and
GPU_SIM_BENCH_BASELINE_NAME, what it is called in the page.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.bench import cluster, cold, library, report
from tests.harness import cli, image_contents, native_build, oci
from tests.harness.progress import Progress
from tests.harness.versions import CHECKOUT

DOCUMENT = CHECKOUT / "docs" / "benchmarks.md"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--baseline", type=Path, default=os.environ.get("GPU_SIM_BENCH_BASELINE") or None,
                        help="another libnvidia-ml.so, measured in turns with ours")  # fmt: skip
    parser.add_argument("--baseline-name", default=os.environ.get("GPU_SIM_BENCH_BASELINE_NAME") or None)
    parser.add_argument("--cold", action="store_true", help="also the first time on a machine: minutes, and a network")
    parser.add_argument("--without-cluster", action="store_true", help="the library and the images only")
    parser.add_argument("--output", type=Path, default=DOCUMENT, help="the page (default: docs/benchmarks.md)")
    return parser.parse_args(words)


def size(entry: oci.Entry) -> int:
    return len(entry.content) if isinstance(entry, oci.File) else 0


def unpacked() -> list[tuple[str, str]]:
    """What an image takes on a node."""
    return [
        (f"{name}, {image.architecture}, unpacked", f"{sum(map(size, image.files.values())) / 1024:,.0f} KiB")
        for name, images in (("gpu-sim", image_contents.gpu_sim()), ("gpu-sim-agent", image_contents.agent()))
        for image in images
    ]


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
            sections["Images"] = report.pairs(unpacked())
        if options.cold:
            sections["The first time on a machine"] = report.pairs(cold.measure(progress))
        if not options.without_cluster:
            times, used = cluster.measure(progress)
            sections["A cluster, with a warm cache"] = report.runs(times)
            sections["Memory of that cluster, by program"] = report.pairs(used)
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
