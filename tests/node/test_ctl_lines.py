# SPDX-License-Identifier: Apache-2.0
"""`ctl timeline` and `ctl declare`: commands as lines, checked whole before anything happens."""

from __future__ import annotations

import re
import time

import pytest

from tests.node.control import Client, ctl, lost_view, refused, status
from tests.node.fake_plugin import Plugin, wait_until
from tests.node.node_root import NodeRoot

pytestmark = pytest.mark.native


def timeline(node: NodeRoot, text: str, *words: object, code: int = 0) -> list[str]:
    return ctl(node, "timeline", *words, input=text, code=code).stdout.splitlines()


def test_each_at_its_time(node: NodeRoot) -> None:
    node.install(4)
    started = time.monotonic()
    text = "# a comment\n\n+1s clear --gpu 3 # back\n+200ms xid --gpu 3 79\n+0s set --gpu 1 temperature=77C\n"
    with Client(node) as client:
        lines = timeline(node, text, "--seed", 5)
        assert 1 <= time.monotonic() - started < 4
        assert client.ask("event()")[2] == 79
        assert client.gpu("Temperature", 1, 0) == 77
    assert lines[:3] == ["seed 5", "+0.000s set --gpu 1 temperature=77C", "+0.200s xid --gpu 3 79"]
    assert lines[3] == "+1.000s clear --gpu 3"
    assert status(node)["gpus"][3]["health"] == "ok"


def test_a_seed_draws_the_same_again(node: NodeRoot) -> None:
    node.install(8)
    text = "+10s-20s xid --gpu any 79\n+1m-2m lost --gpu=any\n+500ms-700ms clear --gpu any\n" * 3
    before = node.tree()
    runs = {seed: timeline(node, text, f"--seed={seed}", "--dry-run") for seed in (1, 2, 987654321987654321)}
    assert len({tuple(lines[1:]) for lines in runs.values()}) == 3
    for seed, lines in runs.items():
        assert lines == timeline(node, text, "--seed", seed, "--dry-run")
        times = [float(re.match(r"\+([\d.]+)s ", line).group(1)) for line in lines[1:]]
        assert times == sorted(times)
        xids = [at for at, line in zip(times, lines[1:], strict=True) if " xid --gpu " in line]
        assert len(set(xids)) == 3 and all(10 <= at <= 20 for at in xids)
        assert all(re.search(r"--gpu[ =][0-7]( 79)?$", line) for line in lines[1:])
    assert node.tree() == before, "a dry run changed something"
    (said, _) = timeline(node, "+1s lost --gpu any\n", "--dry-run")
    assert re.fullmatch(r"seed \d+", said), "a seed that nobody gave must be told"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10s xid --gpu 0 79\n", ["stdin:1: no time, got 10s; give +10s"]),
        ("+10 xid --gpu 0 79\n", ["no time, got +10;"]),
        ("+20s-10s xid --gpu 0 79\n", ["no time, got +20s-10s"]),
        ("+1h xid --gpu 0 79\n", ["no time, got +1h"]),
        ("+1s\n", ["no such command, got nothing; there are xid, lost"]),
        ("+1s status\n", ["no such command, got status"]),
        ("+0s lost --gpu 0\n+1s xid --gpu 9 79\n\n+2s set --gpu 0 temperature=3F\n",
         ["stdin:2: --gpu: no such GPU, got 9", "stdin:4: temperature of GPU 0: wrong value, got 3F"]),
        ("+0s lost --gpu 0 --seed 3\n", ["stdin:1: no such option, got --seed"]),
        ("+0s " + "x " * 100 + "\n", ["stdin:1: too many words"]),
        ("+0s lost --gpu 0\n" * 1025, ["too many lines, got over 1024"]),
    ],
)  # fmt: skip
def test_a_wrong_line_and_nothing_starts(node: NodeRoot, text: str, expected: list[str]) -> None:
    node.install(2)
    refused(node, ["timeline"], expected, input=text)


def declare(node: NodeRoot, text: str, *words: object, code: int = 0, env: dict | None = None) -> str:
    return ctl(node, "declare", *words, input=text, code=code, env=env or {}).stdout


def test_a_full_set_that_changes_only_what_changed(node: NodeRoot) -> None:
    node.install(4)
    with Client(node) as client:
        first = "xid --gpu 3 79\nset --gpu 0,1 temperature=66C\nfault nvmlSystemGetNVMLVersion UNKNOWN\n"
        assert declare(node, first) == "gpu-sim: 3 declared, 3 GPUs and the node changed\n"
        assert client.ask("event()") == (3, 8, 79)
        gpus = status(node)["gpus"]
        assert [gpu["declared"] for gpu in gpus] == [True, True, False, True]
        before = node.tree()
        assert declare(node, first) == "gpu-sim: 3 declared, 0 GPUs changed\n"
        assert node.tree() == before
        assert client.ask("event(50)") == "NVMLError_Timeout"
        ctl(node, "set", "--gpu", 1, "utilization=9%")
        second = "set --gpu 1,2 temperature=66C\nset --gpu 0 temperature=67C\n"
        assert declare(node, second) == "gpu-sim: 2 declared, 4 GPUs and the node changed\n"
        temperatures = [client.gpu("Temperature", index, 0) for index in range(4)]
        assert temperatures[:3] == [67, 66, 66]
        assert temperatures[3] not in (66, 67)
        assert client.ask("nvml.nvmlSystemGetNVMLVersion()") == "12.550.163.01"
        assert [gpu["health"] for gpu in status(node)["gpus"]] == ["ok"] * 4
        assert declare(node, "") == "gpu-sim: 0 declared, 3 GPUs changed\n"
    assert not any(gpu["declared"] for gpu in status(node)["gpus"])


def test_what_people_broke_by_hand_stays(node: NodeRoot) -> None:
    node.install(3)
    ctl(node, "xid", "--gpu", 2, 48)
    declare(node, "lost --gpu 0\n")
    declare(node, "")
    assert [gpu["xids"] for gpu in status(node)["gpus"]] == [[], [], [48]]


def test_what_is_declared_is_not_cleared_by_hand(node: NodeRoot) -> None:
    """For a moment it would look healthy, and a pod could be given it."""
    node.install(3)
    declare(node, "xid --gpu 1 94\n")
    ctl(node, "xid", "--gpu", 2, 48)
    refused(node, ["clear", "--gpu", "1,2"], ["GPU 1: declared like this", "take the line out of gpuSim.faults"])
    assert [gpu["xids"] for gpu in status(node)["gpus"]] == [[], [94], [48]]
    for command in ("clear", "reset"):
        ctl(node, "xid", "--gpu", 2, 48)
        assert "GPU 1: kept as declared" in ctl(node, command, "--gpu", "all").stderr
        assert [gpu["xids"] for gpu in status(node)["gpus"]] == [[], [94], []]
    declare(node, "")
    assert [gpu["xids"] for gpu in status(node)["gpus"]] == [[], [], []]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("xid --gpu 0 79\nclear --gpu 1\n", ["stdin:2: cannot be declared, got clear; there are xid, lost, set"]),
        ("xid --gpu 0 79\necc --gpu 0 --corrected 1\n", ["cannot be declared, got ecc"]),
        ("xid --gpu 0 79\nxid --gpu 2 79\nset --gpu 1 power=9kW\n",
         ["stdin:2: --gpu: no such GPU, got 2", "stdin:3: power of GPU 1: wrong value, got 9kW"]),
        ("xid --gpu 0 79\nexplode\n", ["stdin:2: cannot be declared, got explode"]),
    ],
)  # fmt: skip
def test_all_or_nothing(node: NodeRoot, text: str, expected: list[str]) -> None:
    node.install(2)
    refused(node, ["declare"], expected, input=text)


@pytest.mark.parametrize("text", ["\0xid --gpu 3 79\n", "+0s lost --gpu 1\n\0", "lost --gpu 1\n\0GARBAGE"])
@pytest.mark.parametrize("command", ["declare", "timeline"])
def test_no_text_at_all(node: NodeRoot, command: str, text: str) -> None:
    """And not what stands before the first NUL: that might be nothing, which clears all that was declared."""
    node.install(4)
    declare(node, "xid --gpu 2 48\n")
    refused(node, [command], ["stdin: a NUL in it, got ", " bytes before it; give lines of text"], input=text)
    assert status(node)["gpus"][2]["xids"] == [48]


def test_a_plugin_that_starts_later_is_told_again(node: NodeRoot, beside: Plugin) -> None:
    declare(node, "xid --gpu 1 79\nxid --gpu 2 31\n", *beside.options())
    beside.start()
    assert len(beside.devices()) == 8
    declare(node, "xid --gpu 1 79\nxid --gpu 2 31\n", *beside.options())
    wait_until("GPU 1 goes", lambda: len(beside.devices()) == 7)
    declare(node, "xid --gpu 1 79\nxid --gpu 2 31\n", *beside.options())
    assert beside.xids() == [79], "what the kubelet shows already, or the plugin ignores, was raised again"


def test_a_declared_loss_takes_only_its_own_gpu_away(node: NodeRoot, beside: Plugin) -> None:
    """Also when it is raised again: the plugin asks for the UUID, and would take all away if that were lost."""
    declare(node, "lost --gpu 2\n")
    declare(node, "")
    beside.start()
    for _ in range(2):
        declare(node, "lost --gpu 2\n", *beside.options())
        wait_until("GPU 2 goes", lambda: len(beside.devices()) < 8)
        assert len(beside.devices()) == 7
        assert len(lost_view(node)) == 7
    ctl(node, "xid", "--gpu", 2, 94, *beside.options())
    wait_until("the plugin sees the Xid", lambda: 94 in beside.xids())
    time.sleep(0.3)
    assert len(beside.devices()) == 7


def test_what_is_not_declared_any_more_is_repaired(node: NodeRoot, beside: Plugin) -> None:
    beside.start()
    both = "xid --gpu 1 79\nlost --gpu 3\n"
    declare(node, both, *beside.options())
    wait_until("both go", lambda: len(beside.devices()) == 6)
    assert "the kubelet has 7 of 8 GPUs; still broken: GPU 3" in declare(node, "lost --gpu 3\n", *beside.options())
    assert status(node)["gpus"][3]["health"] == "lost"
    assert "the kubelet has 8 of 8 GPUs" in declare(node, "", *beside.options())
