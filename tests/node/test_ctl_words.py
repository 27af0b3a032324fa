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


@pytest.mark.parametrize(
    ("words", "expected", "code"),
    [
        (["throttle", "--gpu", "0", "none", "gpu-idle"], "none stands alone, got gpu-idle beside it; give none, or", 1),
        (["throttle", "--gpu", "0", "hw-thermal", "none"], "none stands alone, got hw-thermal beside it; give", 1),
        (["set", "--gpu", "2", "compute-mode=1"], "compute-mode of GPU 2: wrong value, got 1; give 0, 2 or 3\n", 1),
        (["set", "--gpu", "2", "compute-mode=4"], "compute-mode of GPU 2: wrong value, got 4; give 0, 2 or 3\n", 1),
        (["set", "--help=foo"], "gpu-sim: ctl: --help takes no value, got foo; leave it out\n", 2),
        (["status", "-h="], "gpu-sim: ctl: -h takes no value, got ; leave it out\n", 2),
        (["lost", "--gpu", ","], "--gpu: no such GPU, got nothing beside a comma; this node has GPUs 0,1,2 ", 1),
        (["lost", "--gpu", "0,,1"], "--gpu: no such GPU, got nothing beside a comma; ", 1),
        (
            ["nvlink-down", "--gpu", "1", "--link", "3,"],
            "--link: no such link of GPU 1, got nothing beside a comma; ",
            1,
        ),
    ],
)
def test_said_once_and_plainly(node: NodeRoot, words: list[str], expected: str, code: int) -> None:
    node.install(3)
    done = ctl(node, *words, code=code)
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1
    refused(node, words, [], code)


def test_compute_modes_that_there_are(node: NodeRoot) -> None:
    node.install(1)
    for mode in (3, 2, 0):
        ctl(node, "set", "--gpu", 0, f"compute-mode={mode}")
    assert "0, 2 or 3" in ctl(node, "set", "--help").stdout


def test_what_a_terminal_would_act_on_is_shown_as_text(node: NodeRoot) -> None:
    node.install(1)
    done = ctl(node, "xid", "--gpu", "\x1b[31m\nroot: all is well\x07\x7f\u009b2J\u00e9", "79", code=1)
    assert "got \\x1B[31m\\x0Aroot: all is well\\x07\\x7F\\xC2\\x9B2J\u00e9; this node has GPU 0 " in done.stderr
    assert done.stderr.count("\n") == 1
    done = ctl(node, "a\tb\rc", code=2)
    assert "no such command, got a\\x09b\\x0Dc; there are xid" in done.stderr
    assert "gpu-sim: \\x1B]0;x: no such command" in node.run("\x1b]0;x", code=2).stderr


def test_a_long_word_does_not_hide_what_to_do(node: NodeRoot) -> None:
    node.install(2)
    for long, shown in (
        ("x" * 5000, "x" * 80),
        ("\u00e9" * 3000, "\u00e9" * 40),
        ("a" + "\u00e9" * 999, "a" + "\u00e9" * 39),
    ):
        done = ctl(node, "fault", long, "UNKNOWN", code=1)
        assert f"no such function of the library, got {shown}\u2026; nvml.h has them all" in done.stderr
        done = ctl(node, "declare", input=f"xid --gpu 0 79\n{long} --gpu 1\n", code=1)
        assert f"stdin:2: cannot be declared, got {shown}\u2026; there are xid, lost" in done.stderr
    word = "y" * 200
    assert f"got {word}; nvml.h" in ctl(node, "fault", word, "UNKNOWN", code=1).stderr
