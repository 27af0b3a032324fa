# SPDX-License-Identifier: Apache-2.0
"""`ctl status` tells everything that was made different and that clear or reset takes back, in the shape of
docs/ctl-status.schema.json."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import versions
from tests.node.control import SCHEMA, ctl, status
from tests.node.node_root import NodeRoot

pytestmark = pytest.mark.native

LISTS = ("native/node/ctl_lists.h", "native/src/return_codes.h", "native/src/inventory.h")
PAGE = versions.CHECKOUT / "docs/ctl-status.md"


def found(node: NodeRoot, index: int) -> list[dict]:
    return status(node)["gpus"][index]["faults"]


def words(node: NodeRoot, index: int) -> str:
    """The table's last column; the one before it has a fixed width."""
    (line,) = [line for line in ctl(node, "status").stdout.splitlines() if line.startswith(f"{index} ")]
    return line.split("C  ", 1)[1][28:].strip()


def as_set(key: str, low: float, high: float, unit: str, ends: str = "clear") -> dict:
    return {"kind": "set", "ends_with": ends, "key": key, "low": low, "high": high, "unit": unit}


@pytest.mark.parametrize(
    ("command", "expected", "short"),
    [
        (["xid", 94], [{"kind": "xid", "ends_with": "clear", "xid": 94}], "Xid 94"),
        (
            ["lost"],
            [{"kind": "xid", "ends_with": "clear", "xid": 79}, {"kind": "lost", "ends_with": "clear"}],
            "Xid 79, lost",
        ),
        (["set", "temperature=85C"], [as_set("temperature", 85, 85, "C")], "temperature=85C"),
        (["set", "utilization=10-30%"], [as_set("utilization", 10, 30, "%")], "utilization=10-30%"),
        (["set", "memory-utilization=0%"], [as_set("memory-utilization", 0, 0, "%")], "memory-utilization=0%"),
        (["set", "power=77W"], [as_set("power", 77, 77, "W")], "power=77W"),
        (["set", "memory-used=20000MiB"], [as_set("memory-used", 20000, 20000, "MiB")], "memory-used=20000MiB"),
        (["set", "video-clock=600-700MHz"], [as_set("video-clock", 600, 700, "MHz")], "video-clock=600-700MHz"),
        (["set", "pstate=P0"], [as_set("pstate", 0, 0, "")], "pstate=0"),
        (["set", "power-limit=250W"], [as_set("power-limit", 250, 250, "W", "reset")], "power-limit=250W"),
        (["set", "compute-mode=3"], [as_set("compute-mode", 3, 3, "", "reset")], "compute-mode=3"),
        (["set", "persistence-mode=0"], [as_set("persistence-mode", 0, 0, "", "reset")], "persistence-mode=0"),
        (
            ["throttle", "sw-thermal", "gpu-idle"],
            [{"kind": "throttle", "ends_with": "clear", "reason": name} for name in ("gpu-idle", "sw-thermal")],
            "gpu-idle, sw-thermal",
        ),
        (
            ["nvlink-down", "--link", "7,0"],
            [{"kind": "nvlink-down", "ends_with": "clear", "links": [0, 7]}],
            "2 NVLinks down",
        ),
        (
            ["ecc", "--uncorrected", 3, "--location", "sram"],
            [{"kind": "ecc", "ends_with": "reset", "errors": "uncorrected", "location": "sram", "count": 3}],
            "3 uncorrected ECC sram",
        ),
        (
            ["ecc", "--corrected", 5],
            [{"kind": "ecc", "ends_with": "reset", "errors": "corrected", "location": "dram", "count": 5}],
            "5 corrected ECC dram",
        ),
        (
            ["fault", "nvmlDeviceGetName", "UNKNOWN", "--count", 3, "--delay", "1234567us"],
            [
                {
                    "kind": "fault",
                    "ends_with": "clear",
                    "function": "nvmlDeviceGetName",
                    "code": "UNKNOWN",
                    "count": 3,
                    "delay_ms": 1234.567,
                }
            ],
            "nvmlDeviceGetName=UNKNOWN (the first 3) after 1234.567 ms",
        ),
    ],
)
def test_what_was_done_is_told_until_it_is_taken_back(
    node: NodeRoot, command: list, expected: list[dict], short: str
) -> None:
    node.install(3)
    ctl(node, *command, "--gpu", 1)
    assert found(node, 1) == expected
    assert found(node, 0) == found(node, 2) == []
    assert words(node, 1) == short
    assert words(node, 0) == ""
    ctl(node, "clear", "--gpu", 1)
    assert found(node, 1) == [fault for fault in expected if fault["ends_with"] == "reset"]
    ctl(node, "reset", "--gpu", "all")
    assert found(node, 1) == []


def test_everything_at_once_is_in_the_documents_shape(node: NodeRoot) -> None:
    """Each field and each kind of the schema comes out of the program once, so the page tells of nothing else."""
    node.install(4, profile="h100-80gb-hbm3")
    for command in (
        ["lost"],
        ["xid", 31],
        ["ecc", "--corrected", 1],
        ["set", "temperature=40-90C", "memory-used=1MiB"],
        ["throttle", "hw-slowdown"],
        ["nvlink-down", "--link", "all"],
        ["fault", "nvmlDeviceGetUUID", "GPU_IS_LOST"],
    ):
        ctl(node, *command, "--gpu", 2)
    ctl(node, "fault", "nvmlInit_v2", "DRIVER_NOT_LOADED", "--count", 2)
    told = status(node)
    kinds = {fault["kind"]: set(fault) for fault in told["gpus"][2]["faults"]}
    assert kinds == {name: set(entry["properties"]) for name, entry in SCHEMA["definitions"].items()}
    assert set(told) == set(SCHEMA["properties"])
    assert set(told["gpus"][0]) == set(SCHEMA["properties"]["gpus"]["items"]["properties"])
    assert told["faults"] == [
        {
            "kind": "fault",
            "ends_with": "clear",
            "function": "nvmlInit_v2",
            "code": "DRIVER_NOT_LOADED",
            "count": 2,
            "delay_ms": 0,
        }
    ]
    assert ctl(node, "status").stdout.splitlines()[-1] == "node: nvmlInit_v2=DRIVER_NOT_LOADED (the first 2)"


def test_every_field_says_what_it_is_and_in_which_unit() -> None:
    def objects(entry: dict):
        if "properties" in entry:
            yield entry
        for inner in [*entry.get("properties", {}).values(), *entry.get("definitions", {}).values()]:
            yield from objects(inner)
        if "items" in entry:
            yield from objects(entry["items"])

    seen = list(objects(SCHEMA))
    assert len(seen) == 2 + len(SCHEMA["definitions"])
    for entry in seen:
        assert entry["additionalProperties"] is False
        assert entry["required"] == list(entry["properties"])
        for name, field in entry["properties"].items():
            assert len(field["description"]) > 5, name
            if field["type"] in ("integer", "number"):
                assert "minimum" in field, f"{name} has no range"
            assert f"| `{name}` | " in PAGE.read_text()


def test_declared_ones_are_told_as_such(node: NodeRoot) -> None:
    node.install(3)
    lines = "set --gpu 1 temperature=95C\nfault nvmlEventSetCreate UNKNOWN\n"
    ctl(node, "declare", input=lines)
    told = status(node)
    assert [gpu["declared"] for gpu in told["gpus"]] == [False, True, False]
    assert told["declared"] is True
    assert found(node, 1) == [as_set("temperature", 95, 95, "C")]
    assert words(node, 1) == "temperature=95C (declared)"
    assert ctl(node, "status").stdout.splitlines()[-1] == "node: nvmlEventSetCreate=UNKNOWN (declared)"
    ctl(node, "declare", input="")
    assert status(node)["declared"] is False
    assert [gpu["faults"] for gpu in status(node)["gpus"]] == [[], [], []]


def test_another_model_and_a_pods_load_are_no_fault(node: NodeRoot) -> None:
    """What is compared with is the node's own configuration, whatever it is changed to."""
    node.install(2, profile="tesla-t4")
    node.install(3, profile="h100-80gb-hbm3", memory_mib=40000)
    holder = f"{node.uuids()[2]} team/pod main pid=77 memory=40% utilization=30\n"
    node.run("allocate", "--root", node.path, input=holder)
    assert status(node)["gpus"][2]["memory_used_mib"] > 10000
    assert [gpu["faults"] for gpu in status(node)["gpus"]] == [[], [], []]
    ctl(node, "set", "--gpu", 2, "power=90W")
    node.install(1, profile="h100-80gb-hbm3", memory_mib=40000)
    gpus = status(node)["gpus"]
    assert [(gpu["index"], gpu["health"], gpu["faults"]) for gpu in gpus] == [(0, "ok", []), (2, "removed", [])]


def test_a_node_of_a_newer_program_is_shown_as_far_as_it_is_known(node: NodeRoot) -> None:
    node.install(2)
    ctl(node, "xid", "--gpu", 1, 79)
    content = bytearray(node.inventory().read_bytes())
    header = bytes(content[:4096]).replace(b"a100-sxm4-40gb", b"a900-sxm4-40gb")
    assert header != content[:4096]
    content[:4096] = header
    node.inventory().write_bytes(content)
    done = ctl(node, "status", "--json")
    assert "no such profile, got a900-sxm4-40gb" in done.stderr
    assert [fault["kind"] for fault in json.loads(done.stdout)["gpus"][1]["faults"]] == ["xid"]


@pytest.mark.parametrize(
    ("file", "old", "new", "stale"),
    [
        ("native/node/ctl_lists.h", '"hw-power-brake"', '"brake"', ["ctl-status.schema.json", "ctl-status.md"]),
        ("native/node/ctl_lists.h", "GS_XID_MAX 999", "GS_XID_MAX 998", ["ctl-status.schema.json", "ctl-status.md"]),
        ("native/src/return_codes.h", "NVML_ERROR_NO_DATA,", "NVML_ERROR_NO_DATUM,", ["NVML_ERROR_NO_DATUM"]),
        ("docs/ctl-status.schema.json", '"uuid": {', '"uid": {', ["ctl-status.md"]),
        ("docs/ctl-status.md", "<!-- end of fields -->", "", ["<!-- end of fields -->"]),
    ],
)
def test_a_page_that_is_not_fresh_is_noticed(tmp_path: Path, file: str, old: str, new: str, stale: list[str]) -> None:
    for part in ("docs", "native/tools", *LISTS, "pyproject.toml"):
        source, target = versions.CHECKOUT / part, tmp_path / part
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    program = [sys.executable, tmp_path / "docs/tools/generate.py"]
    assert subprocess.run(program, capture_output=True).returncode == 0
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new))
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 1
    for name in stale:
        assert name in done.stdout + done.stderr
