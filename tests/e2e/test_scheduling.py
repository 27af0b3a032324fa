# SPDX-License-Identifier: Apache-2.0
"""The scheduler and the API treat these GPUs as they treat any: waiting, quotas, priorities, refusals."""

import time

import pytest

from tests.e2e.scenes import gpu_pod, load, on_node
from tests.e2e.space import Space
from tests.harness.kube import KubeError
from tests.harness.wait import wait_until

pytestmark = pytest.mark.cluster

TWO = {"deviceCount": 2, "profile": "tesla-t4", "memoryMB": 12345}
GRACE_S = 4  # of the patient pod, which ends no sooner


@pytest.fixture
def two_gpus(stage, node_a):
    stage.simulate(node_a, gpuSim=TWO)
    return node_a


def test_the_third_of_three_pods_waits_for_a_gpu_and_gets_it(two_gpus, stage, namespace):
    namespace.create(*on_node(load("three-pods-two-gpus"), two_gpus))
    pods = ["first", "second", "third"]
    wait_until(
        "two of three pods to run", lambda: sorted(map(namespace.phase, pods)) == ["Pending", "Running", "Running"], 30,
        seen=lambda: {pod: namespace.phase(pod) for pod in pods},
    )  # fmt: skip
    (waiting,) = [pod for pod in pods if namespace.phase(pod) == "Pending"]
    running = [pod for pod in pods if pod != waiting]
    wait_until(
        "the scheduler's reason", lambda: "Insufficient nvidia.com/gpu" in namespace.unschedulable(waiting), 15,
        seen=lambda: namespace.unschedulable(waiting),
    )  # fmt: skip
    freed = stage.allocated(two_gpus, namespace.name, running[0])
    namespace.delete_pods(running[0])
    namespace.wait_phase(waiting, "Running", 30)
    assert stage.allocated(two_gpus, namespace.name, waiting) == freed
    assert namespace.phase(running[1]) == "Running"


def test_a_finished_pod_frees_its_gpus_at_once(two_gpus, namespace):
    namespace.create(gpu_pod("done", 2, two_gpus, containers=[_finishing_container()]))
    namespace.wait_phase("done", "Succeeded", 30)
    namespace.create(gpu_pod("next", 2, two_gpus))
    namespace.wait_phase("next", "Running", 30)


def _finishing_container() -> dict:
    (pod,) = load("gpu-pod")
    return {**pod["spec"]["containers"][0], "command": ["/bin/sh", "-c", "true"]}


def test_a_terminating_pod_holds_its_gpus_until_its_program_has_ended(two_gpus, stage, namespace):
    patient = next(item for item in load("preemption") if item["metadata"]["name"] == "patient")
    del patient["spec"]["priorityClassName"]
    namespace.create(*on_node([patient], two_gpus))
    namespace.wait_phase("patient", "Running", 30)
    namespace.kube.delete("v1", "Pod", "patient", namespace.name, grace_s=GRACE_S, deadline_s=None)
    namespace.create(gpu_pod("next", 1, two_gpus))
    since = time.monotonic()

    def ended() -> bool:
        phase, gone = namespace.phase("next"), namespace.pod("patient") is None
        assert gone or phase == "Pending", "the GPUs were given away while their program ran"
        return gone

    wait_until("the patient pod to end", ended, 30)
    assert time.monotonic() - since > GRACE_S - 1, "it ended at once: nothing was tried"
    # One that is forced out of the API ends later than it is gone there.
    namespace.wait_phase("next", "Running", 30)
    for times in range(5):
        namespace.delete_pods("next" if times == 0 else f"forced-{times - 1}")
        namespace.create(gpu_pod(f"forced-{times}", 2, two_gpus))
        namespace.wait_phase(f"forced-{times}", "Running", 30)
    assert {pod for _, pod in stage.allocations(two_gpus)} == {"forced-4"}


def test_a_quota_refuses_what_goes_beyond_it(two_gpus, namespace):
    namespace.create(*load("quota"))
    namespace.wait_quota("gpus")
    namespace.create(gpu_pod("within", 2, two_gpus))
    namespace.wait_phase("within", "Running", 30)
    with pytest.raises(KubeError) as refused:
        namespace.create(gpu_pod("beyond", 1, two_gpus))
    assert refused.value.status == 403
    for part in ("exceeded quota: gpus", "requested: requests.nvidia.com/gpu=1", "limited: requests.nvidia.com/gpu=2"):
        assert part in refused.value.message


def test_a_team_with_a_quota_and_another_share_the_gpus(stage, node_a, namespace):
    """The chart's own workload namespace; pods that name a limit only are counted as well."""
    quota = {"requests.nvidia.com/gpu": 2}
    stage.simulate(node_a, gpuSim={"deviceCount": 8}, workload={"namespace": "e2e-team", "quota": quota})
    team = Space(stage.kube, "e2e-team")
    (limit,) = stage.kube.list("v1", "ResourceQuota", team.name)
    team.wait_quota(limit["metadata"]["name"])
    try:
        team.create(gpu_pod("theirs", 2, node_a))
        namespace.create(gpu_pod("ours", 6, node_a))
        assert team.report("theirs")["count"] == 2
        assert namespace.report("ours")["count"] == 6
        with pytest.raises(KubeError, match=r"403: .*exceeded quota: .*used: requests\.nvidia\.com/gpu=2"):
            team.create(gpu_pod("too-much", 1, node_a))
    finally:
        team.delete_pods("theirs")


def test_an_urgent_pod_takes_the_place_of_a_patient_one(two_gpus, namespace, cluster_objects):
    *classes, patient, urgent = load("preemption")
    cluster_objects(*classes)
    namespace.create(*on_node([patient], two_gpus))
    namespace.wait_phase("patient", "Running", 30)
    namespace.create(*on_node([urgent], two_gpus))

    together, nominated = [], set()

    def urgent_runs() -> bool:
        phases = namespace.phase("patient"), namespace.phase("urgent")
        nominated.add(namespace.pod("urgent")["status"].get("nominatedNodeName"))
        if phases == ("Running", "Running"):
            together.append(phases)
        return phases[1] == "Running"

    since = time.monotonic()
    wait_until("the urgent pod to run", urgent_runs, 40, seen=lambda: namespace.unschedulable("urgent"))
    assert time.monotonic() - since > GRACE_S - 1, "the patient pod gave way at once: nothing was tried"
    assert not together, "both pods ran at once on 2 GPUs, of which they ask for 3"
    assert two_gpus in nominated, f"the scheduler never reserved the node; nominated: {nominated}"
    assert namespace.phase("patient") is None, "the victim should be gone"
    assert any("Preempted" in reason for reason, _ in namespace.events("patient"))


@pytest.mark.parametrize("pod", load("requests"), ids=lambda pod: pod["metadata"]["name"])
def test_the_api_refuses_what_is_no_whole_number_of_gpus(pod, namespace):
    said = pod["metadata"].get("annotations", {}).get("refusal")
    if said is None:
        namespace.create(pod, dry_run=True)
        return
    with pytest.raises(KubeError) as refused:
        namespace.create(pod, dry_run=True)
    assert refused.value.status == 422
    assert said in refused.value.message and ".resources" in refused.value.message


def test_a_pod_that_skips_the_scheduler_fails_on_a_full_node(two_gpus, namespace):
    namespace.create(gpu_pod("holder", 2, two_gpus))
    namespace.wait_phase("holder", "Running", 30)
    namespace.create(gpu_pod("pushed", 1, nodeName=two_gpus))
    status = namespace.wait_phase("pushed", "Failed", 30)["status"]
    assert status["reason"] == "UnexpectedAdmissionError"
    assert "unavailable for nvidia.com/gpu. Requested: 1, Available: 0" in status["message"]
