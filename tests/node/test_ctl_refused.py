# SPDX-License-Identifier: Apache-2.0
"""What `ctl` refuses: in words that list what is valid, and with every byte of the root as it was."""

from __future__ import annotations

import pytest

from tests.node.control import ctl, refused, status
from tests.node.node_root import NodeRoot, shown

pytestmark = pytest.mark.native


@pytest.mark.parametrize(
    ("words", "expected", "code"),
    [
        (["xid", "--gpu", "8", "79"], ["--gpu: no such GPU, got 8; this node has GPUs 0,1,2", "UUIDs"], 1),
        (["xid", "--gpu", "0,,1", "79"], ["no such GPU, got nothing beside a comma;"], 1),
        (["xid", "--gpu", "GPU-0", "79"], ["no such GPU, got GPU-0"], 1),
        (["lost", "--gpu", "-1"], ["no such GPU, got -1"], 1),
        (["lost", "--gpu", "1 "], ["no such GPU, got 1 "], 1),
        (["xid", "--gpu", "0", "0"], ["no Xid, got 0; give a number from 1 to 999"], 1),
        (["xid", "--gpu", "0", "1000"], ["no Xid, got 1000"], 1),
        (["xid", "--gpu", "9", "x79"], ["no such GPU, got 9", "no Xid, got x79"], 1),
        (["xid", "79"], ["--gpu is missing"], 2),
        (["xid", "--gpu", "0"], ["needs --gpu and one Xid, such as 79, got 0 words"], 2),
        (["xid", "--gpu", "0", "79", "80"], ["got 2 words"], 2),
        (["xid", "--gpu"], ["--gpu needs a value"], 2),
        (["xid", "--gpus", "0", "79"], ["no such option, got --gpus"], 2),
        (["lost", "--gpu", "0", "79"], ["needs --gpu and nothing else"], 2),
        (["ecc", "--gpu", "0"], ["how many errors? give either --corrected or --uncorrected"], 2),
        (["ecc", "--gpu", "0", "--corrected", "1", "--uncorrected", "1"], ["how many errors?"], 2),
        (["ecc", "--gpu", "0", "--corrected", "1e3"], ["--corrected: no number of errors, got 1e3"], 1),
        (
            ["ecc", "--gpu", "0", "--corrected", "1", "--location", "hbm"],
            ["--location: no such place, got hbm; give one of l1, l2, dram, register-file"],
            1,
        ),
        (["throttle", "--gpu", "0"], ["no reason given"], 2),
        (["throttle", "--gpu", "0", "none", "hw-slow"], ["no such reason, got hw-slow; give none, gpu-idle"], 1),
        (["nvlink-down", "--gpu", "0"], ["--link is missing"], 2),
        (["nvlink-down", "--gpu", "0", "--link", "0,x"], ["no such link of GPU 0, got x"], 1),
        (["clear"], ["--gpu is missing"], 2),
        (["break"], ["no such command, got break; there are xid, lost, ecc, set"], 2),
        ([], ["no command given"], 2),
        (["clear", "--gpu", "0", "--timeout", "0"], ["--timeout must be 1 to 3600 seconds, got 0"], 1),
        (["status", "--yaml"], ["no such option, got --yaml"], 2),
    ],
)
def test_what_is_wrong_is_refused_in_words_and_changes_nothing(
    node: NodeRoot, words: list[str], expected: list[str], code: int
) -> None:
    node.install(3)
    refused(node, words, expected, code)


def test_more_xids_than_there_is_room_for(node: NodeRoot) -> None:
    node.install(2)
    for xid in range(101, 109):
        ctl(node, "xid", "--gpu", 1, xid)
    refused(node, ["xid", "--gpu", "all", 110], ["GPU 1 has 8 Xids already, got one more; clear it first"])
    ctl(node, "xid", "--gpu", 1, 104)  # that one it has


def test_where_there_is_nothing_to_change(node: NodeRoot) -> None:
    shown(ctl(node, "xid", "--gpu", 0, 79, code=1), ["there is no inventory here", "--root"])
    assert not node.path.exists()
    node.install(2)
    other = node.path.rename(node.path.with_name("elsewhere"))
    ctl(node, "xid", "--gpu", 0, 79, "--root", other)
    node.path = other
    assert status(node)["gpus"][0]["xids"] == [79]


def test_a_gpu_that_was_taken_away_is_no_target(node: NodeRoot) -> None:
    node.install(4)
    node.install(2)
    refused(node, ["lost", "--gpu", 3], ["no such GPU, got 3; this node has GPUs 0,1 "])
    assert len(status(node)["gpus"]) == 2
