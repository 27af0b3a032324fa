# SPDX-License-Identifier: Apache-2.0
"""The library against another one, both measured in turns in one run: ratios hold on any machine, times do not.

Called by `python -m tests.bench`. The other library is whoever's: a path, by option or $GPU_SIM_BENCH_BASELINE.
"""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass
from pathlib import Path

from tests.harness import command

TURNS = 5
ROUNDS = 100_000
NAMES = {
    "dlopen": "dlopen, ns",
    "init_first": "first nvmlInit, ns",
    "init_again": "nvmlInit and nvmlShutdown, ns",
    "MemoryInfo": "nvmlDeviceGetMemoryInfo, ns",
    "UUID": "nvmlDeviceGetUUID, ns",
    "Temperature": "nvmlDeviceGetTemperature, ns",
    "PowerUsage": "nvmlDeviceGetPowerUsage, ns",
    "TopologyCommonAncestor": "nvmlDeviceGetTopologyCommonAncestor, ns",
    "rss_kib": "memory of a client, KiB",
    "threads": "threads of a client",
    "size_kib": "size of the file, KiB",
}


@dataclass(frozen=True)
class Figure:
    """The median of all turns; `other` is None without a library to compare with."""

    name: str
    ours: float
    other: float | None

    @property
    def ratio(self) -> float | None:
        return self.other / self.ours if self.other is not None and self.ours else None


def client(folder: Path) -> Path:
    """The measuring program, with this machine's compiler."""
    program = folder / "bench-client"
    source = Path(__file__).with_name("client.c")
    command.run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Werror", source, "-o", program, "-ldl"])
    return program


def once(program: Path, library: Path) -> dict[str, float]:
    """Name → value of one turn. A plain environment: four GPUs of the default profile."""
    environment = {name: "" for name in os.environ if name.startswith("NVML_MOCK_")}
    lines = command.run([program, library, ROUNDS], timeout=120, extra=environment).out.splitlines()
    return {name: float(value) for name, value in (line.split() for line in lines)}


def compare(program: Path, ours: Path, other: Path | None) -> list[Figure]:
    turns: dict[Path, list[dict[str, float]]] = {path: [] for path in (ours, other) if path}
    for _ in range(TURNS):
        for path, found in turns.items():
            found.append(once(program, path))
    medians = {
        path: {name: statistics.median(turn[name] for turn in found) for name in found[0]}
        | {"size_kib": path.resolve().stat().st_size / 1024}
        for path, found in turns.items()
    }
    return [Figure(name, medians[ours][name], medians[other][name] if other else None) for name in NAMES]
