# SPDX-License-Identifier: Apache-2.0
"""`gpu-sim ctl` as clients of the library see it: events, losses, faults, and back to as configured."""

from __future__ import annotations

import time

import pytest

from tests.node.control import Client, ctl, refused, status
from tests.node.node_root import NodeRoot

pytestmark = pytest.mark.native

XID, SINGLE, DOUBLE = 8, 1, 2


def test_an_xid_is_an_event_that_stands(node: NodeRoot) -> None:
    node.install(4)
    with Client(node) as client:
        for index, xid in ((3, 79), (0, 48), (2, 119)):
            ctl(node, "xid", xid, "--gpu", index)
            assert client.ask("event()") == (index, XID, xid)
            assert client.gpu("Index", index) == index, "an Xid alone takes nothing away"
        ctl(node, "xid", "--gpu", "3", "94")
        assert client.ask("event()") == (3, XID, 94)
    assert [gpu["xids"] for gpu in status(node)["gpus"]] == [[48], [], [119], [79, 94]]
    assert [gpu["health"] for gpu in status(node)["gpus"]] == ["xid", "ok", "xid", "xid"]


def test_what_was_done_is_said_and_can_be_given_again(node: NodeRoot) -> None:
    node.install(4)
    for words in (
        ["xid", "--gpu", "3", "79"],
        ["set", "temperature=66C", "--gpu", "0,2"],
        ["throttle", "--gpu", "1", "none"],
    ):
        said = node.run("ctl", *words, "--root", node.path).stdout
        assert said == f"gpu-sim: done: {' '.join(words)}\n"


def test_gpus_by_index_uuid_list_or_all(node: NodeRoot) -> None:
    node.install(5)
    uuids = node.uuids()
    ctl(node, "xid", f"--gpu={uuids[4]},1", 62)
    ctl(node, "xid", 63, "--gpu", "all")
    assert [gpu["xids"] for gpu in status(node)["gpus"]] == [[63], [62, 63], [63], [63], [62, 63]]


def test_a_lost_gpu_answers_nothing_but_lost(node: NodeRoot) -> None:
    node.install(4)
    with Client(node) as client:
        ctl(node, "lost", "--gpu", 2)
        assert client.ask("event()") == (2, XID, 79)
        for question in ("Name", "UUID", "MemoryInfo", "Temperature"):
            words = (0,) if question == "Temperature" else ()
            assert client.gpu(question, 2, *words) == "NVMLError_GpuIsLost"
            assert client.gpu(question, 1, *words) != "NVMLError_GpuIsLost"
        ctl(node, "clear", "--gpu", 2)
        assert client.gpu("Index", 2) == 2
    assert status(node)["gpus"][2]["health"] == "ok"


def test_memory_errors_count_and_are_events(node: NodeRoot) -> None:
    node.install(3)
    with Client(node) as client:
        ctl(node, "ecc", "--gpu", 1, "--corrected", 5)
        assert client.ask("event()") == (1, SINGLE, 5)
        ctl(node, "ecc", "--gpu", 2, "--uncorrected", 2, "--location", "sram")
        assert client.ask("event()") == (2, DOUBLE, 2)
        ctl(node, "ecc", "--gpu", 1, "--corrected", 11, "--location", "l2")
        assert client.gpu("TotalEccErrors", 1, 0, 0) == 16
        assert client.gpu("MemoryErrorCounter", 1, 0, 1, 1) == 11
        assert client.gpu("TotalEccErrors", 2, 1, 1) == 2
        ctl(node, "clear", "--gpu", "all")
        assert client.gpu("TotalEccErrors", 1, 0, 0) == 16, "clear is no reset"
        ctl(node, "reset", "--gpu", "all")
        assert client.gpu("TotalEccErrors", 1, 0, 0) == 0
        assert client.gpu("TotalEccErrors", 1, 0, 1) == 16, "a board never forgets"
    assert [gpu["xids"] for gpu in status(node)["gpus"]] == [[], [], []]


def test_links_go_down_and_come_back(node: NodeRoot) -> None:
    node.install(2)
    with Client(node) as client:
        ctl(node, "nvlink-down", "--link", "0,7", "--gpu", 1)
        assert [client.gpu("NvLinkState", 1, link) for link in (0, 1, 7)] == [0, 1, 0]
        ctl(node, "nvlink-down", "--link", 11, "--gpu", 1)
        assert status(node)["gpus"][1]["nvlinks_down"] == [0, 7, 11]
        assert client.gpu("NvLinkState", 0, 0) == 1
        ctl(node, "nvlink-down", "--link=all", "--gpu", 0)
        assert status(node)["gpus"][0]["nvlinks_down"] == list(range(12))
        ctl(node, "clear", "--gpu", "all")
        assert client.gpu("NvLinkState", 1, 7) == 1
    refused(node, ["nvlink-down", "--gpu", 1, "--link", 12], ["--link: no such link of GPU 1, got 12; it has 0 to 11"])
    node.install(1, profile="tesla-t4")
    refused(node, ["nvlink-down", "--gpu", 0, "--link", 0], ["GPU 0, a Tesla T4, has no NVLink"])


def test_throttled_clocks_have_reasons_and_count_time(node: NodeRoot) -> None:
    node.install(3)
    with Client(node) as client:
        ctl(node, "throttle", "--gpu", 1, "hw-thermal", "sw-power-cap")
        assert client.gpu("CurrentClocksThrottleReasons", 1) == 0x44
        time.sleep(0.3)
        after = [time_of(client, 1, policy) for policy in (0, 1, 2)]
        assert after[0] > 0.2e9 and after[1] > 0.2e9 and after[2] == 0
        ctl(node, "throttle", "--gpu", 1, "none")
        assert client.gpu("CurrentClocksThrottleReasons", 1) == 1, "an idle GPU"
        ended = time_of(client, 1, 1)
        time.sleep(0.1)
        assert time_of(client, 1, 1) == ended > 0.2e9
    assert status(node)["gpus"][1]["throttle"] == []
    refused(node, ["throttle", "--gpu", 0, "heat"], ["no such reason, got heat; give none, gpu-idle", "hw-thermal"])


def time_of(client: Client, index: int, policy: int) -> int:
    return client.ask(f"nvml.nvmlDeviceGetViolationStatus(handles[{index}], {policy}).violationTime")


def test_resets_bring_modes_and_limits_back(node: NodeRoot) -> None:
    node.install(2)
    with Client(node) as client:
        limit = client.gpu("PowerManagementLimit", 1)
        ctl(node, "set", "--gpu", 1, "power-limit=250W", "compute-mode=3", "persistence-mode=0", "temperature=71C")
        ctl(node, "clear", "--gpu", 1)
        assert client.gpu("PowerManagementLimit", 1) == 250000
        assert client.gpu("ComputeMode", 1) == 3
        assert client.gpu("Temperature", 1, 0) != 71
        ctl(node, "reset", "--gpu", 1)
        assert client.gpu("PowerManagementLimit", 1) == limit
        assert client.gpu("ComputeMode", 1) == 0
        assert client.gpu("PersistenceMode", 1) == 1


def test_what_a_board_has_counted_outlives_a_clear(node: NodeRoot) -> None:
    node.install(1)
    with Client(node) as client:
        ctl(node, "set", "--gpu", 0, "power=400W")
        time.sleep(0.5)
        ctl(node, "clear", "--gpu", 0)
        energy = client.gpu("TotalEnergyConsumption", 0)
        assert 0.4 * 400000 < energy < 3 * 400000
        time.sleep(0.2)
        assert energy < client.gpu("TotalEnergyConsumption", 0) < energy + 50000, "it draws 400 W for ever"


def test_help_for_a_person_who_never_saw_it(node: NodeRoot) -> None:
    text = node.run("ctl", "--help").stdout
    for command in ("xid", "lost", "ecc", "set", "throttle", "nvlink-down", "fault", "clear", "reset", "status"):
        assert f"\n  ctl {command} " in text
    assert "Exit codes" in text and "gpu-sim ctl xid --gpu 3 79" in text
    assert "temperature          0C to 150C" in node.run("ctl", "set", "--help").stdout
    assert "hw-power-brake" in node.run("ctl", "throttle", "-h").stdout


def test_the_table_tells_all(node: NodeRoot) -> None:
    node.install(3)
    uuids = node.uuids()
    ctl(node, "xid", "--gpu", 1, 79)
    ctl(node, "throttle", "--gpu", 2, "sw-thermal")
    ctl(node, "fault", "nvmlDeviceGetName", "UNKNOWN", "--gpu", 2, "--count", 3, "--delay", "5ms")
    ctl(node, "fault", "nvmlSystemGetNVMLVersion", "NO_PERMISSION")
    lines = ctl(node, "status").stdout.splitlines()
    assert lines[0].split() == ["GPU", "UUID", "HEALTH", "KUBELET", "MEMORY", "UTIL", "TEMP", "POD", "FAULTS"]
    assert lines[2].split()[:4] == ["1", uuids[1], "xid", "unknown"]
    assert lines[2].endswith("Xid 79")
    assert lines[3].endswith("sw-thermal, nvmlDeviceGetName=UNKNOWN (the first 3) after 5 ms")
    assert lines[4:] == ["node: nvmlSystemGetNVMLVersion=NO_PERMISSION"]
