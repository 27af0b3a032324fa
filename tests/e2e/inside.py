# SPDX-License-Identifier: Apache-2.0
"""A container from inside: what programs that are started in it see and find. Called by the tests of pods."""

from __future__ import annotations

import csv
import json
import re
from typing import NamedTuple

from tests.e2e.space import Space

NVML = """
import json, pynvml
pynvml.nvmlInit()
gpus = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
print(json.dumps([[pynvml.nvmlDeviceGetIndex(gpu), pynvml.nvmlDeviceGetUUID(gpu), pynvml.nvmlDeviceGetName(gpu),
                   pynvml.nvmlDeviceGetMemoryInfo(gpu).total >> 20] for gpu in gpus]))
"""
LOAD = """
import ctypes, os
ctypes.CDLL("libnvidia-ml.so.1")
print(*{line.split()[5] for line in open("/proc/self/maps") if "libnvidia-ml" in line})
"""
COMMON = ("/dev/nvidiactl", "/dev/nvidia-uvm")


class Seen(NamedTuple):
    index: int
    uuid: str
    name: str
    memory_mib: int


class Inside:
    def __init__(self, space: Space, pod: str, container: str | None = None):
        self.space, self.pod, self.container = space, pod, container

    def __repr__(self) -> str:
        return f"{self.pod}/{self.container}"

    def run(self, *argv: str, code: int = 0) -> str:
        """What the command printed, after it ended as expected."""
        ended, said = self.space.kube.exec(self.space.name, self.pod, list(argv), self.container)
        assert ended == code, f"{self!r}: {' '.join(argv)}: exit {ended}, {code} was expected\n{said}"
        return said

    def devices(self) -> set[str]:
        return set(self.run("sh", "-c", "find /dev -name 'nvidia*'").split())

    def inode(self, path: str) -> int:
        return int(self.run("stat", "-L", "-c", "%i", path))

    def environment(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.run("env").splitlines() if "=" in line)

    # ---- the GPUs, by different clients ----
    def by_python(self) -> list[Seen]:
        return [Seen(*gpu) for gpu in json.loads(self.run("python3", "-c", NVML))]

    def by_probe(self) -> list[Seen]:
        gpus = json.loads(self.run("nvml-probe"))["gpus"]
        return [Seen(i, gpu["uuid"], gpu["name"], gpu["memory_mib"]) for i, gpu in enumerate(gpus)]

    def by_smi(self, program: str = "nvidia-smi") -> list[Seen]:
        """The table's rows counted, the list and a query, which must agree."""
        query = self.run(program, "--query-gpu=index,uuid,name,memory.total", "--format=csv")
        head, *rows = csv.reader(query.splitlines(), skipinitialspace=True)
        assert head == ["index", "uuid", "name", "memory.total [MiB]"]
        found = [Seen(int(row[0]), row[1], row[2], int(row[3].removesuffix(" MiB"))) for row in rows]
        assert self.run(program, "-L").splitlines() == [f"GPU {g.index}: {g.name} (UUID: {g.uuid})" for g in found]
        table = self.run(program)
        assert len(re.findall(r"^\|\s+\d+\s+\S.*\| {1,3}[0-9A-F]{8}:[0-9A-F]{2}:", table, re.M)) == len(found), table
        return found
