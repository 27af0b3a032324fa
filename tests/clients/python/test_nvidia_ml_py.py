# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own Python binding, unmodified, on a node's driver root."""

from __future__ import annotations

import re
import sys

import pytest
import yaml

from tests.harness.versions import CHECKOUT

pytestmark = pytest.mark.native

LIST = """
def one(h):
    memory = nvml.nvmlDeviceGetMemoryInfo(h, version=nvml.nvmlMemory_v2)
    return {"name": nvml.nvmlDeviceGetName(h), "uuid": nvml.nvmlDeviceGetUUID(h), "index": nvml.nvmlDeviceGetIndex(h),
            "minor": nvml.nvmlDeviceGetMinorNumber(h), "bus": nvml.nvmlDeviceGetPciInfo(h).busId,
            "mib": memory.total >> 20, "reserved": memory.reserved >> 20}
answer = [one(nvml.nvmlDeviceGetHandleByIndex(i)) for i in range(nvml.nvmlDeviceGetCount())]
"""
UUID = re.compile(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.mark.parametrize(
    ("options", "name", "mib"),
    [
        ({"count": 1, "profile": "a100-sxm4-40gb"}, "NVIDIA A100-SXM4-40GB", 40960),
        ({"count": 3, "profile": "tesla-t4", "memory_mib": 7777}, "Tesla T4", 7777),
        ({"count": 64, "profile": "h100-80gb-hbm3", "name": "Some (other) GPU/2"}, "Some (other) GPU/2", 81559),
    ],
)
def test_it_lists_what_was_asked_for(root, options, name, mib):
    found = root(**options).python(LIST)
    assert [gpu["index"] for gpu in found] == list(range(options["count"]))
    assert [gpu["minor"] for gpu in found] == list(range(options["count"]))
    assert {gpu["name"] for gpu in found} == {name}
    assert {gpu["mib"] for gpu in found} == {mib}
    assert len({gpu["uuid"] for gpu in found}) == len({gpu["bus"] for gpu in found}) == options["count"]
    assert all(UUID.fullmatch(gpu["uuid"]) for gpu in found)


def test_uuids_follow_from_node_and_release(root):
    def uuids(**where):
        return [gpu["uuid"] for gpu in root(count=2, **where).python(LIST)]

    places = [{"node": node, "release": release} for node in ("n1", "n2", "n3") for release in ("r1", "r2")]
    all_of_them = [uuid for place in places for uuid in uuids(**place)]
    assert len(set(all_of_them)) == 12
    assert uuids(**places[4]) == all_of_them[8:10]


def test_a_container_sees_the_gpus_whose_nodes_it_was_given(root):
    driver = root(count=4)
    everything = driver.python(LIST)
    driver.devices.mkdir()
    for minor in (1, 3):
        (driver.devices / f"nvidia{minor}").touch()
    found = driver.python(LIST)
    assert [gpu["uuid"] for gpu in found] == [everything[1]["uuid"], everything[3]["uuid"]]
    assert [gpu["index"] for gpu in found] == [0, 1]
    assert [gpu["minor"] for gpu in found] == [1, 3]


def test_a_lost_gpu_says_so_and_the_others_go_on(root):
    driver = root(count=3)
    driver.tool("set", 1, "lost", 1)
    answers = driver.python("""
answer = []
for i in range(3):
    try:
        answer.append(nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByIndex(i)))
    except nvml.NVMLError as error:
        answer.append(str(error))""")
    assert answers == ["NVIDIA A100-SXM4-40GB", "GPU is lost", "NVIDIA A100-SXM4-40GB"]


@pytest.mark.parametrize("name", sorted(path.stem for path in (CHECKOUT / "native/profiles").glob("*.yaml")))
def test_a_profiles_figures_are_what_a_client_reads(root, name):
    profile = yaml.safe_load((CHECKOUT / "native/profiles" / f"{name}.yaml").read_text())
    memory, clocks, power = profile["memory"], profile["clocks"], profile["power"]
    found = root(count=2, profile=name).python("""
h = nvml.nvmlDeviceGetHandleByIndex(1)
memory = nvml.nvmlDeviceGetMemoryInfo(h, version=nvml.nvmlMemory_v2)
kinds = (nvml.NVML_CLOCK_GRAPHICS, nvml.NVML_CLOCK_MEM, nvml.NVML_CLOCK_VIDEO)
answer = {
    "name": nvml.nvmlDeviceGetName(h), "total": memory.total >> 20, "reserved": memory.reserved >> 20,
    "bar1": nvml.nvmlDeviceGetBAR1MemoryInfo(h).bar1Total >> 20, "device": nvml.nvmlDeviceGetPciInfo(h).pciDeviceId,
    "clocks": [nvml.nvmlDeviceGetClockInfo(h, kind) for kind in kinds],
    "max": [nvml.nvmlDeviceGetMaxClockInfo(h, kind) for kind in kinds],
    "power": [nvml.nvmlDeviceGetPowerUsage(h), nvml.nvmlDeviceGetPowerManagementDefaultLimit(h),
              *nvml.nvmlDeviceGetPowerManagementLimitConstraints(h)],
    "temperature": nvml.nvmlDeviceGetTemperature(h, nvml.NVML_TEMPERATURE_GPU),
    "capability": nvml.nvmlDeviceGetCudaComputeCapability(h), "cores": nvml.nvmlDeviceGetNumGpuCores(h),
    "vbios": nvml.nvmlDeviceGetVbiosVersion(h), "part": nvml.nvmlDeviceGetBoardPartNumber(h),
    "pcie": [nvml.nvmlDeviceGetMaxPcieLinkGeneration(h), nvml.nvmlDeviceGetMaxPcieLinkWidth(h)],
    "supported": [[m, len(nvml.nvmlDeviceGetSupportedGraphicsClocks(h, m))]
                  for m in nvml.nvmlDeviceGetSupportedMemoryClocks(h)],
}""")
    assert found == {
        "name": profile["product_name"],
        "total": memory["total_mib"],
        "reserved": memory["reserved_mib"],
        "bar1": memory["bar1_mib"],
        "device": profile["pci"]["device_id"],
        "clocks": [clocks[kind]["idle"] for kind in ("graphics", "memory", "video")],
        "max": [clocks[kind]["max"] for kind in ("graphics", "memory", "video")],
        "power": [power[key] for key in ("idle_mw", "default_mw", "min_mw", "max_mw")],
        "temperature": profile["temperature"]["idle"],
        "capability": profile["compute"]["capability"],
        "cores": profile["compute"]["cores"],
        "vbios": profile["identity"]["vbios"],
        "part": profile["identity"]["board_part_number"],
        "pcie": [profile["pci"]["generation_max"], profile["pci"]["width_max"]],
        "supported": [
            [s["memory"], (s["graphics_max"] - s["graphics_min"]) // s["graphics_step"] + 1]
            for s in clocks["supported"]
        ],
    }


def test_processes_by_kind(root):
    driver = root(count=2)
    driver.process(0, 4242, 1, 1 << 30, "/usr/bin/train")
    driver.process(0, 4343, 2, 100 << 20, "Xorg")
    driver.process(0, 4444, 5, 7 << 20, "mps-client")
    assert driver.python("""
def rows(function, i):
    handle = nvml.nvmlDeviceGetHandleByIndex(i)
    return [[p.pid, p.usedGpuMemory, p.gpuInstanceId, p.computeInstanceId] for p in function(handle)]
answer = [rows(function, i) for i in (0, 1) for function in (
    nvml.nvmlDeviceGetComputeRunningProcesses, nvml.nvmlDeviceGetGraphicsRunningProcesses,
    nvml.nvmlDeviceGetMPSComputeRunningProcesses)]""") == [
        [[4242, 1 << 30, 0xFFFFFFFF, 0xFFFFFFFF], [4444, 7 << 20, 0xFFFFFFFF, 0xFFFFFFFF]],
        [[4343, 100 << 20, 0xFFFFFFFF, 0xFFFFFFFF]],
        [[4444, 7 << 20, 0xFFFFFFFF, 0xFFFFFFFF]],
        [],
        [],
        [],
    ]


def test_an_event_wakes_a_client_that_sleeps(root):
    driver = root(count=3)
    tool = str(driver.native / "tests/inventory_tool")
    waited, kind, data, index = driver.python(f"""
import subprocess, time
events = nvml.nvmlEventSetCreate()
for i in range(3):
    nvml.nvmlDeviceRegisterEvents(nvml.nvmlDeviceGetHandleByIndex(i), nvml.nvmlEventTypeXidCriticalError, events)
words = ["sh", "-c", 'sleep 0.2; exec "$@"', "sh", {tool!r}, {str(driver.inventory)!r}, "event", "2", "8", "79"]
later = subprocess.Popen(words)
start = time.monotonic()
event = nvml.nvmlEventSetWait_v2(events, 20000)
answer = [time.monotonic() - start, event.eventType, event.eventData, nvml.nvmlDeviceGetIndex(event.device)]
later.wait()""")
    assert 0.1 < waited < 0.9, "woken by the event, not by the second that a sleep lasts at most"
    assert (kind, data, index) == (8, 79, 2)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("NVML_MOCK_DEVICE_COUNT", "four", "not a number of GPUs, got four; use 0 to 64"),
        ("NVML_MOCK_MEMORY_SIZE_MB", "4.5", "not a memory size in MiB, got 4.5; use 1 to 16777216"),
        ("NVML_MOCK_UUID_FORMAT", "short", "not a UUID format, got short; use rfc4122 or plain"),
    ],
)
def test_a_variable_that_does_not_parse_fails_init_and_says_why(root, variable, value, said):
    driver = root(count=2)
    argv = [sys.executable, "-c", "import pynvml; pynvml.nvmlInit()"]
    quiet = driver.run(argv, **{variable: value})
    loud = driver.run(argv, GPU_SIM_DEBUG="1", **{variable: value})
    assert quiet.returncode == loud.returncode == 1
    assert "pynvml.NVMLError_InvalidArgument: Invalid Argument" in quiet.stderr
    assert "gpu-sim: " not in quiet.stderr  # the path of this Python may well hold the word
    assert loud.stderr.splitlines()[0] == f"gpu-sim: {variable}: {said}"
