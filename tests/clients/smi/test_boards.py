# SPDX-License-Identifier: Apache-2.0
"""Every view of the real nvidia-smi on every board: it ends by itself, says what it was asked, and its XML is whole."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ElementTree

import pytest
import yaml

from tests.clients.smi.program import Smi
from tests.harness.versions import CHECKOUT

pytestmark = pytest.mark.native
PROFILES = {path.stem: yaml.safe_load(path.read_text()) for path in (CHECKOUT / "native/profiles").glob("*.yaml")}
SIZES = [(1, "h100-80gb-hbm3", 54321), (7, "tesla-t4", 2345), (16, "a100-sxm4-40gb", None)]
SECTIONS = (
    "MEMORY UTILIZATION ECC TEMPERATURE POWER CLOCK COMPUTE PIDS PERFORMANCE SUPPORTED_CLOCKS PAGE_RETIREMENT "
    "ACCOUNTING ENCODER_STATS FBC_STATS ROW_REMAPPER VOLTAGE"
).split()
VIEWS = [
    [], ["-L"], ["-q"], ["-q", "-x"], *(["-q", "-d", name] for name in SECTIONS), ["topo", "-m"], ["topo", "-p2p", "r"],
    ["nvlink", "-s"], ["nvlink", "-c"], ["nvlink", "-e"], ["dmon", "-c", "1"], ["pmon", "-c", "1"], ["mig", "-lgip"],
    ["vgpu"], ["clocks"], ["-B"], ["--list-gpus"], ["-h"], ["--help-query-gpu"], ["-r"], ["-i", "99"],
    ["--query-gpu=name,uuid,memory.total", "--format=csv"], ["--query-compute-apps=pid,name", "--format=csv"],
    ["--query-accounted-apps=pid", "--format=csv"], ["--query-retired-pages=address", "--format=csv"],
    ["--query-remapped-rows=gpu_uuid", "--format=csv"], ["--query-supported-clocks=gr", "--format=csv"],
]  # fmt: skip


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[1]}-x{size[0]}")
def board(request, fetched, root):
    """nvidia-smi, the count, the profile, and the memory in MiB."""
    count, profile, mib = request.param
    smi = Smi(*fetched, root, count=count, profile=profile, **({"memory_mib": mib} if mib else {}))
    return smi, count, PROFILES[profile], mib or PROFILES[profile]["memory"]["total_mib"]


@pytest.mark.parametrize("loaded", [False, True], ids=["idle", "loaded"])
def test_no_view_crashes_hangs_or_says_nothing(board, loaded):
    smi, count, profile, _ = board
    if loaded:
        for slot in range(count):
            smi.driver.tool("set", slot, "utilization", 40 + slot)
            smi.driver.process(slot, 1000 + slot, 1, 1 << 28, "/usr/bin/train")
    ended = {" ".join(view): smi.run(*view) for view in VIEWS}
    assert {view: run.returncode for view, run in ended.items() if not 0 <= run.returncode < 128} == {}
    silent = [view for view, run in ended.items() if not run.stdout + run.stderr]
    assert [view for view in silent if profile["nvlink"]["links"] or not view.startswith("nvlink")] == []


def test_the_list_and_a_query(board):
    smi, count, profile, mib = board
    listed = [re.fullmatch(r"GPU (\d+): (.*) \(UUID: (GPU-[0-9a-f-]{36})\)", line) for line in smi("-L").splitlines()]
    assert [(int(gpu[1]), gpu[2]) for gpu in listed] == [(i, profile["product_name"]) for i in range(count)]
    head, *rows = csv.reader(
        smi("--query-gpu=name,uuid,memory.total", "--format=csv").splitlines(), skipinitialspace=True
    )
    assert head == ["name", "uuid", "memory.total [MiB]"]
    assert rows == [[gpu[2], gpu[3], f"{mib} MiB"] for gpu in listed]


def section(text: str, title: str) -> list[dict[str, str]]:
    """The `name : value` lines below a title of `-q`, for each GPU."""
    found = []
    for block in re.split(rf"^    {title}$\n", text, flags=re.MULTILINE)[1:]:
        lines = re.match(r"(?:        .*\n)*", block)[0].splitlines()
        found.append({name.strip(): value.strip() for name, value in (line.split(" : ") for line in lines)})
    return found


def test_sections_in_words(board):
    smi, count, profile, mib = board
    for slot in range(count):
        smi.driver.tool("set", slot, "utilization", 40 + slot)
    memory = section(smi("-q", "-d", "MEMORY"), "FB Memory Usage")
    assert [gpu["Total"] for gpu in memory] == [f"{mib} MiB"] * count
    for gpu in memory:
        numbers = {name: int(value.split()[0]) for name, value in gpu.items()}
        parts = numbers["Reserved"] + numbers["Used"] + numbers["Free"]
        assert abs(parts - numbers["Total"]) <= 1, "each is rounded by itself"
    bar1 = section(smi("-q", "-d", "MEMORY"), "BAR1 Memory Usage")
    assert [gpu["Total"] for gpu in bar1] == [f"{profile['memory']['bar1_mib']} MiB"] * count
    load = section(smi("-q", "-d", "UTILIZATION"), "Utilization")
    assert [gpu["Gpu"] for gpu in load] == [f"{40 + slot} %" for slot in range(count)]


def test_everything_as_xml_agrees_with_the_profile(board):
    smi, count, profile, mib = board
    log = ElementTree.fromstring(smi("-q", "-x"))
    assert (log.findtext("attached_gpus"), log.findtext("driver_version")) == (str(count), smi.version)
    gpus = log.findall("gpu")
    assert len(gpus) == len({gpu.findtext("uuid") for gpu in gpus}) == len({gpu.get("id") for gpu in gpus}) == count
    power, state, links, features = profile["power"], profile["state"], profile["pci"], profile["identity"]["features"]
    wanted = {
        "product_name": profile["product_name"],
        "product_architecture": profile["identity"]["architecture"].capitalize(),
        "vbios_version": profile["identity"]["vbios"],
        "board_part_number": profile["identity"]["board_part_number"],
        "gpu_part_number": profile["identity"]["gpu_part_number"],
        "inforom_version/img_version": profile["identity"]["inforom"]["image"],
        "inforom_version/ecc_object": profile["identity"]["inforom"]["ecc"],
        "pci/pci_device_id": f"{links['device_id']:08X}",
        "pci/pci_sub_system_id": f"{links['subsystem_id']:08X}",
        "pci/pci_gpu_link_info/pcie_gen/max_link_gen": str(links["generation_max"]),
        "pci/pci_gpu_link_info/link_widths/max_link_width": f"{links['width_max']}x",
        "pci/tx_util": f"{links['tx_kbps']} KB/s",
        "pci/replay_counter": str(links["replays"]),
        "sparse_operation_mode": "Disabled" if "sparse_operation_mode" in features else "N/A",
        "addressing_mode": "HMM",
        "performance_state": f"P{state['pstate']}",
        "mig_mode/current_mig": "Disabled" if "mig" in features else "N/A",
        "fb_memory_usage/total": f"{mib} MiB",
        "bar1_memory_usage/total": f"{profile['memory']['bar1_mib']} MiB",
        "utilization/gpu_util": "0 %",
        "ecc_mode/current_ecc": "Enabled" if state["ecc"] else "Disabled",
        "temperature/gpu_temp": f"{profile['temperature']['idle']} C",
        "gpu_power_readings/min_power_limit": f"{power['min_mw'] / 1000:.2f} W",
        "gpu_power_readings/max_power_limit": f"{power['max_mw'] / 1000:.2f} W",
        "gpu_power_readings/default_power_limit": f"{power['default_mw'] / 1000:.2f} W",
        "clocks/sm_clock": f"{profile['clocks']['graphics']['idle']} MHz",
        "clocks/video_clock": f"{profile['clocks']['video']['idle']} MHz",
        "max_clocks/mem_clock": f"{profile['clocks']['memory']['max']} MHz",
        "processes": "",
    }
    for gpu in gpus:
        assert {path: (gpu.findtext(path) or "").strip() for path in wanted} == wanted


def test_links_between_gpus(board):
    smi, count, profile, _ = board
    lines = smi("nvlink", "-s").splitlines()
    links = [line for line in lines if "Link" in line]
    assert len(links) == count * profile["nvlink"]["links"]
    matrix = re.sub(r"\x1b\[\d*m", "", smi("topo", "-m")).splitlines()
    for i, line in enumerate(matrix[1 : count + 1]):
        # Two and two sit behind one PCIe switch.
        plain = ["X" if i == j else "PIX" if i // 2 == j // 2 else "NODE" for j in range(count)]
        linked = ["X" if i == j else f"NV{profile['nvlink']['links']}" for j in range(count)]
        assert line.split()[: count + 1] == [f"GPU{i}", *(linked if profile["nvlink"]["switched"] else plain)]
