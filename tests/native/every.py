# SPDX-License-Identifier: Apache-2.0
"""Run as a program by test_every_function: calls each function named on standard input and prints name and result.

    every.py LIBRARY uninitialized|nothing|stranger|device    (a function name and its device positions on each line)

In a process of its own: what a wrong library would do to its caller must not end the test run.
"""

from __future__ import annotations

import ctypes
import sys


def main(library: str, mode: str) -> None:
    nvml = ctypes.CDLL(library)
    room = ctypes.create_string_buffer(1 << 16)
    stranger = ctypes.create_string_buffer(4096)
    device = ctypes.c_void_p(0)
    if mode != "uninitialized":
        assert nvml.nvmlInit_v2() == 0
    if mode == "device":
        assert nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(1), ctypes.byref(device)) == 0
    for line in sys.stdin:
        name, *kinds = line.split()
        function = getattr(nvml, name)
        function.restype = ctypes.c_int
        arguments: list = []
        for kind in kinds:
            if kind == "device":
                handle = {"stranger": ctypes.addressof(stranger), "device": device.value}.get(mode)
                arguments.append(ctypes.c_void_p(handle))
            elif kind == "pointer" and mode in ("stranger", "device"):
                arguments.append(ctypes.c_void_p(ctypes.addressof(room)))
            else:
                arguments.append(ctypes.c_void_p(0))
        ctypes.memset(room, 0, len(room))
        print(name, function(*arguments), any(room.raw), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
