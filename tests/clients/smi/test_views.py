# SPDX-License-Identifier: Apache-2.0
"""The real nvidia-smi, two versions of it: whole outputs, and a clean refusal of what is not simulated."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from tests.clients.smi.program import Smi

pytestmark = pytest.mark.native

UUIDS = ("GPU-5bbae5c1-9e8a-5768-8e86-b320bb901c40", "GPU-4e81cd69-0626-52c3-a51d-ef4b55f659d0")


def rows(table: str) -> list[list[str]]:
    """The cells of a table's lines, without frames and blanks."""
    lines = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    return [[" ".join(cell.split()) for cell in line] for line in lines if not re.fullmatch(r"[|=+-]*", "".join(line))]


def test_the_plain_table(smi):
    cuda = {"535": "12.2", "550": "12.4"}[smi.version.split(".")[0]]
    head, *table = rows(smi())
    assert head == [f"NVIDIA-SMI {smi.version} Driver Version: {smi.version} CUDA Version: {cuda}"]
    gpu = [[f"{i} NVIDIA A100-SXM4-40GB On", f"00004E56:0{i + 1}:00.0 Off", "0"] for i in range(2)]
    assert table == [
        ["GPU Name Persistence-M", "Bus-Id Disp.A", "Volatile Uncorr. ECC"],
        ["Fan Temp Perf Pwr:Usage/Cap", "Memory-Usage", "GPU-Util Compute M."],
        ["", "", "MIG M."],
        gpu[0],
        ["N/A 33C P0 49W / 400W", "1024MiB / 40960MiB", "0% Default"],
        ["", "", "Disabled"],
        gpu[1],
        ["N/A 33C P0 49W / 400W", "0MiB / 40960MiB", "0% Default"],
        ["", "", "Disabled"],
        ["Processes:"],
        ["GPU GI CI PID Type Process name GPU Memory"],
        ["ID ID Usage"],
        ["0 N/A N/A 4242 C /usr/bin/train 1024MiB"],
    ]


def test_the_list(smi):
    wanted = [f"GPU {i}: NVIDIA A100-SXM4-40GB (UUID: {uuid})" for i, uuid in enumerate(UUIDS)]
    assert smi("-L").splitlines() == wanted


@pytest.mark.parametrize("name", [UUIDS[1], "1", "00004E56:02:00.0", "4e56:02:00.0"])
def test_one_gpu_by_each_of_its_names(smi, name):
    assert smi("-i", name, "--query-gpu=index,uuid", "--format=csv,noheader") == f"1, {UUIDS[1]}\n"


def test_queries(smi):
    fields = (
        "index,uuid,pci.bus_id,memory.total,memory.used,memory.reserved,utilization.gpu,temperature.gpu,power.draw,"
    )
    fields += (
        "clocks.sm,compute_cap,ecc.mode.current,mig.mode.current,fan.speed,pcie.link.gen.max,pcie.link.gen.hostmax"
    )
    assert smi(f"--query-gpu={fields}", "--format=csv,noheader").splitlines() == [
        f"{i}, {uuid}, 00004E56:0{i + 1}:00.0, 40960 MiB, {used} MiB, 518 MiB, 0 %, 33, 49.68 W, 210 MHz, 8.0, "
        "Enabled, Disabled, [N/A], 4, [N/A]"
        for i, (uuid, used) in enumerate(zip(UUIDS, (1024, 0), strict=True))
    ]
    fields = "gpu_uuid,pid,process_name,used_memory"
    assert smi(f"--query-compute-apps={fields}", "--format=csv,noheader,nounits").splitlines() == [
        f"{UUIDS[0]}, 4242, /usr/bin/train, 1024"
    ]


def test_everything_as_xml(smi):
    log = ElementTree.fromstring(smi("-q", "-x"))
    assert log.findtext("driver_version") == smi.version
    assert [gpu.findtext("uuid") for gpu in log.iter("gpu")] == list(UUIDS)
    first = log.find("gpu")
    wanted = {
        "product_name": "NVIDIA A100-SXM4-40GB",
        "product_brand": "NVIDIA",
        "product_architecture": "Ampere",
        "minor_number": "0",
        "board_id": "0x4e560100",
        "gpu_part_number": "20B0-884-A1",
        "pci/pci_device_id": "20B010DE",
        "pci/pci_bus_id": "00004E56:01:00.0",
        "pci/pci_gpu_link_info/pcie_gen/max_link_gen": "4",
        "pci/pci_gpu_link_info/pcie_gen/max_host_link_gen": "N/A",
        "fan_speed": "N/A",
        "fb_memory_usage/total": "40960 MiB",
        "bar1_memory_usage/total": "65536 MiB",
        "ecc_mode/current_ecc": "Enabled",
        "retired_pages/pending_retirement": "N/A",
        "remapped_rows/row_remapper_histogram/row_remapper_histogram_max": "640 bank(s)",
        "temperature/gpu_temp_slow_threshold": "89 C",
        "temperature/memory_temp": "34 C",
        "gpu_power_readings/current_power_limit": "400.00 W",
        "max_clocks/graphics_clock": "1410 MHz",
        "processes/process_info/pid": "4242",
        "processes/process_info/type": "C",
    }
    assert {path: first.findtext(path) for path in wanted} == wanted
    assert len(list(first.iter("supported_graphics_clock"))) == 81
    assert smi("-q").count("Attached GPUs                             : 2") == 1


def test_margins_on_a_board_that_tells_temperatures_so(fetched, root):
    smi = Smi(*fetched, root, count=1, profile="h100-80gb-hbm3")
    gpu = ElementTree.fromstring(smi("-q", "-x")).find("gpu")
    kinds = ("gpu_temp_tlimit", "gpu_temp_max_tlimit_threshold", "gpu_temp_slow_tlimit_threshold")
    assert [gpu.findtext(f"temperature/{kind}") for kind in kinds] == ["58 C", "-8 C", "-2 C"]  # as captured
    assert gpu.findtext("temperature/gpu_temp_slow_threshold") is None


def matrix(smi: Smi) -> list[list[str]]:
    """Between GPUs."""
    lines = re.sub(r"\x1b\[\d*m", "", smi("topo", "-m")).splitlines()
    gpus = len(lines[0].split("CPU")[0].split())
    return [line.split()[: gpus + 1] for line in lines[1 : gpus + 1]]


def test_topology(smi):
    assert matrix(smi) == [["GPU0", "X", "NV12"], ["GPU1", "NV12", "X"]]
    smi.driver.tool("set", 1, "nvlink_down", 0b101)
    assert matrix(smi)[1] == ["GPU1", "NV10", "X"]


def test_topology_without_links(fetched, root):
    assert matrix(Smi(*fetched, root, count=2, profile="tesla-t4")) == [["GPU0", "X", "PIX"], ["GPU1", "PIX", "X"]]


def test_links_and_monitors(smi):
    links = smi("nvlink", "-s").splitlines()
    assert len(links) == 2 * (1 + 12)
    assert {line.split(":")[1] for line in links if "Link" in line} == {" 25.781 GB/s"}
    assert [line.split()[0:4] for line in smi("dmon", "-c", "1").splitlines()[2:]] == [
        ["0", "49", "33", "34"],
        ["1", "49", "33", "34"],
    ]
    assert smi("pmon", "-c", "1").splitlines()[2].split()[:3] == ["0", "4242", "C"]


def test_what_is_not_simulated_is_refused_in_words(smi):
    assert smi("-r", code=3) == "GPU reset unavailable: Not Supported\n"
    assert "Unable to set persistence mode for GPU 00004E56:01:00.0: Not Supported" in smi("-pm", "0")
    assert "Unable to enable MIG Mode for GPU 00004E56:02:00.0: Not Supported" in smi("-mig", "1")


def test_a_lost_gpu_does_not_take_nvidia_smi_down(smi):
    smi.driver.tool("set", 0, "lost", 1)
    assert smi("-L", code=15).splitlines() == [
        "Unable to determine the product name for gpu 0: GPU is lost",
        f"GPU 1: NVIDIA A100-SXM4-40GB (UUID: {UUIDS[1]})",
    ]
    assert smi("--query-gpu=name", "--format=csv,noheader") == "[GPU is lost]\nNVIDIA A100-SXM4-40GB\n"
    whole = smi("-q", "-x", code=15)
    assert UUIDS[1] in whole
    assert UUIDS[0] not in whole
