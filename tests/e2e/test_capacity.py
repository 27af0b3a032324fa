# SPDX-License-Identifier: Apache-2.0
"""What the node promises and what pods get: 2, 4, 8 and 16 GPUs, by the kubelet, by NVML in pods, by the file."""

import pytest

from tests.e2e.scenes import gpu_pod

pytestmark = pytest.mark.cluster

# Three boards, four counts, and memory that is nobody's default. With more than 12 whole GPUs the plugin's allocator
# takes minutes for 2 GPUs and more, except for all of them: pods of 16-GPU nodes ask for 1, 8 or 16.
NODES = {
    2: {"profile": "tesla-t4", "memoryMB": 12345},
    4: {"profile": "a100-sxm4-40gb", "memoryMB": None},
    8: {"profile": "h100-80gb-hbm3", "memoryMB": 54321},
    16: {"profile": "h100-80gb-hbm3", "memoryMB": 7001, "deviceName": "Sixteen of a kind"},
}
EXPECTED = {
    2: ("Tesla T4", 12345),
    4: ("NVIDIA A100-SXM4-40GB", 40960),
    8: ("NVIDIA H100 80GB HBM3", 54321),
    16: ("Sixteen of a kind", 7001),
}
# Pods that run at the same time, then the next group.
GROUPS = {2: [[1, 1], [2]], 4: [[1, 2], [4]], 8: [[1, 2], [8]], 16: [[1, 8], [16]]}


@pytest.fixture(params=sorted(NODES), ids=lambda count: f"{count}-gpus")
def count(request):
    return request.param


def test_pods_see_exactly_what_the_kubelet_gave_them(count, stage, node_a, namespace):
    stage.simulate(node_a, gpuSim={"deviceCount": count, **NODES[count]})
    assert stage.gpus(node_a) == (count, count)

    name, memory_mib = EXPECTED[count]
    inventory = stage.host(node_a).inventory()
    assert [(gpu.name, gpu.memory_mib) for gpu in inventory] == [(name, memory_mib)] * count
    assert len({gpu.uuid for gpu in inventory}) == count

    for sizes in GROUPS[count]:
        pods = {f"p{place}-of-{size}": size for place, size in enumerate(sizes)}
        namespace.create(*(gpu_pod(pod, size, node_a) for pod, size in pods.items()))
        given = []
        for pod, size in pods.items():
            report = namespace.report(pod)
            allocated = stage.allocated(node_a, namespace.name, pod)
            assert report["count"] == size
            assert sorted(gpu["uuid"] for gpu in report["gpus"]) == sorted(allocated)
            assert len(allocated) == size
            assert {(gpu["name"], gpu["memory_mib"]) for gpu in report["gpus"]} == {(name, memory_mib)}
            given += allocated
        assert len(given) == len(set(given)), f"one GPU was given to two pods: {sorted(given)}"
        assert set(given) <= {gpu.uuid for gpu in inventory}
        namespace.delete_pods(*pods)
