# SPDX-License-Identifier: Apache-2.0
"""Words of a command line that are empty, too long, too many or there twice: never taken for something else."""

from __future__ import annotations

import pytest

from tests.node.control import ctl, refused, status
from tests.node.node_root import NodeRoot

pytestmark = pytest.mark.native
MEMORY = "nvmlDeviceGetMemoryInfo"


def spelled(words: list[str]) -> list[list[str]]:
    """The same with each `--option ""` also as `--option=`."""
    at = words.index("")
    return [words, [*words[: at - 1], words[at - 1] + "=", *words[at + 1 :]]]


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["fault", MEMORY, "UNKNOWN", "--gpu", ""], "--gpu"),
        (["fault", MEMORY, "UNKNOWN", "--count", ""], "--count"),
        (["fault", MEMORY, "SUCCESS", "--delay", ""], "--delay"),
        (["xid", "--gpu", "", "79"], "--gpu"),
        (["ecc", "--gpu", "1", "--corrected", "3", "--location", ""], "--location"),
        (["ecc", "--gpu", "1", "--corrected", "3", "--uncorrected", ""], "--uncorrected"),
        (["set", "--gpu", "", "temperature=81C"], "--gpu"),
        (["throttle", "--gpu", "", "hw-thermal"], "--gpu"),
        (["nvlink-down", "--gpu", "2", "--link", ""], "--link"),
        (["clear", "--gpu", ""], "--gpu"),
        (["timeline", "--seed", ""], "--seed"),
        (["status", "--root", ""], "--root"),
        (["xid", "--gpu", "1", "79", "--plugin-dir", ""], "--plugin-dir"),
        (["clear", "--gpu", "1", "--timeout", ""], "--timeout"),
    ],
)
def test_an_empty_value_is_no_value(node: NodeRoot, words: list[str], option: str) -> None:
    node.install(3)
    common = option in ("--root", "--plugin-dir", "--timeout")
    subject = "ctl" if common else f"ctl {words[0]}"
    for line in spelled(words):
        said = f"gpu-sim: {subject}: {option} needs a value; give one that is not empty\n"
        refused(node, line, [said], 2, input="")


@pytest.mark.parametrize(
    ("words", "code", "twice"),
    [
        (["xid", "--gpu", "0", "--gpu", "1", "79"], 2, "--gpu"),
        (["fault", MEMORY, "UNKNOWN", "--gpu=0", "--count", "2", "--count=2"], 2, "--count"),
        (["nvlink-down", "--gpu", "2", "--link", "0", "--link", "3"], 2, "--link"),
        (["timeline", "--dry-run", "--seed", "1", "--seed", "2"], 2, "--seed"),
        (["status", "--root", "/nowhere", "--root", "/elsewhere"], 2, "--root"),
        (["set", "--gpu", "0", "temperature=20C", "power=90W", "temperature=30C"], 1, "temperature"),
        (["set", "--gpu", "all", "memory-used=7MiB", "memory-used=7MiB"], 1, "memory-used"),
    ],
)
def test_what_is_given_twice_is_refused(node: NodeRoot, words: list[str], code: int, twice: str) -> None:
    node.install(3)
    subject = "ctl" if twice == "--root" else f"ctl {words[0]}"
    done = ctl(node, *words, code=code, input="")
    assert f"gpu-sim: {subject}: {twice} is given twice, got " in done.stderr
    assert done.stderr.count("is given twice") == 1
    refused(node, words, ["; give it once"], code, input="")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["install", "--profile"], "--profile"),
        (["allocate", "--root"], "--root"),
        (["ready", "--no-kubelet", "--checkpoint"], "--checkpoint"),
        (["clean-node", "--force", "--plugin-dir"], "--plugin-dir"),
        (["verify", "--count", "1", "--inventory"], "--inventory"),
    ],
)
def test_other_commands(node: NodeRoot, words: list[str], option: str) -> None:
    done = node.run(*words, "", code=2)
    assert f"gpu-sim: {words[0]}: {option} needs a value; give one that is not empty\n" in done.stderr
    assert f"{option} is missing" not in done.stderr
    done = node.run(*words, "/a", f"{option}=/b", code=2)
    assert f"gpu-sim: {words[0]}: {option} is given twice, got /b; give it once\n" in done.stderr
    assert not node.path.exists()


LONG = "0" * 95


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["xid", "--gpu", LONG + "3", "79"], "--gpu: no such GPU, got 000"),
        (["lost", "--gpu", "1," + LONG + "2"], "--gpu: no such GPU, got 000"),
        (["nvlink-down", "--gpu", "0", "--link", "0" * 23 + "11"], "--link: no such link of GPU 0, got 000"),
        (["fault", MEMORY, "UNKNOWN", "--delay", "0" * 22 + "55ms"], "--delay: no such time, got 000"),
        (["set", "--gpu", "0", f"temperature={LONG}30C"], "temperature of GPU 0: wrong value, got 000"),
    ],
)
def test_a_word_that_does_not_fit_is_not_cut(node: NodeRoot, words: list[str], expected: str) -> None:
    node.install(4)
    refused(node, words, [expected])


def test_words_that_just_fit_and_leading_zeros(node: NodeRoot) -> None:
    node.install(4)
    ctl(node, "xid", "--gpu", "0" * 94 + "3", "79")
    ctl(node, "nvlink-down", "--gpu", "02", "--link", "0" * 21 + "11")
    gpus = status(node)["gpus"]
    assert [gpu["xids"] for gpu in gpus] == [[], [], [], [79]]
    assert gpus[2]["nvlinks_down"] == [11]


@pytest.mark.parametrize("command", ["xid", "set", "throttle", "fault"])
@pytest.mark.parametrize("more", [63, 64, 150])
def test_too_many_words(node: NodeRoot, command: str, more: int) -> None:
    node.install(2)
    words = [command, "--gpu", "0", *["a"] * more]
    refused(node, words, [f"ctl {command}: too many words, got {more + 2}; give at most 64"], 2)
    refused(node, [command, "--gpu", "0", *["a"] * 300], ["ctl: too many words, got 303; see gpu-sim ctl --help"], 2)
