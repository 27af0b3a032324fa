# SPDX-License-Identifier: Apache-2.0
"""nvml.h to a table of calls for tests: calls.py HEADER OUTPUT.h SOURCE.c… Called by CMake for native/tests.

One row for each function that wants an init, with a C function that calls it: devices are the caller's, pointer n is
pointers[n], all else is zero. So "every getter" in a test means every getter.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import exports


class Structs:
    """Which types carry a version in their first field, and the header's name for the right one."""

    def __init__(self, header: str):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", header, flags=re.S)
        self.macros = set(re.findall(r"#\s*define\s+(nvml\w+_v\d+)\s", text))
        self.aliases = dict(re.findall(r"typedef\s+(?:struct\s+)?(\w+)\s+(\w+)\s*;", text))
        self.aliases = {new: old for old, new in self.aliases.items()}
        self.versioned = set()
        for start in re.finditer(r"typedef\s+struct(?:\s+\w+)?\s*\{", text):
            end, depth = start.end(), 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            if re.match(r"\s*unsigned\s+int\s+version\s*;", text[start.end() :]):
                self.versioned.add(re.match(r"\s*(\w+)", text[end:])[1])

    def version(self, pointer: str) -> str | None:
        """For "nvmlMemory_v2_t *": "nvmlMemory_v2"; None for what has no version."""
        kind = pointer.replace("const", "").rstrip("* ").strip()
        while kind in self.aliases:
            kind = self.aliases[kind]
        if kind not in self.versioned:
            return None
        name = kind.removesuffix("_t")
        assert name in self.macros, f"{kind}: has a version, but nvml.h defines no {name}"
        return name


def call(function: exports.Function) -> str:
    """The C function that calls one of NVML's."""
    arguments, pointers = [], 0
    for kind, _ in function.parameters:
        if function.is_device(kind):
            arguments.append("device")
        elif kind.endswith("*"):
            arguments.append(f"pointers[{pointers}]")
            pointers += 1
        else:
            arguments.append(f"({kind}){{0}}")
    return (
        f"{function.prototype(function.name, 'nvmlDevice_t')};\n"  # the header lacks what it only renames
        f"static nvmlReturn_t call_{function.name}(nvmlDevice_t device, void *const pointers[]) {{\n"
        f"    (void)device, (void)pointers;\n"
        f"    return {function.name}({', '.join(arguments)});\n}}\n"
    )


def row(function: exports.Function, written: bool, structs: Structs) -> str:
    versioned = [
        (i, kind.replace("const ", "").rstrip("* "), version)
        for i, kind in enumerate(kind for kind, _ in function.parameters if kind.endswith("*"))
        if written and (version := structs.version(kind))
    ]
    place, size, version = -1, "0", "0"
    if versioned:
        [(place, kind, version)] = versioned
        size = f"sizeof({kind})"
    pointers = [name for kind, name in function.parameters if kind.endswith("*")]
    required = sum(1 << i for i, name in enumerate(pointers) if not function.may_be_null(name))
    devices = sum(function.is_device(kind) for kind, _ in function.parameters)
    return (
        f'    {{"{function.name}", call_{function.name}, {devices}, {len(pointers)}, 0x{required:x}, {int(written)},\n'
        f"     {place}, {size}, {version}}},\n"
    )


def main(arguments: list[str]) -> int:
    header, output, sources = Path(arguments[0]), Path(arguments[1]), [Path(name) for name in arguments[2:]]
    written, text = exports.handwritten(sources), header.read_text()
    structs = Structs(text)
    functions = [f for f in exports.functions(text) if f.name not in exports.FREE]
    output.write_text(
        "/* Generated from nvml.h by native/tools/calls.py. */\n"
        "#include <nvml.h>\n#include <stddef.h>\n\n"
        "struct call {\n    const char *name;\n"
        "    nvmlReturn_t (*call)(nvmlDevice_t device, void *const pointers[]);\n"
        "    unsigned devices, pointers, required; /* required: bit n, pointer n may not be NULL */\n"
        "    int written; /* by hand; all others are stubs */\n"
        "    int versioned; /* the pointer whose struct begins with a version; -1: none, or a stub */\n"
        "    size_t size;\n    unsigned version;\n};\n\n"
        + "".join(call(f) for f in functions)
        + "\nstatic const struct call calls[] = {\n"
        + "".join(row(f, f.inner in written, structs) for f in functions)
        + "};\nenum { CALLS = sizeof calls / sizeof *calls, "
        f"CALL_POINTERS = {max(sum(k.endswith('*') for k, _ in f.parameters) for f in functions)} }};\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
