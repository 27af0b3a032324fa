# SPDX-License-Identifier: Apache-2.0
"""Whole outputs of ours and of the real nvidia-smi on one inventory: every view, board, count, state and pod."""

from __future__ import annotations

import itertools
import re

import pytest

from tests.clients.smi.program import Smi

pytestmark = pytest.mark.native
BOARDS = ("a100-sxm4-40gb", "h100-80gb-hbm3", "tesla-t4")
SECTIONS = (
    "MEMORY UTILIZATION ECC TEMPERATURE POWER CLOCK COMPUTE PIDS PERFORMANCE SUPPORTED_CLOCKS PAGE_RETIREMENT "
    "ACCOUNTING ENCODER_STATS SUPPORTED_GPU_TARGET_TEMP VOLTAGE FBC_STATS ROW_REMAPPER RESET_STATUS "
    "GSP_FIRMWARE_VERSION"
).split()
APPS = "timestamp,gpu_name,gpu_bus_id,gpu_serial,gpu_uuid,pid,process_name,name,used_gpu_memory,used_memory"
ROWS = "timestamp,gpu_name,gpu_bus_id,gpu_serial,gpu_uuid," + ",".join(
    f"remapped_rows.{name}" for name in ("correctable", "uncorrectable", "pending", "failure")
)
VIEWS = [
    [], ["-L"], ["-q"], ["-q", "-x"], ["topo", "-m"], ["topo", "-mp"], ["--version"], ["-B"], ["-q", "-u"],
    *(["-q", "-d", name] for name in SECTIONS), ["-q", "-d", "ecc,POWER,Pids"], ["-q", "-d", ""],
    *([f"--query-compute-apps={APPS}", f"--format={form}"] for form in ("csv", "noheader,csv", "csv,nounits")),
    [f"--query-remapped-rows={ROWS}", "--format=csv"],
]  # fmt: skip


def fields(smi: Smi) -> list[str]:
    """All that the real one can be asked, by each of their names."""
    named = re.findall(r'^"([\w.]+)"(?: or "([\w.]+)")?$', smi("--help-query-gpu"), flags=re.MULTILINE)
    return sorted({name for names in named for name in names if name})


def one_by_one(smi: Smi) -> list[list[str]]:
    return [[f"--query-gpu={field}", "--format=csv"] for field in fields(smi)]


def all_at_once(smi: Smi) -> list[list[str]]:
    asked = ",".join(fields(smi))
    return [[f"--query-gpu={asked}", f"--format={form}"] for form in ("csv", "csv,noheader", "csv,noheader,nounits")]


@pytest.fixture(params=itertools.product(BOARDS, (1, 3, 8)), ids=lambda board: f"{board[0]}-x{board[1]}")
def board(request, newest, root):
    profile, count = request.param
    return Smi(*newest, root, profile=profile, count=count)


def test_every_view(board):
    assert board.differing(VIEWS) == {}


def test_every_view_of_gpus_in_use(board):
    for slot in range(int(board("--query-gpu=count", "--format=csv,noheader").split()[0])):
        board.driver.tool("set", slot, "utilization", 37 + 9 * slot)
        board.driver.process(slot, 4242 + slot, 1, (slot + 1) << 28, f"/usr/bin/train-{slot}")
    assert board.differing(VIEWS + all_at_once(board)) == {}


@pytest.mark.parametrize("profile", BOARDS)
def test_every_field(newest, root, profile):
    smi = Smi(*newest, root, profile=profile, count=2)
    asked = one_by_one(smi)
    assert len(asked) > 170
    assert smi.differing(asked + all_at_once(smi)) == {}


STATES = [
    ("throttle", "0x1ff"), ("throttle", "0x48"), ("throttle", "0x124"), ("nvlink_down", "21"),
    ("power_limit", "234567"), ("ecc_dram", "7"), ("ecc_dram", "18446744073709551615"), ("utilization", "57"),
]  # fmt: skip


@pytest.mark.parametrize("profile", BOARDS)
@pytest.mark.parametrize(("what", "value"), STATES)
def test_states(newest, root, profile, what, value):
    smi = Smi(*newest, root, profile=profile, count=3)
    before = smi.run_ours("-q").stdout + smi.run_ours("topo", "-m").stdout
    smi.driver.tool("set", 1, what, value)
    assert smi.differing(VIEWS + all_at_once(smi)) == {}
    after = smi.run_ours("-q").stdout + smi.run_ours("topo", "-m").stdout
    assert re.sub("(?m)^Timestamp.*", "", before) != re.sub("(?m)^Timestamp.*", "", after) or (
        what == "nvlink_down" and profile == "tesla-t4"
    )


BROKEN = [
    "ecc --gpu 0 --location l2 --uncorrected 4", "ecc --gpu 1 --location sram --uncorrected 3",
    "ecc --gpu 2 --location sram --corrected 9", "ecc --gpu 1 --corrected 5",
    "ecc --gpu 0 --location cbu --corrected 2",
    "set --gpu 0 compute-mode=3 pstate=8", "set --gpu 1 compute-mode=2 pstate=15", "set --gpu 2 persistence-mode=0",
    "set --gpu 1 temperature=88C memory-used=7777MiB", "throttle --gpu 2 hw-slowdown sw-thermal",
]  # fmt: skip


@pytest.mark.parametrize("profile", BOARDS)
def test_what_ctl_breaks(newest, root, profile):
    smi = Smi(*newest, root, profile=profile, count=3)
    links = [] if profile == "tesla-t4" else ["nvlink-down --gpu 2 --link 0,4", "nvlink-down --gpu 1 --link all"]
    changes = [[option, value] for option, value in (("-pm", "0"), ("-pm", "1"), ("-c", "0"), ("-c", "2"), ("-c", "3"))]
    for line in [*BROKEN, *links]:
        smi.ctl(*line.split())
        assert smi.differing(VIEWS[:6] + changes + all_at_once(smi)) == {}, line
    assert all(word in smi.run_ours().stdout for word in ("P15", "P8", "E. Process", "Prohibited", "7777MiB", "88C"))


@pytest.mark.parametrize("profile", BOARDS)
def test_figures_are_rounded_alike(newest, root, profile):
    """A few loads give powers that end in half of a hundredth of a watt."""
    smi = Smi(*newest, root, profile=profile, count=1)
    asked = [["--query-gpu=power.draw,power.draw.instant,temperature.gpu,clocks.sm,clocks.mem", "--format=csv"]]
    for load in range(101):
        smi.driver.tool("set", 0, "utilization", load)
        assert smi.differing(asked) == {}, load


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_lost(newest, root, lost):
    smi = Smi(*newest, root, count=3)
    uuids = re.findall(r"UUID: (\S+)\)", smi("-L"))
    smi.driver.tool("set", lost, "lost", 1)
    by_id = [["-i", name, *view] for name in ("0", "1", "2", "00004E56:02:00.0", *uuids) for view in ([], ["-q"])]
    assert smi.differing(VIEWS + by_id + one_by_one(smi)) == {}
    assert "ERR!" in smi.run_ours().stdout


KINDS = [(9, 1, "c"), (8, 2, "g"), (5, 4, "mps-only"), (12, 3, "c+g"), (11, 5, "m+c"), (6, 7, "all<of>&them\"'"),
         (20, 1, "/" + "a" * 37), (21, 2, "/" + "b" * 38), (4194304, 1, "/" + "c" * 60)]  # fmt: skip


@pytest.mark.parametrize("name", ["X" * 27, "X" * 28, "A&B <C>"])
def test_processes_and_names(newest, root, name):
    smi = Smi(*newest, root, count=2, name=name, memory_mib=54321)
    for pid, kind, command in KINDS:
        smi.driver.process(1, pid, kind, pid << 20 if pid < 100 else 39 << 30, command)
    assert smi.differing(VIEWS) == {}
    assert len(re.findall(r"MiB[ |]*$", smi.run_ours().stdout, flags=re.MULTILINE)) == len(KINDS) - 1


@pytest.mark.parametrize("nodes", [(0,), (1, 2), (2,), (0, 1, 2, 3), (3, 5, 6)])
def test_in_a_pod(newest, root, nodes):
    smi = Smi(*newest, root, count=8)
    smi.driver.devices.mkdir()
    for node in nodes:
        (smi.driver.devices / f"nvidia{node}").touch()
        smi.driver.process(node, 100 + node, 1, 1 << 30, "/usr/bin/train")
    outside = [["-i", name, "--query-gpu=index,uuid", "--format=csv"] for name in ("0", "1", "5", "4e56:06:00.0")]
    assert smi.differing(VIEWS + outside + all_at_once(smi)) == {}
    assert smi.run_ours("-L").stdout.count("GPU ") == len(nodes)


def test_no_gpu_at_all(newest, root):
    smi = Smi(*newest, root, count=0)
    assert smi.differing(VIEWS) == {}
