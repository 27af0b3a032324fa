# SPDX-License-Identifier: Apache-2.0
"""`gpu-sim ctl` on a node's root, and what clients of the library see. Used by the tests of ctl and of allocate."""

from __future__ import annotations

import json
import subprocess
import sys

import jsonschema

from tests.harness import versions
from tests.node.fake_plugin import Plugin, wait_until
from tests.node.node_root import NodeRoot, bare_environment

SCHEMA = json.loads((versions.CHECKOUT / "docs/ctl-status.schema.json").read_text())
CLIENT = """
import ctypes, sys, pynvml as nvml
def at(handle):
    return ctypes.cast(handle, ctypes.c_void_p).value
nvml.nvmlInit()
handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
events = nvml.nvmlEventSetCreate()
kinds = nvml.nvmlEventTypeXidCriticalError | nvml.nvmlEventTypeSingleBitEccError | nvml.nvmlEventTypeDoubleBitEccError
for handle in handles:
    nvml.nvmlDeviceRegisterEvents(handle, kinds, events)
def event(timeout=2000):
    try:
        found = nvml.nvmlEventSetWait_v2(events, timeout)
    except nvml.NVMLError as error:
        return type(error).__name__
    return [at(h) for h in handles].index(at(found.device)), found.eventType, found.eventData
import time
for line in sys.stdin:
    try:
        answer = eval(line)
    except nvml.NVMLError as error:
        answer = type(error).__name__
    plain = isinstance(answer, (int, float, str, list, tuple, dict, type(None)))
    print(repr(answer if plain else str(answer)), flush=True)
"""


class Client:
    """A program with the library open, as pods and plugins have one; ask() evaluates an expression in it."""

    def __init__(self, node: NodeRoot):
        environment = bare_environment(LD_LIBRARY_PATH=str(node.path / "driver"))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([sys.executable, "-c", CLIENT], env=environment, text=True, **pipes)
        assert self.ask("len(handles)") is not None

    def ask(self, expression: str):
        self.process.stdin.write(expression + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"the client died of {expression}"
        return eval(answer)

    def gpu(self, function: str, index: int, *more: object):
        words = "".join(f", {word}" for word in more)
        return self.ask(f"nvml.nvmlDeviceGet{function}(handles[{index}]{words})")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(timeout=10) == 0


def ctl(node: NodeRoot, *words: object, code: int = 0, **options) -> subprocess.CompletedProcess:
    """Options for a plugin come last in `words`; without them only the root is touched."""
    environment = bare_environment(GPU_SIM_ROOT=str(node.path)) | options.pop("env", {})
    return node.run("ctl", *words, code=code, env=environment, **options)


def status(node: NodeRoot, *words: object) -> dict:
    found = json.loads(ctl(node, "status", "--json", *words).stdout)
    jsonschema.validate(found, SCHEMA)
    return found


def refused(node: NodeRoot, words: list[object], expected: list[str], code: int = 1, **options) -> None:
    """Nothing of the root changes, and the words say what is valid."""
    before = node.tree()
    done = ctl(node, *words, code=code, **options)
    assert node.tree() == before, f"{words} changed something"
    missing = [piece for piece in expected if piece not in done.stderr]
    assert not missing, f"missing {missing} in:\n{done.stderr}"


def break_one(node: NodeRoot, beside: Plugin, *words: object) -> None:
    count = len(beside.devices())
    ctl(node, *words, *beside.options())
    wait_until(f"{words}: one GPU less", lambda: len(beside.devices()) == count - 1)


def lost_view(node: NodeRoot) -> list[str]:
    """What nvidia-smi can name."""
    program = node.path / "driver/usr/bin/nvidia-smi"
    done = subprocess.run([program, "-L"], capture_output=True, text=True, env=bare_environment())
    return [line for line in done.stdout.splitlines() if "(UUID: GPU-" in line]
