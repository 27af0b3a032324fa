# SPDX-License-Identifier: Apache-2.0
"""`ctl` beside others: several at once, killed at each step, and readers that never rest."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.node import stepped
from tests.node.control import Client, ctl, refused, status
from tests.node.node_root import NodeRoot, bare_environment, gpu_state, shown

pytestmark = pytest.mark.native

GRAPHICS, VIDEO = 120, 136  # places in the state
BATCH = 744  # place in the header: the number of the last change of several GPUs


def test_many_at_once_all_count(node: NodeRoot) -> None:
    """Each adds its own error to one counter: none may be lost to another's older copy."""
    node.install(3)
    words = [str(node.program), "ctl", "ecc", "--gpu", "1", "--corrected", "1", "--root", str(node.path)]
    running = [subprocess.Popen(words, env=bare_environment()) for _ in range(40)]
    assert [process.wait(timeout=60) for process in running] == [0] * 40
    with Client(node) as client:
        assert client.gpu("TotalEccErrors", 1, 0, 0) == 40


def test_a_reader_never_sees_half_of_a_change(node: NodeRoot) -> None:
    """Two clocks of one command, read as one state: always of the same writer, while two of them take turns."""
    node.install(2)
    stop = threading.Event()

    def write(clock: int) -> None:
        while not stop.is_set():
            ctl(node, "set", "--gpu", 1, f"graphics-clock={clock}MHz", f"video-clock={clock + 1}MHz")

    writers = [threading.Thread(target=write, args=(clock,)) for clock in (300, 900)]
    ctl(node, "set", "--gpu", 1, "graphics-clock=300MHz", "video-clock=301MHz")
    seen = set()
    for writer in writers:
        writer.start()
    try:
        reads, end = 0, time.monotonic() + 60
        while reads < 3000 or (
            len(seen) < 2 and time.monotonic() < end
        ):  # one of them may be kept waiting by the other
            reads += 1
            content = node.inventory().read_bytes()
            at, sequence = gpu_state(content, 1)
            if gpu_state(node.inventory().read_bytes(), 1)[1] == sequence:
                seen.add(tuple(struct.unpack_from("<i", content, at + place)[0] for place in (GRAPHICS, VIDEO)))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert seen == {(300, 301), (900, 901)}


def test_killed_before_any_system_call_it_is_done_or_not(node: NodeRoot) -> None:
    """And whatever it was doing, the next one is not held up."""
    node.install(3)
    ctl(node, "set", "--gpu", "all", "temperature=40C")
    done = killed = 0
    with Client(node) as client:
        for step in range(1, 500):
            words = [str(node.program), "ctl", "set", "--gpu", "all", "temperature=80C", "power=200W", "--root",
                     str(node.path)]  # fmt: skip
            if stepped.run(words, lambda count, number, step=step: count == step) is not None:
                break
            killed += 1
            seen = [(client.gpu("Temperature", i, 0), client.gpu("PowerUsage", i) == 200000) for i in range(3)]
            assert set(seen) <= {(40, False), (80, True)}, f"half a change after step {step}"
            done += seen[0][0] == 80
            ctl(node, "clear", "--gpu", "all")
            ctl(node, "set", "--gpu", "all", "temperature=40C")
    assert killed > 20, "the program was not stepped through"
    assert done, "it was never killed after its change"


def test_all_gpus_of_a_command_change_with_one_store(node: NodeRoot) -> None:
    """What that store is worth, beside readers and when killed, is tested in native/tests/test_batch.c."""
    node.install(64)
    for words in (["set", "temperature=80C"], ["xid", "48"], ["fault", "nvmlDeviceGetName", "UNKNOWN"], ["reset"]):
        before = struct.unpack_from("<I", node.inventory().read_bytes(), BATCH)[0]
        ctl(node, *words, "--gpu", "all")
        content = node.inventory().read_bytes()
        assert struct.unpack_from("<I", content, BATCH)[0] == before + 1
        assert len({gpu_state(content, slot)[1] for slot in range(64)}) == 1, "each GPU's state was written once"


@pytest.mark.parametrize("words", [["lost", "--gpu", "1"], ["xid", "--gpu", "1", "48"]])
def test_killed_it_raises_its_event_once_or_never(node: NodeRoot, words: list[str]) -> None:
    node.install(2)
    raised = 0
    with Client(node) as client:
        for step in range(1, 500):
            argv = [str(node.program), "ctl", *words, "--root", str(node.path)]
            if stepped.run(argv, lambda count, number, step=step: count == step) is not None:
                break
            event = client.ask("event(0)")
            raised += event != "NVMLError_Timeout"
            assert event == "NVMLError_Timeout" or event[0] == 1
            assert client.ask("event(0)") == "NVMLError_Timeout"
            assert status(node)["gpus"][1]["xids"] or event == "NVMLError_Timeout", "an event without its state"
            ctl(node, "clear", "--gpu", 1)
    assert raised


def test_an_allocation_that_is_killed_is_finished_by_the_next(node: NodeRoot) -> None:
    node.install(3)
    uuids = node.uuids()
    lines = "".join(f"{uuid} a/p{i} c pid={i + 1} memory=10% utilization=3\n" for i, uuid in enumerate(uuids))
    source = node.path.parent / "lines"
    source.write_text(lines)
    killed = 0
    for step in range(1, 500):
        script = f"exec {node.program} allocate --root {node.path} < {source}"
        if stepped.run(["/bin/sh", "-c", script], lambda count, number, step=step: count == step) is not None:
            break
        killed += 1
        if step % 7 == 0:
            node.run("allocate", "--root", node.path, input=lines)
            assert [gpu["pods"] for gpu in status(node)["gpus"]] == [["a/p0"], ["a/p1"], ["a/p2"]]
            assert all(gpu["allocated"] for gpu in status(node)["gpus"])
            assert not list(node.path.glob(".*")), "a staged file is left"
            node.run("allocate", "--root", node.path, input="")
    assert killed > 40


def test_readings_agree_while_they_change(node: NodeRoot) -> None:
    """used + free + reserved = total, processes hold at most what is used, power stays within its limit."""
    node.install(2)
    uuid = node.uuids()[1]
    stop = threading.Event()

    def write() -> None:
        for turn in range(10**6):
            if stop.is_set():
                return
            percent = 10 + turn % 9 * 10
            line = f"{uuid} a/x c pid=5 memory={percent}% utilization={percent}\n"
            node.run("allocate", "--root", node.path, input=line if turn % 3 else "")
            limit = 100 + turn % 4 * 100
            ctl(node, "set", "--gpu", 1, f"power-limit={limit}W", f"memory-used={turn % 5 * 8000}MiB")

    check = (
        "(lambda m, p, w, l: (m.used + m.free + m.reserved == m.total, sum(x.usedGpuMemory for x in p) <= m.total, "
        "w <= 400000 and l in (100000, 200000, 300000, 400000)))("
        "nvml.nvmlDeviceGetMemoryInfo(handles[1], nvml.nvmlMemory_v2), "
        "nvml.nvmlDeviceGetComputeRunningProcesses(handles[1]), nvml.nvmlDeviceGetPowerUsage(handles[1]), "
        "nvml.nvmlDeviceGetEnforcedPowerLimit(handles[1]))"
    )
    writer = threading.Thread(target=write)
    writer.start()
    try:
        with Client(node) as client:
            for _ in range(500):
                assert client.ask(check) == (True, True, True)
    finally:
        stop.set()
        writer.join()


def test_a_hung_writer_is_told(node: NodeRoot) -> None:
    node.install(1)
    with locked(node.inventory().parent):
        done = ctl(node, "xid", "--gpu", 0, 79, code=3)
        shown(done, ["the inventory's lock cannot be had within 10 s; see who writes to it"])
        assert status(node)["gpus"][0]["xids"] == [], "looking needs no lock"
    ctl(node, "xid", "--gpu", 0, 79)


def test_who_is_given_the_file_can_hold_nobody_up(node: NodeRoot) -> None:
    """A pod has the file, read-only, and could lock that."""
    node.install(2)
    with locked(node.inventory()):
        ctl(node, "xid", "--gpu", 1, 79)
        node.install(4, wait=1)
    assert len(node.uuids()) == 4


@contextlib.contextmanager
def locked(path: Path):
    file = os.open(path, os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_EX)
    yield
    os.close(file)


@pytest.mark.parametrize("closed", [1, 2])
@pytest.mark.parametrize("words", [["xid", "--gpu", "0", "48"], ["xid", "--gpu", "9", "79"], ["lost", "--gpu", "1"]])
def test_a_closed_stream_gets_no_file_of_ours(node: NodeRoot, closed: int, words: list[str]) -> None:
    node.install(4)
    argv = [node.program, "ctl", *words, "--root", node.path]
    done = subprocess.run(argv, preexec_fn=lambda: os.close(closed), stdin=subprocess.DEVNULL, timeout=30)
    assert done.returncode == (1 if "9" in words else 0)
    assert node.inventory().read_bytes()[:6] == b"GPUSIM"
    assert len(status(node)["gpus"]) == 4


def test_an_install_without_output_is_like_any_other(node: NodeRoot) -> None:
    subprocess.run(node.words(3), preexec_fn=lambda: os.close(1), stdin=subprocess.DEVNULL, check=True, timeout=30)
    assert "cdi-cri" in (node.path / "driver/etc/gpu-sim/device-plugin.yaml").read_text()


@pytest.mark.parametrize("words", [["status"], ["status", "--json"], ["--help"], ["xid", "--gpu", "0", "48"]])
def test_words_that_nobody_gets_are_no_success(node: NodeRoot, words: list[str]) -> None:
    node.install(2)
    with Path("/dev/full").open("w") as full:
        argv = [node.program, "ctl", *words, "--root", node.path]
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
    assert done.returncode == 3
    assert "standard output: cannot be written" in done.stderr and "No space left" in done.stderr


def test_a_file_that_is_none(node: NodeRoot) -> None:
    node.install(1)
    path = node.inventory()
    path.write_bytes(path.read_bytes()[:5000])
    refused(node, ["xid", "--gpu", "0", "79"], ["too short for an inventory, got 5000; run the installer again"])
    refused(node, ["status"], ["too short for an inventory"])
