# SPDX-License-Identifier: Apache-2.0
"""nvml.h to the library's exported functions. Called by CMake: exports.py HEADER OUTPUT_FOLDER SOURCE.c…

Writes exports.c, one exported function for each that the header declares or renames, exports.h, the prototypes that
the handwritten ones must match, and functions.c, the names that a fault can be injected into. A function is
handwritten where a source defines gs<Name>(…); it is entered only after the checks that all share (initialised, handle
known, GPU not lost, pointers not NULL). All others answer NVML_ERROR_NOT_SUPPORTED after the same checks, and name
themselves with GPU_SIM_DEBUG.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# Entered without an init: they begin, end or explain it. nvidia-smi asks for its table before nvmlInit.
FREE = {"nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags", "nvmlShutdown", "nvmlErrorString"}
# Of those, the ones that have no faults: nobody asks them for anything that could fail.
FAULTLESS = {"nvmlShutdown", "nvmlErrorString"}
# Pointers that a caller may leave NULL: arrays whose length is asked for first, and what is only sometimes wanted.
OPTIONAL = {"infos", "clocksMHz", "deviceArray", "devices", "sessionInfos", "sessionInfo", "samples", "addresses",
            "timestamps", "pids", "hwbcEntries", "defaultIsEnabled"}  # fmt: skip
OPTIONAL_IN = {("nvmlDeviceGetProcessUtilization", "utilization")}


class Function:
    def __init__(self, returns: str, name: str, parameters: str):
        self.returns, self.name = returns, name
        self.parameters = (
            [] if parameters.strip() in ("", "void") else [self.split(one) for one in parameters.split(",")]
        )

    @staticmethod
    def split(parameter: str) -> tuple[str, str]:
        """Type and name: ("unsigned int *", "count")."""
        found = re.fullmatch(r"\s*(.*?[\s*])(\w+)\s*", parameter)
        assert found, f"a parameter without a name: {parameter!r}"
        return re.sub(r"\s+", " ", found.group(1)).strip(), found.group(2)

    @property
    def inner(self) -> str:
        return "gs" + self.name[len("nvml") :]

    def is_device(self, kind: str) -> bool:
        return kind == "nvmlDevice_t"

    def may_be_null(self, parameter: str) -> bool:
        return parameter in OPTIONAL or (self.name, parameter) in OPTIONAL_IN

    def prototype(self, name: str, device: str) -> str:
        kinds = [(device if self.is_device(kind) else kind, parameter) for kind, parameter in self.parameters]
        inside = ", ".join(f"{kind}{'' if kind.endswith('*') else ' '}{parameter}" for kind, parameter in kinds)
        return f"{self.returns}{'' if self.returns.endswith('*') else ' '}{name}({inside or 'void'})"


def functions(header: str) -> list[Function]:
    """Every function that the header declares, and the old names that it only keeps as macros."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    renamed = re.findall(r"^\s*#\s*define\s+(nvml\w+)\s+(nvml\w+)\s*$", text, flags=re.M)
    text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*$", " ", text, flags=re.M)
    text = text.replace("DECLDIR", " ")
    found: dict[str, Function] = {}
    for returns, name, parameters in re.findall(
        r"((?:const\s+char\s*\*)|nvmlReturn_t)\s+(nvml\w+)\s*\(([^()]*)\)\s*;", re.sub(r"\s+", " ", text)
    ):
        found[name] = Function(re.sub(r"\s+", " ", returns).replace(" *", " *").strip(), name, parameters)
    for old, new in renamed:
        if new in found and old not in found:
            target = found[new]
            found[old] = Function(target.returns, old, ", ".join(f"{k} {p}" for k, p in target.parameters))
    return list(found.values())


def function_id(name: str) -> int:
    """FNV-1a, as gs_function_id() in inventory.h."""
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 % 2**32
    return value


def handwritten(sources: list[Path]) -> dict[str, Path]:
    """gs<Name> to the source that defines it."""
    return {
        name: source
        for source in sources
        for name in re.findall(r"^(?:nvmlReturn_t|const char \*)\s*(gs[A-Z]\w*)\(", source.read_text(), flags=re.M)
    }


def body(function: Function, written: bool) -> list[str]:
    lines, arguments = [], []
    devices = [name for kind, name in function.parameters if function.is_device(kind)]
    if function.name not in FREE:
        number = f"0x{function_id(function.name):08x}u"
        for name in devices:
            lines += [f"const struct gs_device *{name}_ = NULL;"]
        if devices:
            for name in devices:
                lines += [f"GS_CHECK(gs_enter_device({name}, {number}, &{name}_));"]
        else:
            lines += [f"GS_CHECK(gs_enter({number}));"]
    for kind, name in function.parameters:
        if function.is_device(kind):
            arguments.append(f"{name}_")
            continue
        arguments.append(name)
        if written and kind.endswith("*") and not function.may_be_null(name):
            lines.append(f"GS_CHECK({name} ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT);")
    if written:
        lines.append(f"return {function.inner}({', '.join(arguments)});")
    else:
        lines += [f"(void){argument};" for argument in arguments]
        lines.append(f'return gs_not_simulated("{function.name}");')
    return lines


def main(arguments: list[str]) -> int:
    header, output, sources = Path(arguments[0]), Path(arguments[1]), [Path(name) for name in arguments[2:]]
    declared = functions(header.read_text())
    written = handwritten(sources)
    by_inner = {function.inner: function for function in declared}
    unknown = [
        f"{source}:{name}: nvml.h has no such function, got {name}; name it gs + the function without nvml"
        for name, source in written.items()
        if name not in by_inner
    ]
    if unknown or not declared:
        print(*(unknown or [f"{header}: no function found, got 0; is it NVML's header?"]), sep="\n", file=sys.stderr)
        return 1
    names = ", ".join(str(source) for source in ("nvml.h", "native/src"))
    note = f"/* Generated from {names} by native/tools/exports.py. */\n"
    output.mkdir(parents=True, exist_ok=True)
    (output / "exports.h").write_text(
        f"{note}#ifndef GPU_SIM_EXPORTS_H\n#define GPU_SIM_EXPORTS_H\n#include \"state.h\"\n\n"
        + "".join(f"{f.prototype(f.inner, 'const struct gs_device *')};\n" for f in declared if f.inner in written)
        + "\n#endif\n"
    )  # fmt: skip
    (output / "exports.c").write_text(
        f"{note}#include \"exports.h\"\n\n"
        "#define GS_CHECK(call) do { nvmlReturn_t result_ = (call); "
        "if (result_ != NVML_SUCCESS) return result_; } while (0)\n\n"
        + "\n".join(
            f"GS_EXPORT {f.prototype(f.name, 'nvmlDevice_t')} {{\n"
            + "".join(f"    {line}\n" for line in body(f, f.inner in written)) + "}\n"
            for f in declared
        )
    )  # fmt: skip
    (output / "functions.c").write_text(
        f"{note}#include \"functions.h\"\n\nconst struct gs_function gs_functions[] = {{\n"
        + "".join(
            f'    {{"{f.name}", {int(any(f.is_device(kind) for kind, _ in f.parameters))}}},\n'
            for f in sorted(declared, key=lambda f: f.name) if f.name not in FAULTLESS
        )
        + "    {0, 0},\n};\n"
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
