# SPDX-License-Identifier: Apache-2.0
"""The program as nvidia-smi where something is missing: output, inventory, rights."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.node.node_root import NodeRoot, bare_environment

pytestmark = pytest.mark.native

VIEWS = [[], ["-L"], ["-q"], ["-q", "-x"], ["topo", "-m"], ["--query-gpu=name", "--format=csv"], ["-h"], ["--version"],
         ["--help-query-gpu"], ["-pm", "1"], ["dmon"], ["--foo"]]  # fmt: skip


def started(node: NodeRoot, words: list[str], **options) -> subprocess.CompletedProcess:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": bare_environment()} | options
    program = options.pop("program", node.path / "driver/usr/bin/nvidia-smi")
    return subprocess.run([program, *words], text=True, errors="replace", timeout=30, **options)


@pytest.mark.parametrize("words", VIEWS, ids=" ".join)
def test_an_output_that_cannot_be_written_is_an_error(node: NodeRoot, words: list[str]) -> None:
    node.install(1)
    with Path("/dev/full").open("w") as full:
        assert (started(node, words, stdout=full).returncode, started(node, words, stdout=full).stderr) == (255, "")
    shut = started(node, words, stdout=None, preexec_fn=lambda: os.close(1))
    assert (shut.returncode, shut.stderr) == (255, "")


def test_a_reader_that_leaves_ends_it(node: NodeRoot) -> None:
    """By the signal, as any program; where that is ignored, as containers often have it, by a code. Nothing is said."""
    node.install(8)
    for ignored, code in ((False, -signal.SIGPIPE), (True, 255)):
        reader, writer = os.pipe()
        os.close(reader)
        action = signal.SIG_IGN if ignored else signal.SIG_DFL
        done = started(
            node, ["-q"], stdout=writer, restore_signals=False, preexec_fn=lambda a=action: signal.signal(13, a)
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize("words", VIEWS, ids=" ".join)
def test_without_an_inventory_it_says_so(node: NodeRoot, tmp_path: Path, words: list[str]) -> None:
    """All but help, whatever else stands in the line, as the real one does."""
    alone = shutil.copy(node.program, tmp_path / "nvidia-smi")
    done = started(node, words, program=alone, cwd=tmp_path)
    if words == ["-h"]:
        assert (done.returncode, done.stdout.startswith("NVIDIA System Management Interface")) == (0, True)
        return
    assert done.returncode == 9
    assert done.stdout == (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
        "NVIDIA driver is installed and running.\n\n"
    )


@pytest.mark.parametrize("damage", ["empty", "short", "text", "zeros", "other magic", "noise inside"])
def test_a_broken_inventory_is_no_crash(node: NodeRoot, damage: str) -> None:
    node.install(3)
    (inventory,) = (node.path / "driver/usr/lib64").glob("libnvidia-gpu-sim.so.*")
    whole = inventory.read_bytes()
    noise = bytes(random.Random(7).randbytes(len(whole) - 20000))
    inventory.write_bytes({
        "empty": b"", "short": whole[:5000], "text": b"not an inventory\n" * 999, "zeros": bytes(len(whole)),
        "other magic": b"X" + whole[1:], "noise inside": whole[:20000] + noise,
    }[damage])  # fmt: skip
    for words in VIEWS:
        done = started(node, words)
        assert 0 <= done.returncode <= 255, (words, done)
        assert done.stderr == ""
        assert done.stdout or damage == "noise inside"


def test_as_another_user_in_a_root_that_is_read_only(node: NodeRoot) -> None:
    """As in a pod of the restricted standard, and without /proc."""
    node.install(2)
    expected = [started(node, words).stdout for words in VIEWS]
    inside = 'mount --bind "$0" /mnt && mount -o remount,ro,bind /mnt && exec chroot --userspec=4711:4711 /mnt "$@"'
    command = ["unshare", "--mount", "sh", "-c", inside, node.path / "driver", "/usr/bin/nvidia-smi"]
    for words, wanted in zip(VIEWS, expected, strict=True):
        done = subprocess.run([*command, *words], capture_output=True, text=True, env=bare_environment(TZ=""))
        assert done.stderr == ""
        # Without /sys nobody knows the CPUs.
        ours, outside = (
            re.sub(r"\t[\d,-]+\t0\t\t", "\tCPUS\t", re.sub(r"\d\d:\d\d:\d\d", "TIME", text))
            for text in (done.stdout, wanted)
        )
        assert ours == outside != ""
