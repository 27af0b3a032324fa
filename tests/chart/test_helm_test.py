# SPDX-License-Identifier: Apache-2.0
"""The pods of `helm test`: in which order, where, how they end, and what they compare."""

from __future__ import annotations

import pytest
import yaml

from tests.chart.rendering import CHECKOUT, Charts, Rendered, options_of

pytestmark = pytest.mark.helm

NAMES = {"nodes": "rel-a-test-nodes", "gpu": "rel-a-test-gpu"}


def rendered(chart: Charts, *options: str) -> Rendered:
    return chart.render(release="rel-a", namespace="ns-a", options=options)


def command(pod: dict) -> tuple[str, dict[str, str]]:
    container = pod["spec"]["containers"][0]
    return f"{container['command'][0]} {container['args'][0]}", options_of(container["args"][1:])


def test_nodes_first_then_a_gpu(chart: Charts) -> None:
    pods = rendered(chart).of("Pod")
    annotations = {pod["metadata"]["name"]: pod["metadata"]["annotations"] for pod in pods}
    assert {name: value["helm.sh/hook-weight"] for name, value in annotations.items()} == {
        NAMES["nodes"]: "0",
        NAMES["gpu"]: "1",
    }
    for value in annotations.values():
        assert value["helm.sh/hook"] == "test"
        assert value["helm.sh/hook-delete-policy"] == "before-hook-creation", (
            "logs are wanted after success and failure"
        )
        assert value["helm.sh/hook-output-log-policy"] == "hook-failed"


def test_they_are_where_helm_looks_for_logs_and_end_by_themselves(chart: Charts) -> None:
    for pod in rendered(chart, "--set", "namespace.name=elsewhere").of("Pod"):
        assert pod["metadata"]["namespace"] == "ns-a"
        assert pod["spec"]["restartPolicy"] == "Never"
        assert pod["spec"]["activeDeadlineSeconds"] == 120, "an interrupted test gives its GPU back"


def test_the_node_check_asks_for_this_releases_nodes(chart: Charts) -> None:
    pods = rendered(chart, "--set", "namespace.name=elsewhere,nodeSelector.pool=a")
    called, options = command(pods.test_pod("nodes"))
    assert called == "/gpu-sim-agent check-nodes"
    assert options == {"--selector": "gpu-sim=true,pool=a", "--namespace": "elsewhere", "--daemonset": "rel-a"}
    assert "nodeSelector" not in pods.test_pod("nodes")["spec"], "it must run where no node is selected"


def test_the_node_check_may_read_what_it_reads(chart: Charts) -> None:
    objects = rendered(chart)
    pod = objects.test_pod("nodes")
    account = {"kind": "ServiceAccount", "name": pod["spec"]["serviceAccountName"], "namespace": "ns-a"}
    assert pod["spec"]["automountServiceAccountToken"] is True
    assert objects.one("ServiceAccount", account["name"])["metadata"]["namespace"] == "ns-a"
    assert [account] in [each["subjects"] for each in objects.of("ClusterRoleBinding")]
    assert account in objects.one("RoleBinding")["subjects"]
    for item in objects.of("ClusterRole") + objects.of("ServiceAccount") + objects.of("ClusterRoleBinding"):
        assert "helm.sh/hook" not in item["metadata"].get("annotations", {}), "hooks are left behind by an uninstall"


@pytest.mark.parametrize("profile", [file.stem for file in (CHECKOUT / "native/profiles").glob("*.yaml")])
def test_the_gpu_is_compared_with_its_profile(chart: Charts, profile: str) -> None:
    board = yaml.safe_load((CHECKOUT / f"native/profiles/{profile}.yaml").read_text())
    called, options = command(rendered(chart, "--set", f"gpuSim.profile={profile}").test_pod("gpu"))
    assert called == "/gpu-sim verify"
    memory = str(board["memory"]["total_mib"])
    assert options == {"--count": "1", "--name": board["product_name"], "--memory-mib": memory}


@pytest.mark.parametrize(("name", "memory"), [("Board A", 777), ("$(X) B", 16777216), ("C", 24576)])
def test_or_with_the_values(chart: Charts, name: str, memory: int) -> None:
    _, options = command(rendered(chart, "--set", f"gpuSim.deviceName={name},gpuSim.memoryMB={memory}").test_pod("gpu"))
    assert options == {"--count": "1", "--name": name.replace("$", "$$"), "--memory-mib": str(memory)}


def test_the_gpu_pod_asks_for_one_gpu_on_the_simulated_nodes(chart: Charts) -> None:
    objects = rendered(chart, "--set", "tests.resources.limits.memory=99Mi,nodeSelector.pool=a")
    spec = objects.test_pod("gpu")["spec"]
    limits = {"memory": "99Mi", "nvidia.com/gpu": "1"}
    assert spec["containers"][0]["resources"] == {"limits": limits, "requests": {"cpu": "10m", "memory": "16Mi"}}
    assert spec["nodeSelector"] == objects.pod["spec"]["nodeSelector"] == {"gpu-sim": "true", "pool": "a"}
    assert spec["tolerations"] == objects.pod["spec"]["tolerations"]


def test_it_asks_for_the_gpu_even_without_other_resources(chart: Charts) -> None:
    for options in (["--set", "tests.resources=null"], ["--set", "tests.resources.limits=null"]):
        limits = rendered(chart, *options).test_pod("gpu")["spec"]["containers"][0]["resources"]["limits"]
        assert limits == {"nvidia.com/gpu": "1"}


def test_they_can_be_left_out(chart: Charts) -> None:
    assert rendered(chart, "--set", "tests.enabled=false").of("Pod") == []
    without = rendered(chart, "--set", "devicePlugin.enabled=false").of("Pod")
    assert [pod["metadata"]["name"] for pod in without] == [NAMES["nodes"]]
