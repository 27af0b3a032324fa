# SPDX-License-Identifier: Apache-2.0
"""`gpu-sim allocate`: holders become memory, load and a process that clients see; names stay where no pod reads."""

from __future__ import annotations

import time

import pytest

from tests.node.control import Client, ctl, refused, status
from tests.node.node_root import NodeRoot, shown

pytestmark = pytest.mark.native

MIB = 1 << 20
ROOM = 40960 - 518  # MiB, without what the driver of this board keeps


def allocate(node: NodeRoot, *lines: str, code: int = 0):
    return node.run("allocate", "--root", node.path, input="".join(f"{line}\n" for line in lines), code=code)


def memory_used(client: Client, index: int) -> int:
    return client.ask(f"nvml.nvmlDeviceGetMemoryInfo(handles[{index}], nvml.nvmlMemory_v2).used")


def processes(client: Client, index: int) -> list[tuple[int, int]]:
    rows = f"nvml.nvmlDeviceGetComputeRunningProcesses(handles[{index}])"
    return client.ask(f"[(row.pid, row.usedGpuMemory) for row in {rows}]")


def test_memory_load_and_process_of_a_holder(node: NodeRoot) -> None:
    node.install(4)
    uuids = node.uuids()
    with Client(node) as client:
        for index, (memory, used, load, low, high) in enumerate(
            [("20000MiB", 20000, "35", 35, 35), ("whole", ROOM, "20-80", 20, 80), ("25%", ROOM // 4, "none", 0, 0)]
        ):
            line = f"{uuids[index]} team-a/train-{index} main pid={4000 + index} memory={memory} utilization={load}"
            allocate(node, line)
            assert memory_used(client, index) // MIB == used
            assert [(pid, held // MIB) for pid, held in processes(client, index)] == [(4000 + index, used)]
            assert low <= client.ask(f"nvml.nvmlDeviceGetUtilizationRates(handles[{index}]).gpu") <= high
            assert client.ask(f"nvml.nvmlSystemGetProcessName({4000 + index})") == "gpu-workload"
            assert [gpu["pods"] for gpu in status(node)["gpus"]].index([f"team-a/train-{index}"]) == index
            assert [gpu["allocated"] for gpu in status(node)["gpus"]].count(True) == 1, "the one before is not freed"
        allocate(node)
        assert [memory_used(client, index) for index in range(4)] == [0] * 4
        assert processes(client, 2) == []
    assert all(gpu["pods"] == [] and not gpu["allocated"] for gpu in status(node)["gpus"])


def test_names_of_pods_are_for_root_alone(node: NodeRoot) -> None:
    node.install(2)
    allocate(node, f"{node.uuids()[1]} secret-team/secret-pod main pid=77 memory=1% utilization=1")
    assert (node.path / "pods").stat().st_mode & 0o777 == 0o600
    readable = [path for path in (node.path / "driver").rglob("*") if path.is_file() and not path.is_symlink()]
    assert readable
    assert not [path for path in readable if b"secret" in path.read_bytes()]
    assert b"secret-team/secret-pod" in (node.path / "pods").read_bytes()
    node.run("clean-node", "--root", node.path, "--release", "r1", "--namespace", "team-a")
    assert not (node.path / "pods").exists()


def test_the_same_again_changes_nothing(node: NodeRoot) -> None:
    node.install(3)
    lines = [f"{uuid} a/{i} c pid={i + 5} memory=50% utilization=10-20" for i, uuid in enumerate(node.uuids())]
    assert "3 holders, 3 GPUs changed" in allocate(node, *lines).stdout
    before = node.tree()
    assert "3 holders, 0 GPUs changed" in allocate(node, *lines).stdout
    assert node.tree() == before


def test_several_holders_of_one_gpu_never_hold_more_than_it_has(node: NodeRoot) -> None:
    node.install(2)
    uuid = node.uuids()[1]
    lines = [f"{uuid} a/p{i} c pid={100 + i} memory=40% utilization={20 * (i + 1)}" for i in range(3)]
    done = allocate(node, *lines)
    shown(done, [f"a/p2 on {uuid}: ", "MiB is more than the GPU has left, got cut to "])
    with Client(node) as client:
        rows = processes(client, 1)
        assert [pid for pid, _ in rows] == [100, 101, 102]
        assert sum(held for _, held in rows) == memory_used(client, 1) == ROOM * MIB
        assert client.ask("nvml.nvmlDeviceGetUtilizationRates(handles[1]).gpu") == 100
        shares = client.ask("[(s.pid, s.smUtil) for s in nvml.nvmlDeviceGetProcessUtilization(handles[1], 0)]")
        assert shares == [(100, 16), (101, 33), (102, 50)]
        ctl(node, "set", "--gpu", 1, "utilization=60%")
        shares = client.ask("[s.smUtil for s in nvml.nvmlDeviceGetProcessUtilization(handles[1], 0)]")
        assert shares == [10, 20, 30]
        node.install(2, memory_mib=8192)
        assert sum(held for _, held in processes(client, 1)) <= 40960 * MIB
    with Client(node) as client:
        assert sum(held for _, held in processes(client, 1)) == memory_used(client, 1) <= 8192 * MIB
    assert status(node)["gpus"][1]["pods"] == ["a/p0", "a/p1", "a/p2"]


def test_more_holders_than_rows(node: NodeRoot) -> None:
    node.install(1)
    (uuid,) = node.uuids()
    done = allocate(node, *(f"{uuid} a/p{i} c pid={i + 1} memory=1% utilization=1" for i in range(18)))
    assert done.stderr.count("more than 16 holders, this one is not shown") == 2
    with Client(node) as client:
        assert len(processes(client, 0)) == 16
    assert len(status(node)["gpus"][0]["pods"]) == 18


def test_a_gpu_that_was_taken_from_under_a_pod_is_still_its(node: NodeRoot) -> None:
    node.install(4)
    uuid = node.uuids()[3]
    line = f"{uuid} a/x c pid=9 memory=1% utilization=1"
    allocate(node, line)
    node.install(2)
    allocate(node, line)
    (removed,) = status(node)["gpus"][2:]
    assert (removed["uuid"], removed["health"], removed["pods"]) == (uuid, "removed", ["a/x"])
    allocate(node)
    assert len(status(node)["gpus"]) == 2


def test_a_uuid_of_another_release_is_left_out(node: NodeRoot) -> None:
    node.install(2)
    line = "{} a/x c pid=9 memory=1% utilization=1"
    done = allocate(node, line.format("GPU-of-long-ago"), line.format(node.uuids()[1]))
    shown(done, ["a/x holds GPU-of-long-ago, which this node does not have (any more); left out"])
    assert [gpu["allocated"] for gpu in status(node)["gpus"]] == [False, True]


def test_energy_follows_the_load(node: NodeRoot) -> None:
    node.install(2)
    with Client(node) as client:
        allocate(node, f"{node.uuids()[1]} a/x c pid=9 memory=1% utilization=100")
        before = [client.gpu("TotalEnergyConsumption", index) for index in range(2)]
        time.sleep(0.5)
        gained = [client.gpu("TotalEnergyConsumption", index) - before[index] for index in range(2)]
        assert 0.4 * 340000 < gained[1] < 2 * 370000
        assert gained[0] < 0.4 * gained[1]
        allocate(node)
        after = client.gpu("TotalEnergyConsumption", 1)
        assert after >= before[1] + gained[1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{} a/x c pid=9 memory=1%", ["stdin:2: not six words", "give <uuid> <namespace>/<pod>"]),
        ("{} a/x c pid=9 memory=1% utilization=1 more", ["stdin:2: not six words"]),
        ("{} x c pid=9 memory=1% utilization=1", ["stdin:2: no pod, got x; give <namespace>/<pod>"]),
        ("{} a/x c pid=0 memory=1% utilization=1", ["no process id, got pid=0; give pid=1 to pid=4194304"]),
        ("{} a/x c pid=4194305 memory=1% utilization=1", ["no process id, got pid=4194305"]),
        ("{} a/x c 9 memory=1% utilization=1", ["no process id, got 9"]),
        ("{} a/x c pid=9 memory=101% utilization=1", ["no amount of memory, got memory=101%; give memory=none, whole"]),
        ("{} a/x c pid=9 memory=5 utilization=1", ["no amount of memory, got memory=5"]),
        ("{} a/x c pid=9 memory=99999999999MiB utilization=1", ["no amount of memory"]),
        ("{} a/x c pid=9 memory=all utilization=101", ["got memory=all", "no utilization, got utilization=101"]),
        ("{} a/x c pid=9 memory=none utilization=80-20", ["no utilization, got utilization=80-20"]),
        ("{} a/x c pid=9 memory=none utilization=20-", ["got utilization=20-"]),
        ("{} a/x c pid=9 memory=none utilization=", ["got utilization=;"]),
        ("G" * 90 + " a/x c pid=9 memory=none utilization=1", ["no UUID of a GPU"]),
        ("\0", ["a NUL in it"]),
    ],
)
def test_a_wrong_line_and_nothing_changes(node: NodeRoot, line: str, expected: list[str]) -> None:
    node.install(2)
    good = f"{node.uuids()[0]} a/y c pid=10 memory=whole utilization=5"
    allocate(node, good)
    before = node.tree()
    shown(allocate(node, good, line.format(node.uuids()[1]), good, code=1), expected)
    assert node.tree() == before


def test_where_there_is_no_node_yet(node: NodeRoot) -> None:
    shown(allocate(node, code=1), ["there is no inventory here"])
    node.install(1)
    refused(node, ["status", "allocate"], ["no such option, got allocate"], code=2)
