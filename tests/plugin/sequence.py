# SPDX-License-Identifier: Apache-2.0
"""The NVML calls of a device plugin from its start to one preferred allocation and one health round, in order.

The golden file holds those of NVIDIA's plugin. `python -m tests.plugin.sequence PROGRAM` records them, `… --write`
into the golden file: only ever with NVIDIA's own program, when a version or an answer of the library changes.
"""

from __future__ import annotations

import difflib
import re
import sys
import tempfile
from pathlib import Path

from tests.harness import native_dir, versions
from tests.harness.wait import wait_until
from tests.plugin import trace_shim
from tests.plugin.stage import Stage, driver_root

GOLDEN = versions.CHECKOUT / "tests" / "golden" / "plugin-nvml-sequence.txt"
GPUS, CHOSEN = 3, 2
HEAD = f"""\
# Every NVML call of NVIDIA's device plugin v{versions.version("device-plugin")}: start, CDI, a preferred allocation of
# {CHOSEN} of {GPUS} GPUs, one health round. function(arguments) = result; & is a buffer, > a handle that is given back.
"""


def record(program: Path, library: Path, folder: Path) -> list[str]:
    """What `program` calls on `library`, in the golden file's form."""
    trace = folder / "trace"
    trace.touch()
    root = driver_root(folder / "driver", trace_shim.build(folder), GPUS)
    with Stage(folder) as stage:
        stage.plugin(
            program,
            TRACE_LIBRARY=str(library),
            TRACE_FILE=str(trace),
            NVML_MOCK_DEVICE_COUNT=str(GPUS),
            CONTAINER_DRIVER_ROOT=str(root),
            DEVICE_LIST_STRATEGY="envvar,cdi-cri",
        )
        stage.expect("devices")
        # From here on only the health check calls: each part of the sequence is complete before the next begins.
        wait_until("the first wait for events", lambda: " begins" in trace.read_text(), 15, seen=stage.said)
        assert stage.ask(f"prefer {CHOSEN}", "preferred").get("ids"), stage.events
        wait_until("a complete health round", lambda: re.search(r"EventSetWait\w*\(.*\) = ", trace.read_text()), 15)
        assert stage.stop() == 0, stage.said()
    return canonical(trace.read_text().splitlines())


def canonical(lines: list[str]) -> list[str]:
    """Handles by what they are, not where; the health check's GPUs, whose order is a map's, by index; its wait last."""
    names: dict[str, str] = {"(nil)": "none"}
    done: list[str] = []
    waits: list[str] = []
    for line in lines:
        call = re.fullmatch(r"(\w+)\((.*)\)( = -?\d+| begins|)", line)
        assert call, f"not a line of a trace: {line!r}"
        name, arguments, result = call.groups()
        given = re.search(r">(0x\w+)", arguments)
        if given and name.startswith("nvmlDeviceGetHandleByIndex"):
            names[given[1]] = f"gpu{arguments.split(',')[0]}"
        elif given:
            kind = name.removeprefix("nvml")
            names.setdefault(given[1], f"{kind}-{sum(one.startswith(kind) for one in names.values())}")
        for pointer in sorted(set(re.findall(r"0x\w+", arguments))):
            arguments = arguments.replace(pointer, names.get(pointer, "unknown"))
        if uuid := re.match(r'"GPU-[^"]*"', arguments):
            arguments = arguments.replace(uuid[0], f"uuid-of-{arguments.rpartition('>')[2]}")
        text = f"{name}({arguments}){result}"
        if result == " begins" or "EventSetWait" in name:
            if result != " begins" and text not in waits:
                waits.append(text)
            continue
        done.append(text)
    return by_gpu(done) + waits


def by_gpu(lines: list[str]) -> list[str]:
    """Sorts what follows the event set's making, up to the next init, by GPU."""
    made = next((i for i, line in enumerate(lines) if line.startswith("nvmlEventSetCreate")), len(lines))
    end = next((i for i, line in enumerate(lines) if i > made and line.startswith("nvmlInit")), len(lines))
    part = lines[made + 1 : end]
    return lines[: made + 1] + sorted(part, key=lambda line: re.findall(r"gpu\d+", line)[-1:]) + lines[end:]


def golden() -> list[str]:
    return [line for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]


def differences(lines: list[str]) -> str:
    """What is not as in the golden file, and what that can mean; empty where all is the same."""
    expected = golden()
    if lines == expected:
        return ""
    shown = list(difflib.unified_diff(expected, lines, "NVIDIA's plugin", "this one", lineterm="", n=1))
    if [line.partition(" = ")[0] for line in lines] == [line.partition(" = ")[0] for line in expected]:
        shown.append("only results differ: the library answers otherwise; if it should, record NVIDIA's plugin again")
    return "\n".join(shown)


def main(words: list[str]) -> int:
    write, programs = "--write" in words, [word for word in words if word != "--write"]
    if len(programs) != 1 or not Path(programs[0]).is_file():
        print(f"sequence: expected the program of NVIDIA's device plugin, got {programs}", file=sys.stderr)
        return 2
    library = native_dir.build() / "libnvidia-ml-mock.so"
    with tempfile.TemporaryDirectory() as folder:
        lines = record(Path(programs[0]), library, Path(folder))
    text = HEAD + "".join(f"{line}\n" for line in lines)
    if write:
        GOLDEN.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
