# SPDX-License-Identifier: Apache-2.0
"""Where a single function of the library fails, ours shows it in the same places and words as the real nvidia-smi."""

from __future__ import annotations

import re

import pytest

from tests.clients.smi.program import Smi
from tests.harness.versions import CHECKOUT

pytestmark = pytest.mark.native
UNKNOWN, NOT_SUPPORTED, NO_PERMISSION = 999, 3, 4
# Where the real one then prints memory that it has not written, or asks in a way of its own.
UNLIKE = {
    "nvmlDeviceGetFieldValues": "power readings are garbage, links between GPUs are called PIX",
    "nvmlDeviceGetName": "-L shows garbage in place of the index",
    "nvmlDeviceGetPciInfo_v3": "where it is not supported, the bus id is garbage",
    "nvmlDeviceGetNvLinkRemotePciInfo_v2": "topo asks it even where links end in switches",
    "nvmlDeviceGetCount_v2": "not of one GPU",
    "nvmlDeviceGetHandleByIndex_v2": "not of one GPU",
    "nvmlDeviceGetHandleByPciBusId_v2": "not of one GPU",
}


def functions() -> list[str]:
    """All that ours asks of a GPU."""
    sources = "".join(path.read_text() for path in (CHECKOUT / "native/node").glob("smi*.c"))
    return sorted(set(re.findall(r"\bnvmlDeviceGet\w+", sources)) - set(UNLIKE))


@pytest.mark.parametrize(
    ("profile", "code"),
    [("a100-sxm4-40gb", UNKNOWN), ("a100-sxm4-40gb", NOT_SUPPORTED), ("h100-80gb-hbm3", NO_PERMISSION),
     ("tesla-t4", UNKNOWN)],
)  # fmt: skip
def test_one_function_fails(newest, root, profile, code):
    smi = Smi(*newest, root, profile=profile, count=2)
    smi.driver.tool("set", 0, "ecc_dram", 3)
    help_text = smi("--help-query-gpu")
    fields = re.findall(r'^"([\w.]+)"(?: or "[\w.]+")?$', help_text, flags=re.M)
    asked = ",".join(name for name in fields if not name.startswith("clocks_event_reasons."))
    views = [[], ["-L"], ["-q"], ["-q", "-x"], ["topo", "-m"], [f"--query-gpu={asked}", "--format=csv"],
             ["--query-compute-apps=gpu_uuid,gpu_bus_id,pid", "--format=csv"]]  # fmt: skip
    assert len(functions()) > 75
    unlike, shown = {}, 0
    whole = smi.run_ours("-q").stdout
    for function in functions():
        smi.driver.tool("set", 0, f"fault:{function}", code)
        unlike |= {f"{function}: {view[:40]}": lines for view, lines in smi.differing(views).items()}
        shown += smi.run_ours("-q").stdout != whole
    assert unlike == {}
    assert shown > 40
