# SPDX-License-Identifier: Apache-2.0
"""The notes: what to label and how, then what to do next, then warnings of what was seen in the cluster."""

from __future__ import annotations

import pytest

from tests.chart.server_install import Install, daemon_set, namespace

pytestmark = pytest.mark.helm


def test_notes_begin_with_what_to_label_and_how(install: Install) -> None:
    _, notes = install("--set", "nodeSelector.pool=a,gpuSim.deviceCount=7,gpuSim.profile=tesla-t4")
    assert notes.splitlines()[:5] == [
        "Label each node that is to have 7 x Tesla T4 with 15360 MiB:",
        "",
        "  kubectl label node <node> gpu-sim=true pool=a",
        "",
        "Nodes without all of these labels are left alone.",
    ]
    assert "Nodes without this label are left alone." in install()[1]
    assert "helm test rel-a -n ns-a --logs" in notes
    assert "helm uninstall rel-a -n ns-a" in notes
    assert "WARNING" not in notes


def test_notes_of_a_dedicated_branch(install: Install) -> None:
    _, notes = install(
        "--set", "branch.slug=feat-x,branch.dedicated=true,gpuSim.memoryMB=16777216,gpuSim.deviceName=A B"
    )
    assert notes.splitlines()[2] == "  kubectl label node <node> gpu-sim=true gpu-sim.io/branch=feat-x"
    assert "kubectl taint node <node> gpu-sim.io/branch=feat-x:NoSchedule" in notes
    assert 'tolerations: [{key: gpu-sim.io/branch, operator: Equal, value: "feat-x"}]' in notes
    assert "4 x A B with 16777216 MiB" in notes


def test_notes_of_nothing(install: Install) -> None:
    rendered, notes = install("--set", "gpuSim.enabled=false")
    assert rendered.objects == []
    assert notes.strip() == "gpuSim.enabled is false: nothing is simulated."


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"nodeSelector": {"nvidia.com/gpu.present": "true"}}, "goes to nodes with the label nvidia.com/gpu.present"),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "nvidia.com/gpu.present", "operator": "Exists"}]}
                            ]
                        }
                    }
                }
            },
            "goes to nodes with the label nvidia.com/gpu.present",
        ),
        ({"containers": [{"image": "nvcr.io/nvidia/k8s-device-plugin:v0.17.0"}]}, "runs a device plugin"),
        ({"containers": [{"command": ["nvidia-device-plugin"]}]}, "runs a device plugin"),
    ],
)
def test_a_foreign_daemonset_is_warned_of(install: Install, spec: dict, said: str) -> None:
    install.server.objects = [daemon_set("theirs", spec), daemon_set("logging", {"containers": []})]
    _, notes = install()
    (warning,) = [line for line in notes.splitlines() if line.startswith("WARNING")]
    assert warning.startswith(f"WARNING: DaemonSet somewhere/theirs {said}")


def test_another_release_of_this_chart_is_no_stranger(install: Install) -> None:
    ours = {"app.kubernetes.io/part-of": "gpu-sim"}
    install.server.objects = [daemon_set("b", {"containers": [{"image": "k8s-device-plugin:v0.20.0"}]}, ours)]
    assert "WARNING" not in install()[1]
    assert ours.items() <= install()[0].one("DaemonSet")["metadata"]["labels"].items()


@pytest.mark.parametrize("level", ["restricted", "baseline"])
@pytest.mark.parametrize("target", ["gpu-sim", "ns-a"])
def test_a_namespace_that_refuses_the_pods_is_warned_of(install: Install, level: str, target: str) -> None:
    install.server.objects = [namespace(target, {"pod-security.kubernetes.io/enforce": level})]
    _, notes = install("--set", f"namespace.name={target}")
    assert f"WARNING: Namespace {target} enforces the Pod Security level {level}" in notes
    assert f"kubectl label namespace {target} --overwrite pod-security.kubernetes.io/enforce=privileged" in notes
    install.server.objects = [namespace(target, {"pod-security.kubernetes.io/enforce": "privileged"})]
    assert "WARNING" not in install("--set", f"namespace.name={target}")[1]


@pytest.mark.parametrize(("count", "warned"), [(12, False), (13, True), (16, True), (64, True)])
def test_many_gpus_are_warned_of(install: Install, count: int, warned: bool) -> None:
    _, notes = install("--set", f"gpuSim.deviceCount={count}")
    assert (f"WARNING: {count} GPUs on a node" in notes) == warned
    assert ("--set gpuSim.deviceCount=12" in notes) == warned
    assert "WARNING" not in install("--set", f"gpuSim.deviceCount={count},devicePlugin.enabled=false")[1]


@pytest.mark.parametrize(("plugin", "kubernetes", "warned"), [("0.19.0", "1.35.1", False), ("0.19.0", "1.36.0", True)])
def test_a_newer_cluster_is_warned_of(install: Install, plugin: str, kubernetes: str, warned: bool) -> None:
    install.server.kubernetes = kubernetes
    _, notes = install("--set", f"devicePlugin.image.tag=v{plugin}")
    assert (
        f"WARNING: Kubernetes v{kubernetes} is newer than 1.35, for which device plugin 0.19 was built" in notes
    ) == warned
