# SPDX-License-Identifier: Apache-2.0
"""Ours beside both versions of the real nvidia-smi: what is of one format in all of them."""

from __future__ import annotations

import re

import pytest

from tests.clients.smi.program import Smi

pytestmark = pytest.mark.native
SIZES = [
    {"count": 3, "profile": "tesla-t4", "memory_mib": 7777},
    {"count": 7, "profile": "h100-80gb-hbm3", "name": "Some (other) GPU/2"},
    {"count": 2, "profile": "a100-sxm4-40gb"},
]
# Named otherwise by 535, or asked of the driver in another way.
LATER = {
    "addressing_mode", "gpu_recovery_action", "timestamp", "fabric.state", "fabric.status", "c2c.mode",
    "temperature.gpu.tlimit",
}  # fmt: skip


@pytest.fixture(params=SIZES, ids=lambda size: size["profile"])
def real(request, fetched, root):
    smi = Smi(*fetched, root, **request.param)
    for slot in range(request.param["count"]):
        smi.driver.process(slot, 4242 + slot, 1, (slot + 1) << 28, "/usr/bin/train")
    return smi


def test_lists_and_versions(real):
    assert real.differing([["-L"], ["--list-gpus"], ["-B"], ["topo", "-m"], ["topo", "-mp"]]) == {}


def test_every_field_of_both(real):
    known = set(re.findall(r'^"([\w.]+)"', real("--help-query-gpu"), flags=re.MULTILINE))
    ours = set(re.findall(r'^"([\w.]+)"', real.run_ours("--help-query-gpu").stdout, flags=re.MULTILINE))
    asked = sorted((known & ours) - LATER)
    assert len(asked) > 110
    assert real.differing([[f"--query-gpu={field}", "--format=csv"] for field in asked]) == {}


@pytest.mark.parametrize("form", ["csv", "csv,noheader", "csv,nounits,noheader", "csv,nounits"])
def test_several_fields_in_every_form(real, form):
    asked = "index,uuid,name,pci.bus_id,memory.total,memory.used,power.limit,fan.speed"
    apps = "gpu_uuid,pid,process_name,used_memory"
    lines = [[f"--query-gpu={asked}", f"--format={form}"], [f"--query-compute-apps={apps}", f"--format={form}"]]
    assert real.differing(lines) == {}


def test_one_gpu_by_each_of_its_names(real):
    names = real("-i", "1", "--query-gpu=index,uuid,pci.bus_id", "--format=csv,noheader").strip().split(", ")
    asked = ["--query-gpu=index,name,memory.used", "--format=csv"]
    assert real.differing([["-i", name, *asked] for name in (*names, "0,1", "99")]) == {}


@pytest.mark.parametrize(
    "words", [["-i", "99", "-L"], ["--query-gpu=nosuch", "--format=csv"], ["--query-gpu=name"], ["-foo"]]
)
def test_refusals(real, words):
    assert real.differing([words]) == {}
