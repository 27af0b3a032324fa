# SPDX-License-Identifier: Apache-2.0
"""`ctl fault`: another answer, or a late one, of one function; by GPU, by number of calls, for stubs too."""

from __future__ import annotations

import time

import pytest

from tests.node.control import Client, ctl, refused, status
from tests.node.node_root import NodeRoot

pytestmark = pytest.mark.native


def test_of_a_gpu_of_all_and_of_the_node(node: NodeRoot) -> None:
    node.install(3)
    with Client(node) as client:
        ctl(node, "fault", "nvmlDeviceGetName", "GPU_IS_LOST", "--gpu", 1)
        assert client.gpu("Name", 1) == "NVMLError_GpuIsLost"
        assert client.gpu("Name", 0) == "NVIDIA A100-SXM4-40GB"
        ctl(node, "fault", "DeviceGetUUID", "nvml_error_no_permission")
        assert [client.gpu("UUID", i) for i in range(3)] == ["NVMLError_NoPermission"] * 3
        ctl(node, "fault", "nvmlSystemGetDriverVersion", 999)
        assert client.ask("nvml.nvmlSystemGetDriverVersion()") == "NVMLError_Unknown"
        ctl(node, "fault", "nvmlDeviceGetName", 3, "--gpu", 1)
        assert client.gpu("Name", 1) == "NVMLError_NotSupported", "the second does not replace the first"
        assert len(status(node)["gpus"][1]["faults"]) == 2
        ctl(node, "clear", "--gpu", 1)
        assert client.gpu("UUID", 0) == "NVMLError_NoPermission"
        assert client.gpu("UUID", 1).startswith("GPU-")
        assert client.ask("nvml.nvmlSystemGetDriverVersion()") == "NVMLError_Unknown"
        ctl(node, "clear", "--gpu", "all")
        assert client.ask("nvml.nvmlSystemGetDriverVersion()") == "550.163.01"
        assert status(node)["faults"] == []


def test_each_process_has_its_own_count(node: NodeRoot) -> None:
    node.install(2)
    with Client(node) as one, Client(node) as other:
        for count in (1, 3, 2):
            ctl(node, "fault", "nvmlDeviceGetSerial", "TIMEOUT", "--gpu", "all", "--count", count)
            for client in (one, other):
                for index in range(2):
                    answers = [client.gpu("Serial", index) for _ in range(5)]
                    assert answers.count("NVMLError_Timeout") == count
                    assert answers[:count] == ["NVMLError_Timeout"] * count
    assert status(node)["gpus"][0]["faults"] == [
        {
            "kind": "fault",
            "ends_with": "clear",
            "function": "nvmlDeviceGetSerial",
            "code": "TIMEOUT",
            "count": 2,
            "delay_ms": 0,
        }
    ]


def test_latency_alone_and_with_a_code(node: NodeRoot) -> None:
    node.install(2)
    with Client(node) as client:
        timed = "(lambda t: (f(), time.monotonic() - t)[1])(time.monotonic())"
        for delay, least in (("30ms", 0.03), ("200000us", 0.2), ("1s", 1.0)):
            ctl(node, "fault", "nvmlDeviceGetIndex", "SUCCESS", "--delay", delay, "--gpu", 0)
            took = client.ask(timed.replace("f()", "nvml.nvmlDeviceGetIndex(handles[0])"))
            assert least <= took < least + 0.5
            assert client.ask(timed.replace("f()", "nvml.nvmlDeviceGetIndex(handles[1])")) < 0.02
        ctl(node, "fault", "nvmlDeviceGetIndex", "UNKNOWN", "--delay", "50ms", "--count", 1, "--gpu", 0)
        started = time.monotonic()
        assert client.gpu("Index", 0) == "NVMLError_Unknown"
        assert time.monotonic() - started >= 0.05
        assert client.gpu("Index", 0) == 0


def test_stubs_and_the_wait_for_events(node: NodeRoot) -> None:
    node.install(2)
    with Client(node) as client:
        assert client.gpu("BridgeChipInfo", 0) == "NVMLError_NotSupported"
        ctl(node, "fault", "nvmlDeviceGetBridgeChipInfo", "NO_PERMISSION", "--gpu", 0)
        assert client.gpu("BridgeChipInfo", 0) == "NVMLError_NoPermission"
        ctl(node, "fault", "nvmlEventSetWait_v2", "UNKNOWN", "--count", 1)
        assert client.ask("event(10)") == "NVMLError_Unknown"
        assert client.ask("event(10)") == "NVMLError_Timeout"


def test_an_init_that_fails(node: NodeRoot) -> None:
    node.install(2)
    with Client(node) as client:
        ctl(node, "fault", "nvmlInitWithFlags", "DRIVER_NOT_LOADED", "--count", 2)
        assert client.ask("nvml.nvmlInit()") == "NVMLError_DriverNotLoaded"
        assert client.gpu("Index", 1) == 1, "the init before still counts"
        assert client.ask("nvml.nvmlInit()") == "NVMLError_DriverNotLoaded"
        assert client.ask("nvml.nvmlInit()") is None


def test_names_by_version_are_told(node: NodeRoot) -> None:
    node.install(1)
    said = ctl(node, "fault", "nvmlEventSetWait", "UNKNOWN").stderr
    assert "only nvmlEventSetWait has it; some programs call nvmlEventSetWait_v2" in said
    assert ctl(node, "fault", "nvmlDeviceGetSerial", "UNKNOWN").stderr == ""


def test_a_list_of_faults_is_finite_and_places_are_used_again(node: NodeRoot) -> None:
    node.install(2)
    functions = (
        "Name Index Serial Brand UUID MinorNumber PowerUsage NumFans MemoryInfo EccMode FanSpeed PowerState ComputeMode"
        " DisplayMode VbiosVersion CpuAffinity"
    ).split()
    for function in functions:
        ctl(node, "fault", f"nvmlDeviceGet{function}", "UNKNOWN", "--gpu", 1)
    refused(node, ["fault", "nvmlDeviceGetPciInfo", "UNKNOWN"], ["GPU 1 has 16 faults already, got one more; clear it"])
    ctl(node, "clear", "--gpu", 1)
    ctl(node, "fault", "nvmlDeviceGetPciInfo", "UNKNOWN")
    system = ["DriverVersion", "NVMLVersion", "CudaDriverVersion", "CudaDriverVersion_v2", "ProcessName"]
    for _ in range(2):
        for function in system:
            ctl(node, "fault", f"nvmlSystemGet{function}", "UNKNOWN")
        assert sorted(fault["function"][13:] for fault in status(node)["faults"]) == sorted(system)
        ctl(node, "clear", "--gpu", "all")
        assert status(node)["faults"] == []


@pytest.mark.parametrize(
    ("words", "expected", "code"),
    [
        (["nvmlDeviceGetNme", "UNKNOWN"], ["no such function of the library, got nvmlDeviceGetNme;", "near are"], 1),
        (["nvmlShutdown", "UNKNOWN"], ["no such function of the library, got nvmlShutdown"], 1),
        (["nvmlDeviceGetName", "BAD"], ["no such return code, got BAD; give its number or one of SUCCESS, UNINIT"], 1),
        (["nvmlDeviceGetName", "500"], ["no such return code, got 500"], 1),
        (["nvmlDeviceGetName", "SUCCESS"], ["SUCCESS changes nothing, got no --delay"], 1),
        (["nvmlDeviceGetName", "UNKNOWN", "--delay", "11s"], ["--delay: no such time, got 11s; give us, ms or s"], 1),
        (["nvmlDeviceGetName", "UNKNOWN", "--delay", "5"], ["no such time, got 5;"], 1),
        (["nvmlDeviceGetName", "UNKNOWN", "--delay", "0ms"], ["no such time, got 0ms"], 1),
        (["nvmlDeviceGetName", "UNKNOWN", "--count", "0"], ["--count: no number of calls, got 0"], 1),
        (["nvmlSystemGetDriverVersion", "UNKNOWN", "--gpu", "0"], ["belongs to no GPU, got --gpu 0; leave"], 1),
        (["nvmlDeviceGetName", "UNKNOWN", "--gpu", "7"], ["no such GPU, got 7"], 1),
        (["nvmlX", "Y", "--count", "z"], ["got nvmlX", "got z"], 1),
        (["nvmlDeviceGetName"], ["needs FUNCTION and CODE, got 1 words"], 2),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused(node: NodeRoot, words: list[str], expected: list[str], code: int) -> None:
    node.install(2)
    refused(node, ["fault", *words], expected, code)
