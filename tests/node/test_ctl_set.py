# SPDX-License-Identifier: Apache-2.0
"""`ctl set`: what is set is shown, within the board's own range, and all readings still agree."""

from __future__ import annotations

import pytest

from tests.node.control import Client, ctl, refused, status
from tests.node.node_root import NodeRoot

pytestmark = pytest.mark.native

MIB = 1 << 20


def test_each_key_is_shown(node: NodeRoot) -> None:
    node.install(3, profile="h100-80gb-hbm3")
    with Client(node) as client:
        for value in (41, 66, 93):
            ctl(node, "set", "--gpu", 1, f"temperature={value}C")
            assert client.gpu("Temperature", 1, 0) == value
        for value in (3, 55, 100):
            ctl(node, "set", f"utilization={value}%", "--gpu", 1, f"memory-utilization={value // 2}%")
            rates = client.ask("(lambda u: [u.gpu, u.memory])(nvml.nvmlDeviceGetUtilizationRates(handles[1]))")
            assert rates == [value, value // 2]
        for value in (111, 222, 333):
            ctl(node, "set", "--gpu", 1, f"power={value}W")
            assert client.gpu("PowerUsage", 1) == value * 1000
        for value in (20000, 1, 77):
            ctl(node, "set", "--gpu", 1, f"memory-used={value}MiB")
            assert memory(client, 1)["used"] == value * MIB
        for key, kind, values in (("graphics", 0, (345, 700)), ("memory", 2, (2000, 2619)), ("video", 3, (400, 900))):
            for value in values:
                ctl(node, "set", "--gpu", 1, f"{key}-clock={value}MHz")
                assert client.gpu("ClockInfo", 1, kind) == value
        for value in (15, 2, 8):
            ctl(node, "set", "--gpu", 1, f"pstate=P{value}" if value == 8 else f"pstate={value}")
            assert client.gpu("PerformanceState", 1) == value
        ctl(node, "set", "--gpu", 1, "memory-temperature=77C")
        assert client.ask("nvml.nvmlDeviceGetFieldValues(handles[1], [82])[0].value.uiVal") == 77
        assert client.gpu("PowerUsage", 0) != 333000, "another GPU got it too"
        ctl(node, "clear", "--gpu", 1)
        assert client.gpu("Temperature", 1, 0) == client.gpu("Temperature", 0, 0)
        assert memory(client, 1)["used"] == 0


def memory(client: Client, index: int) -> dict[str, int]:
    names = ("total", "reserved", "used", "free")
    return dict(zip(names, client.ask(f"(lambda m: [m.{', m.'.join(names)}])"
                                      f"(nvml.nvmlDeviceGetMemoryInfo(handles[{index}], nvml.nvmlMemory_v2))"),
                    strict=True))  # fmt: skip


def test_a_range_is_a_walk_or_follows_the_load(node: NodeRoot) -> None:
    node.install(2)
    with Client(node) as client:
        ctl(node, "set", "--gpu", 0, "utilization=10-30%", "temperature=40-80C", "power=100-300W")
        seen = [client.ask("nvml.nvmlDeviceGetUtilizationRates(handles[0]).gpu") for _ in range(50)]
        assert all(10 <= value <= 30 for value in seen)
        ctl(node, "set", "--gpu", 0, "utilization=25%")
        assert client.gpu("Temperature", 0, 0) == 50
        assert client.gpu("PowerUsage", 0) == 150000


def test_power_stays_within_the_limit(node: NodeRoot) -> None:
    node.install(2)
    with Client(node) as client:
        for limit in (100, 250, 399):
            ctl(node, "set", "--gpu", "all", f"power-limit={limit}W", "power=400W")
            assert client.gpu("EnforcedPowerLimit", 1) == limit * 1000
            assert client.gpu("PowerUsage", 1) == limit * 1000


def test_memory_that_was_set_counts_what_processes_hold(node: NodeRoot) -> None:
    node.install(1)
    (uuid,) = node.uuids()
    node.run("allocate", "--root", node.path, input=f"{uuid} a/x c pid=500 memory=10000MiB utilization=40\n")
    with Client(node) as client:
        for asked, used in ((20000, 20000), (3000, 10000), (0, 10000)):
            ctl(node, "set", "--gpu", 0, f"memory-used={asked}MiB")
            now = memory(client, 0)
            assert now["used"] == used * MIB
            assert now["total"] == now["reserved"] + now["used"] + now["free"]
        assert client.ask("nvml.nvmlDeviceGetUtilizationRates(handles[0]).gpu") == 40
        ctl(node, "set", "--gpu", 0, "utilization=7%")
        assert client.ask("nvml.nvmlDeviceGetUtilizationRates(handles[0]).gpu") == 7, "the holder's load hides it"
        ctl(node, "clear", "--gpu", 0)
        assert client.ask("nvml.nvmlDeviceGetUtilizationRates(handles[0]).gpu") == 40


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["temperature=85"], ["temperature of GPU 1: wrong value, got 85; give 0C to 150C"]),
        (["temperature=85F"], ["got 85F; give 0C to 150C"]),
        (["temperature=151C"], ["got 151C; give 0C to 150C"]),
        (["temperature=-1C"], ["got -1C"]),
        (["temperature=60-50C"], ["got 60-50C"]),
        (["temperature=60-C"], ["got 60-C"]),
        (["temperature=C"], ["got C"]),
        (["temperature="], ["wrong value, got ; give"]),
        (["temperature"], ["no such KEY=VALUE, got temperature; keys are temperature, memory-temperature"]),
        (["Temperature=8C"], ["no such KEY=VALUE, got Temperature=8C"]),
        (["fan=3%"], ["no such KEY=VALUE, got fan=3%", "power-limit, memory-used, graphics-clock"]),
        (["utilization=101%"], ["got 101%; give 0% to 100%"]),
        (["power=401W"], ["got 401W; give 0W to 400W"]),
        (["power-limit=99W"], ["got 99W; give 100W to 400W"]),
        (["power-limit=100-200W"], ["got 100-200W; give 100W to 400W"]),
        (["memory-used=40443MiB"], ["got 40443MiB; give 0MiB to 40442MiB"]),
        (["memory-used=1GiB"], ["got 1GiB; give 0MiB to 40442MiB"]),
        (["graphics-clock=0MHz"], ["got 0MHz; give 1MHz to 1410MHz"]),
        (["pstate=P16"], ["got P16; give 0 to 15"]),
        (["pstate=PP8"], ["got PP8"]),
        (["persistence-mode=2"], ["got 2; give 0 to 1"]),
        (["utilization=5%", "power=1kW", "foo=1"], ["got 1kW", "got foo=1"]),
    ],
)
def test_wrong_keys_units_and_values(node: NodeRoot, words: list[str], expected: list[str]) -> None:
    node.install(2)
    refused(node, ["set", "--gpu", 1, *words], expected)


def test_what_one_board_lacks_is_refused_for_all(node: NodeRoot) -> None:
    node.install(2, profile="tesla-t4")
    refused(node, ["set", "--gpu", "all", "memory-temperature=50C", "temperature=50C"],
            ["GPU 0, a Tesla T4, does not tell its memory-temperature, got 50C"])  # fmt: skip
    refused(node, ["set", "--gpu", "0"], ["nothing to set"], code=2)
    assert status(node)["gpus"][1]["temperature_c"] != 50
