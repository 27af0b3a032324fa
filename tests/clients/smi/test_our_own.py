# SPDX-License-Identifier: Apache-2.0
"""Our small nvidia-smi and the real one of the same version, side by side on one inventory."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.clients.smi.program import Smi

pytestmark = pytest.mark.native
SIZES = [
    {"count": 3, "profile": "tesla-t4", "memory_mib": 7777},
    {"count": 7, "profile": "h100-80gb-hbm3", "name": "Some (other) GPU/2"},
    {"count": 2, "profile": "a100-sxm4-40gb"},
]


def beside(smi: Smi) -> Smi:
    """With ours where the installer puts it, from where it finds the inventory."""
    folder = smi.driver.libraries.parent / "bin"
    folder.mkdir()
    shutil.copy(smi.driver.native / "gpu-sim", folder / "nvidia-smi")
    return smi


@pytest.fixture(params=SIZES, ids=lambda size: size["profile"])
def real(request, fetched, root):
    smi = beside(Smi(*fetched, root, **request.param))
    for slot in range(request.param["count"]):
        smi.driver.process(slot, 4242 + slot, 1, (slot + 1) << 28, "/usr/bin/train")
    return smi


def own(smi: Smi, *words: str) -> subprocess.CompletedProcess:
    return smi.driver.run([smi.driver.libraries.parent / "bin" / "nvidia-smi", *words])


def test_lists(real):
    assert own(real, "-L").stdout == real("-L") != ""


def fields(smi: Smi) -> list[str]:
    """What ours can be asked."""
    return re.findall(r'^"([\w.]+)"', own(smi, "--help-query-gpu").stdout, flags=re.MULTILINE)


def test_every_field_and_its_heading(real):
    asked = [field for field in fields(real) if field != "timestamp"]
    assert len(asked) > 40
    differing = {}
    for field in asked:
        words = (f"--query-gpu={field}", "--format=csv")
        ours, theirs = own(real, *words), real.run(*words)
        if (ours.stdout, ours.returncode) != (theirs.stdout, theirs.returncode):
            differing[field] = (ours.stdout, theirs.stdout)
    assert differing == {}


@pytest.mark.parametrize("form", ["csv", "csv,noheader", "csv,nounits,noheader"])
def test_several_fields_in_every_form(real, form):
    words = (
        "--query-gpu=index,uuid,name,pci.bus_id,memory.total,memory.used,power.limit,fan.speed",
        f"--format={form}",
    )
    assert own(real, *words).stdout == real(*words) != ""


def test_one_gpu_by_each_of_its_names(real):
    index, uuid, bus = real("-i", "1", "--query-gpu=index,uuid,pci.bus_id", "--format=csv,noheader").strip().split(", ")
    for name in (index, uuid, bus):
        words = ("-i", name, "--query-gpu=index,name,memory.used", "--format=csv")
        assert own(real, *words).stdout == real(*words) != ""


KINDS = [(9, 1, "c"), (8, 2, "g"), (5, 4, "mps-only"), (12, 3, "c+g"), (11, 5, "m+c"), (6, 7, "all of them"),
         (20, 1, "/" + "a" * 37), (21, 2, "/" + "b" * 38), (4194304, 1, "/" + "c" * 60)]  # fmt: skip


def test_the_plain_table(fetched, root):
    smi = beside(Smi(*fetched, root, count=2, name="X" * 28, memory_mib=54321))
    for pid, kind, name in KINDS:
        smi.driver.process(1, pid, kind, pid << 20 if pid < 100 else 39 << 30, name)
    ours, theirs = (text.split("\n", 1)[1] for text in (own(smi).stdout, smi()))  # the date is above it
    if smi.version.startswith("535."):  # ours is as wide as that of 550, and 535 does not tell MPS
        ours, theirs = (re.sub(r"[ |+=-]+", " ", text) for text in (ours, theirs))
        ours = ours.replace(" M C ", " C ")
    assert ours.splitlines() == theirs.splitlines()
    assert len(re.findall(r"MiB[ |]*$", ours, flags=re.MULTILINE)) == len(KINDS) - 1


@pytest.mark.parametrize(
    "words", [["-i", "99", "-L"], ["--query-gpu=nosuch", "--format=csv"], ["--query-gpu=name"], ["-foo"]]
)
def test_refusals(real, words):
    ours, theirs = own(real, *words), real.run(*words)
    assert theirs.returncode != 0
    assert ours.returncode == theirs.returncode
    assert ours.stdout == theirs.stdout or "is not recognized" in theirs.stdout
