# SPDX-License-Identifier: Apache-2.0
"""A line of gpuSim.faults is judged alike, and in the same words, by `check` and by helm, and as the node program
judges it: nobody hears of a mistake from an Event on the node alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from generator import chart, check
from tests.generator.conftest import CHART
from tests.node.node_root import NodeRoot

FUNCTION = "nvmlDeviceGetMemoryInfo"
# GPUs 0 to 3 of an H100.
RIGHT = [
    "xid --gpu 3 79", "xid 1 --gpu=0", "xid --gpu all 999", "xid --gpu 0,2,0 94", "xid --gpu 1 79 # of 2019",
    "lost --gpu 1", "lost --gpu all",
    "set --gpu 0 temperature=95C", "set temperature=0C --gpu 0", "set --gpu 0 temperature=40-150C power=0W",
    "set --gpu 1 memory-temperature=77C utilization=0-100% memory-utilization=1%", "set --gpu 0 power=100-700W",
    "set --gpu 0 power-limit=200W", "set --gpu 0 memory-used=81079MiB", "set --gpu 0 memory-used=0MiB",
    "set --gpu 0 graphics-clock=1980MHz memory-clock=1-2619MHz video-clock=1545MHz", "set --gpu 0 pstate=P8",
    "set --gpu 0 pstate=15 persistence-mode=1 compute-mode=2", "set --gpu 0 compute-mode=0",
    "set --gpu 0 temperature=0000000000000000000000000000000085C",
    "throttle --gpu 2 hw-thermal", "throttle --gpu 2 sw-power-cap gpu-idle display-clock", "throttle --gpu 2 none",
    "throttle --gpu 2 none none", "nvlink-down --gpu 0 --link 3", "nvlink-down --link=all --gpu 0",
    "nvlink-down --gpu 0 --link 0,17,05", f"fault {FUNCTION} UNKNOWN", f"fault {FUNCTION} unknown --gpu 1",
    "fault DeviceGetName NVML_ERROR_GPU_IS_LOST --gpu 0,1", "fault NVMLDeviceGetName nvml_error_timeout --count 1",
    f"fault {FUNCTION} 999 --count 4294967295", f"fault {FUNCTION} 015", f"fault {FUNCTION} SUCCESS --delay 10s",
    f"fault {FUNCTION} NVML_SUCCESS --delay=1us", f"fault --delay 10000ms --gpu 0 {FUNCTION} 0",
    "fault nvmlInit_v2 DRIVER_NOT_LOADED", "fault nvmlEventSetWait_v2 UNKNOWN --count 2 --delay 5ms",
]  # fmt: skip
WRONG = [
    "xid --gpu 4 79", "xid --gpu 0 0", "xid --gpu 0 1000", "xid --gpu 0 -79", "xid --gpu 0", "xid --gpu 0 48 79",
    "xid 79", "xid --gpu 0 79 --count 3", "xid --gpu 0 79 --gpu 1", "xid --gpu 0, 79", "xid 79 --gpu",
    "xid --gpu -1 79", "xid --gpu 0 seventy-nine", "xid --gpu 0 99999999999999999999", "xid --gpu 0 # 79",
    "lost --gpu 4", "lost --gpu 0 1", "lost all", "lost --gpu= 1", "lost --gpu all --root /etc", "lost --gpu ALL",
    "set --gpu 0", "set --gpu 0 temprature=95C", "set --gpu 0 temperature", "set --gpu 0 temperature=95",
    "set --gpu 0 temperature=95F", "set --gpu 0 temperature=151C", "set --gpu 0 temperature=C",
    "set --gpu 0 temperature=-5C", "set --gpu 0 temperature=90-80C", "set --gpu 0 temperature=80-151C",
    "set --gpu 0 temperature=80C-90C", "set --gpu 0 temperature=80-C", "set --gpu 0 temperature=1-2-3C",
    "set --gpu 0 temperature=80C temperature=81C", "set --gpu 0 utilization=101%", "set --gpu 0 utilization=50",
    "set --gpu 0 power=701W", "set --gpu 0 power=1kW", "set --gpu 0 power-limit=199W", "set --gpu 0 power-limit=701W",
    "set --gpu 0 power-limit=200-300W", "set --gpu 0 memory-used=81080MiB", "set --gpu 0 memory-used=1GiB",
    "set --gpu 0 memory-used=1-2MiB", "set --gpu 0 graphics-clock=0MHz", "set --gpu 0 graphics-clock=1981MHz",
    "set --gpu 0 memory-clock=2620MHz", "set --gpu 0 video-clock=1546MHz", "set --gpu 0 pstate=16",
    "set --gpu 0 pstate=p8", "set --gpu 0 pstate=", "set --gpu 0 persistence-mode=2", "set --gpu 0 compute-mode=1",
    "set --gpu 0 compute-mode=4", "set --gpu 0 power=0x10W", "set --gpu 0 power=18446744073709551617W",
    f"set --gpu 0 temperature={'0' * 46}85C", "set --gpu 0 =85C",
    "throttle --gpu 0", "throttle --gpu 0 heat", "throttle --gpu 0 hw_thermal", "throttle --gpu 0 none hw-thermal",
    "throttle hw-thermal", "nvlink-down --gpu 0", "nvlink-down --gpu 0 --link 18", "nvlink-down --gpu 0 --link 3,",
    "nvlink-down --gpu 0 --link", "nvlink-down --gpu 0 3", "nvlink-down --gpu 0 --link 1 --link 2",
    "nvlink-down --gpu 0 --link ALL", f"nvlink-down --gpu 0 --link {'0' * 23}1", "nvlink-down --link 3",
    f"fault {FUNCTION}", f"fault {FUNCTION} UNKNOWN TIMEOUT", "fault nvmlDeviceGetMemoryInf UNKNOWN",
    "fault nvmldevicegetname UNKNOWN", "fault nvmlShutdown UNKNOWN", "fault Frobnicate UNKNOWN",
    f"fault {FUNCTION} UNKNOWNS", f"fault {FUNCTION} 31", f"fault {FUNCTION} 99999999999", f"fault {FUNCTION} -1",
    f"fault {FUNCTION} SUCCESS", f"fault {FUNCTION} 0 --count 3", f"fault {FUNCTION} UNKNOWN --count 0",
    f"fault {FUNCTION} UNKNOWN --count 4294967296", f"fault {FUNCTION} UNKNOWN --count many",
    f"fault {FUNCTION} UNKNOWN --delay 5", f"fault {FUNCTION} UNKNOWN --delay 11s", f"fault {FUNCTION} UNKNOWN --delay",
    f"fault {FUNCTION} UNKNOWN --delay 0ms", f"fault {FUNCTION} UNKNOWN --delay 10001ms",
    f"fault {FUNCTION} UNKNOWN --delay 1m", f"fault {FUNCTION} UNKNOWN --delay 0.5s",
    "fault nvmlInit_v2 UNKNOWN --gpu 0",
    f"fault {FUNCTION} UNKNOWN --gpu 9", f"fault {FUNCTION} UNKNOWN --gpu=", f"fault {FUNCTION} UNKNOWN --link 1",
    f"fault {FUNCTION} UNKNOWN --count 1 --count 2", "throttle --gpu 0" + " none" * 70,
]  # fmt: skip
# What a node takes and a values file may not hold: Helm reads 08 as nothing at all.
STRICTER = ["xid --gpu 03 79", "xid --gpu 3 079"]


def values(faults: list[str], **more: object) -> dict:
    return {"gpuSim": {"profile": "h100-80gb-hbm3", "deviceCount": 4, "faults": faults, **more}}


def of_check(given: dict) -> list[tuple[int, str]]:
    told = [str(problem) for problem in check.problems_of(given, "values")]
    return [(int(re.match(r"values:gpuSim\.faults\[(\d+)\]", line)[1]), line) for line in told]


def without_value(told: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The generator cuts a long one."""
    return [(place, re.sub(', got "[^;]*; ', "; ", line)) for place, line in told]


def of_helm(helm, folder: Path, given: dict) -> list[tuple[int, str]]:
    """The same, without the `--set` that only the chart knows."""
    file = folder / "values.yaml"
    file.write_text(json.dumps(given))
    done = helm("template", "r", CHART, "-f", file, "--kube-version", "1.34.4")
    lines = [line for line in done.stderr.splitlines() if line.startswith("values:gpuSim.faults[")]
    assert bool(lines) == bool(done.returncode), done.stderr
    return [(int(re.search(r"\[(\d+)\]", line)[1]), line.rsplit(", or --set", 1)[0]) for line in lines]


@pytest.mark.unit
def test_the_generator_knows_right_from_wrong() -> None:
    told = of_check(values(RIGHT + WRONG + STRICTER))
    assert sorted({place for place, _ in told}) == list(range(len(RIGHT), len(RIGHT + WRONG + STRICTER)))


@pytest.mark.helm
def test_helm_says_the_same_in_the_same_words(helm, tmp_path: Path) -> None:
    given = values(RIGHT + WRONG + STRICTER)
    assert without_value(of_helm(helm, tmp_path, given)) == without_value(of_check(given))


@pytest.mark.native
def test_the_node_program_judges_alike(native: Path, tmp_path: Path) -> None:
    node = NodeRoot(native / "gpu-sim", native / "libnvidia-ml-mock.so", tmp_path / "node")
    node.install(4, profile="h100-80gb-hbm3")

    def taken(line: str) -> bool:
        code = node.run("ctl", "declare", "--root", node.path, input=f"{line}\n", code=None).returncode
        node.run("ctl", "declare", "--root", node.path, input="")
        assert code in (0, 1, 2)
        return code == 0

    assert [line for line in RIGHT + STRICTER if not taken(line)] == []
    assert [line for line in WRONG if taken(line)] == []


@pytest.mark.helm
@pytest.mark.parametrize(
    ("profile", "more", "right", "wrong"),
    [
        ("a100-sxm4-40gb", {}, ["memory-used=40442MiB", "power=400W"], ["memory-used=40443MiB", "power=401W"]),
        ("a100-sxm4-40gb", {"memoryMB": 4144}, ["memory-used=3626MiB"], ["memory-used=3627MiB"]),
        ("a100-sxm4-40gb", {"memoryMB": 1001}, ["memory-used=875MiB"], ["memory-used=876MiB"]),
        ("tesla-t4", {}, ["power-limit=60W", "memory-clock=5001MHz"], ["power-limit=59W", "memory-temperature=50C"]),
    ],
)
def test_each_boards_own_ranges(
    helm, native: Path, tmp_path: Path, profile: str, more: dict, right: list[str], wrong: list[str]
) -> None:
    """The node's arithmetic, on boards with another memory than the profile's too."""
    lines = [f"set --gpu 0 {word}" for word in right + wrong]
    given = values(lines, profile=profile, **more)
    told = of_check(given)
    assert [place for place, _ in told] == list(range(len(right), len(lines)))
    assert of_helm(helm, tmp_path, given) == told
    node = NodeRoot(native / "gpu-sim", native / "libnvidia-ml-mock.so", tmp_path / "node")
    node.install(4, profile=profile, **({"memory-mib": more["memoryMB"]} if more else {}))
    codes = [node.run("ctl", *line.split(), "--root", node.path, code=None).returncode for line in lines]
    assert codes == [0] * len(right) + [1] * len(wrong)


@pytest.mark.helm
def test_a_board_without_links_and_gpus_by_other_names(helm, tmp_path: Path) -> None:
    lines = ["nvlink-down --gpu 0 --link all", "lost --gpu mock-gpu-0,2", "lost --gpu mock-gpu-4", "lost --gpu GPU-1"]
    plain = values(lines, profile="tesla-t4", uuidFormat="plain") | {"devicePlugin": {"enabled": False}}
    told = of_check(plain)
    assert [place for place, _ in told] == [0, 2, 3]
    assert "takes down NVLinks, of which this board has none (a Tesla T4)" in told[0][1]
    assert of_helm(helm, tmp_path, plain) == told
    real = values(["lost --gpu mock-gpu-0", f"lost --gpu GPU-{'0' * 36}"])
    assert [place for place, _ in of_check(real)] == [0]
    assert of_helm(helm, tmp_path, real) == of_check(real)


FAULTS = [name for name in chart.fault_lists()["ofGpu"] if name.startswith("nvmlDeviceGetN")][:17]


@pytest.mark.helm
@pytest.mark.parametrize(
    ("count", "lines", "wrong"),
    [
        (4, [f"xid --gpu {gpu} {xid}" for xid in range(1, 9) for gpu in (0, 1)], 0),
        (4, [*(f"xid --gpu 1,3 {xid}" for xid in range(1, 9)), "xid --gpu 1 8", "lost --gpu 3"], 1),
        (4, [*(f"xid --gpu all {xid}" for xid in range(1, 9)), "xid --gpu 2 9"], 1),
        (4, [f"fault {name} UNKNOWN --gpu {i % 2}" for i, name in enumerate(FAULTS)], 0),
        (4, [f"fault {name} UNKNOWN" for name in FAULTS], 1),
        (64, [f"xid --gpu all {xid}" for xid in (1, 2, 3, 4)], 0),
        (64, [*(f"xid --gpu all {xid}" for xid in (1, 2, 3, 4)), "xid --gpu 0 1"], 1),
    ],
)
def test_lines_that_are_too_many_together(
    helm, native: Path, tmp_path: Path, count: int, lines: list[str], wrong: int
) -> None:
    assert len(FAULTS) == 17
    given = values(lines, deviceCount=count)
    told = of_check(given)
    assert [place for place, _ in told] == [len(lines) - 1] * wrong
    assert of_helm(helm, tmp_path, given) == told
    node = NodeRoot(native / "gpu-sim", native / "libnvidia-ml-mock.so", tmp_path / "node")
    node.install(count, profile="h100-80gb-hbm3")
    text = "".join(f"{line}\n" for line in lines)
    assert node.run("ctl", "declare", "--root", node.path, input=text, code=None).returncode == wrong


@pytest.mark.unit
@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "set --gpu 0 temprature=95C",
            'values:gpuSim.faults[0]: sets a key that is not there (temprature=95C), got "set --gpu 0 temprature=95C"; '
            "write KEY=VALUE, KEY one of temperature, memory-temperature, utilization, memory-utilization, power, "
            "power-limit, memory-used, graphics-clock, memory-clock, video-clock, pstate, persistence-mode, compute",
        ),
        ("set --gpu 0 power=900W", "; give power=0W to 700W, or a range such as 0-700W"),
        ("set --gpu 0 compute-mode=1", "; give compute-mode=0 to 3 but not 1"),
        (
            "throttle --gpu 0 hot",
            "; give none, or some of gpu-idle, applications-clocks, sw-power-cap, hw-slowdown, sync",
        ),
        ("fault nvmlDeviceGetMemoryInf UNKNOWN", "near are nvmlDeviceGetMemoryInfo, nvmlDeviceGetMemoryInfo_v2"),
        (
            "fault nvmlDeviceGetName LOST",
            "; give its number or one of SUCCESS, UNINITIALIZED, INVALID_ARGUMENT",
        ),
        ("nvlink-down --gpu 0 --link 18", "does not have (18), got"),
        ("xid --gpu 0 79 --count 2", "gives an option that is not there (--count), got"),
        ("lost --gpu 7", "; give --gpu 0 to 3"),
    ],
)
def test_a_message_names_file_key_value_and_the_valid_ones(line: str, said: str) -> None:
    ((_, told),) = of_check(values([line]))
    assert said in told
    assert told.startswith("values:gpuSim.faults[0]: ")
    assert f'got "{line}"; ' in told
