# SPDX-License-Identifier: Apache-2.0
"""Health by the plugin's own path: an Xid is raised in the inventory, the plugin hears it, the kubelet believes it."""

import pytest

from tests.e2e.health import Patient
from tests.e2e.scenes import gpu_pod
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster

IGNORED = (13, 31, 43, 45, 68, 109)
FATAL = (48, 62, 63, 64, 69, 74, 79, 94, 95, 119)


@pytest.fixture
def patient(stage, node_a):
    """A node of ten GPUs, all of them well; well again afterwards."""
    stage.simulate(node_a, gpuSim={"deviceCount": 10, "memoryMB": 30003})
    patient = Patient(stage, node_a, 10)
    patient.listening()
    yield patient
    patient.repaired()


def test_an_xid_takes_the_gpu_from_new_pods_and_none_from_running_ones(patient, stage, namespace):
    namespace.create(gpu_pod("holder", 2, patient.node))
    namespace.wait_phase("holder", "Running")
    held = patient.held_by(namespace.name, "holder")
    free = next(index for index in range(10) if index not in held)

    took = []
    for left, index in ((9, held[0]), (8, free)):
        patient.ctl("xid", "--gpu", index, 79)
        took.append(patient.wait_shown(left))
    print(f"seen after {took} s")
    assert namespace.phase("holder") == "Running"
    assert patient.held_by(namespace.name, "holder") == held
    for index in (held[0], free):
        assert (
            f"XidCriticalError: Xid=79 on Device={patient.uuids[index]}; marking device as unhealthy." in patient.log()
        )

    # To the scheduler 8 are left, of which the holder has 2, though one of those is a broken one.
    namespace.create(gpu_pod("others", 6, patient.node))
    namespace.wait_phase("others", "Running")
    namespace.create(gpu_pod("too-much", 1, patient.node))
    assert free not in patient.held_by(namespace.name, "others")
    assert not set(patient.held_by(namespace.name, "others")) & set(held)
    wait_until(
        "the scheduler's reason", lambda: "Insufficient nvidia.com/gpu" in namespace.unschedulable("too-much"), 15
    )
    told = {gpu["index"]: (gpu["health"], gpu["kubelet"], gpu["xids"]) for gpu in patient.status()}
    for index in range(10):
        broken = index in (held[0], free)
        assert told[index] == (("xid", "unhealthy", [79]) if broken else ("ok", "healthy", []))


def test_a_repair_gives_one_gpu_back_and_never_another_that_is_broken(patient, stage, namespace):
    """Allocatable is watched all the time: it may dip to 0 while the plugin registers anew, and may not be 10."""
    for left, index in ((9, 3), (8, 5)):
        patient.ctl("xid", "--gpu", index, 79)
        patient.wait_shown(left)
    seen = stage.watch_allocatable(patient.node)
    said = patient.ctl("clear", "--gpu", 3)
    assert "the kubelet has 9 of 10 GPUs" in said
    patient.wait_shown(9)
    patient.stays(9)
    assert seen() <= {0, 8, 9}
    namespace.create(gpu_pod("all-the-rest", 9, patient.node))
    namespace.wait_phase("all-the-rest", "Running")
    assert patient.held_by(namespace.name, "all-the-rest") == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    patient.ctl("clear", "--gpu", patient.uuids[5])
    patient.wait_shown(10)


def test_which_xids_the_plugin_takes_for_the_end_of_a_gpu(patient):
    for times, xid in enumerate(IGNORED, 1):
        assert "ignores" in patient.told("xid", "--gpu", 0, xid)
        patient.wait_log("Skipping event {", times)
    patient.ctl("ecc", "--gpu", 1, "--uncorrected", 2)
    patient.wait_log("Skipping non-nvmlEventTypeXidCriticalError event")
    patient.stays(10)
    for index, xid in enumerate(FATAL):  # Xid 48 comes first: what an uncorrected ECC error leads to
        patient.ctl("xid", "--gpu", (index + 1) % 10, xid)
        patient.wait_shown(9 - index)
        assert f"Xid={xid} on Device={patient.uuids[(index + 1) % 10]}" in patient.log()


@pytest.mark.parametrize("how", ["plugin", "kubelet"])
def test_a_restart_hides_a_gpu_that_is_still_broken(how, patient, stage):
    """As with real boards: who watches for broken GPUs must not trust a healthy node."""
    patient.ctl("xid", "--gpu", 7, 79)
    patient.wait_shown(9)
    if how == "plugin":
        stage.delete_node_pod(patient.node)
    else:
        stage.cluster.node(patient.node).restart_kubelet()
    patient.wait_shown(10, 30)
    patient.stays(10)
    (gpu,) = [gpu for gpu in patient.status() if gpu["index"] == 7]
    assert gpu["health"] == "xid" and gpu["kubelet"] == "healthy"


CHECKS = {
    "chosen": ({"ignoredXids": [79], "fatalXids": [45]}, 79, 45),
    "off": ({"enabled": False}, 79, None),
}


@pytest.mark.parametrize("name", CHECKS)
def test_the_health_checks_are_as_the_values_say(name, stage, node_a):
    checks, ignored, fatal = CHECKS[name]
    stage.simulate(node_a, gpuSim={"deviceCount": 6}, devicePlugin={"healthChecks": checks})
    patient = Patient(stage, node_a, 6)
    if fatal:
        patient.listening()
        patient.ctl("xid", "--gpu", 2, fatal)
        patient.wait_shown(5)
    assert "ignores" in patient.told("xid", "--gpu", 4, ignored)
    patient.stays(5 if fatal else 6)
    patient.repaired()
