# SPDX-License-Identifier: Apache-2.0
"""Faults that are declared, by values or by the node's annotation; errors of NVML and what the plugin makes of them."""

import pytest

from tests.e2e.health import Patient
from tests.e2e.scenes import gpu_pod
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster

ANNOTATION = "gpu-sim.io/faults"
SIX = {"deviceCount": 6, "memoryMB": 31031}


@pytest.fixture
def patient(stage, node_a):
    stage.simulate(node_a, gpuSim=SIX)
    patient = Patient(stage, node_a, 6)
    patient.listening()
    yield patient
    patient.repaired()


def test_values_start_a_node_with_broken_gpus_and_give_them_back(stage, node_a):
    faults = ["xid --gpu 1 79", "xid --gpu 4 48", "set --gpu 0 temperature=91C"]
    stage.install(f"on-{node_a}", node_a, {"gpuSim": {**SIX, "faults": faults}})
    stage.standing[node_a] = (f"on-{node_a}", {})
    stage.wait_rollout(f"on-{node_a}")
    patient = Patient(stage, node_a, 6)
    patient.wait_shown(4, 30)
    assert [gpu["xids"] for gpu in patient.status()] == [[], [79], [], [], [48], []]
    assert patient.status()[0]["temperature_c"] == 91
    # A declared fault comes back after whatever hides it.
    stage.cluster.node(node_a).restart_kubelet()
    wait_until("the GPUs to be gone and back", lambda: patient.shown()[0] in (0, 6), 20, seen=patient.shown)
    patient.wait_shown(4, 40)
    stage.simulate(node_a, gpuSim=SIX)
    patient.wait_shown(6, 30)
    assert {gpu["health"] for gpu in patient.status()} == {"ok"}


def test_an_annotation_of_the_node_breaks_and_repairs_and_is_acknowledged(patient, stage):
    def annotate(text: str | None) -> None:
        stage.kube.patch("v1", "Node", patient.node, {"metadata": {"annotations": {ANNOTATION: text}}})

    def told(reason: str, part: str) -> bool:
        return any(e["reason"] == reason and part in e["message"] for e in stage.kube.events("default", patient.node))

    try:
        annotate("xid --gpu 2 79; xid --gpu 3 79")
        patient.wait_shown(4, 20)
        wait_until("the agent's word", lambda: told("FaultsApplied", ""), 15)
        annotate("xid --gpu 3 79")
        patient.wait_shown(5, 30)
        annotate("xid --gpu 60 79")
        wait_until("the agent's refusal", lambda: told("FaultsRefused", "this node has GPUs 0,1,2,3,4,5"), 20)
        assert patient.shown() == (5, 6), "what is refused changes nothing"
    finally:
        annotate(None)
    patient.wait_shown(6, 30)


def test_a_slow_driver_delays_a_pod_and_nothing_else(patient, namespace):
    """1 ms for each call: the plugin asks for the links of all pairs before it gives a GPU away."""
    namespace.create(gpu_pod("fast", 1, patient.node))
    namespace.wait_phase("fast", "Running")
    patient.ctl("fault", "nvmlDeviceGetNvLinkState", "SUCCESS", "--delay", "1ms")
    namespace.create(gpu_pod("slow", 1, patient.node))
    namespace.wait_phase("slow", "Running")
    assert namespace.age_s("slow") > 0.3, "36 links of 30 pairs at 1 ms each"
    patient.stays(6)


def test_one_failing_wait_makes_all_gpus_unhealthy(patient, real_plugin):
    """Documents upstream: there is no second chance after one error of the event wait."""
    patient.ctl("fault", "nvmlEventSetWait_v2", "UNKNOWN", "--count", 1)
    patient.wait_shown(0, 10)
    patient.wait_log("Error waiting for event: ")  # ERROR_UNKNOWN or Unknown Error: by whether pods came before
    assert "; Marking all devices as unhealthy" in patient.log()
    patient.repaired()


def test_gpus_that_cannot_be_watched(patient, stage, real_plugin):
    patient.ctl("fault", "nvmlDeviceGetSupportedEventTypes", "UNKNOWN")
    stage.delete_node_pod(patient.node)
    patient.wait_log("unable to determine the supported events", 6, 40)
    patient.wait_shown(0)
    patient.ctl("clear", "--gpu", "all")
    patient.wait_shown(6, 30)
    patient.ctl("fault", "nvmlDeviceRegisterEvents", "NOT_SUPPORTED")
    stage.delete_node_pod(patient.node)
    patient.wait_log("is too old to support healthchecking", 6, 40)
    patient.wait_shown(6, 20)
    patient.stays(6)


def test_a_lost_gpu_keeps_the_plugin_from_giving_any_away(patient, namespace, real_plugin):
    """Documents upstream: preferred allocation asks for the links of all GPUs; one failing answer rejects the pod."""
    assert "v0.20.0" in patient.told("lost", "--gpu", 3)
    patient.wait_shown(5)
    namespace.create(gpu_pod("victim", 1, patient.node))
    status = namespace.wait_phase("victim", "Failed")["status"]
    assert status["reason"] == "UnexpectedAdmissionError"
    assert "unable to get device link information" in status["message"]
    patient.repaired()
    namespace.create(gpu_pod("after", 1, patient.node))
    namespace.wait_phase("after", "Running")
