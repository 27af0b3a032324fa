# SPDX-License-Identifier: Apache-2.0
"""Values reach the containers of the node pods, and the containers agree with each other about paths and names."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.chart.rendering import Charts, Rendered

pytestmark = pytest.mark.helm

PROFILES = ["h100-80gb-hbm3", "tesla-t4", "a100-sxm4-40gb"]


@pytest.mark.parametrize("count", [1, 7, 13, 64])
@pytest.mark.parametrize("memory", [2, 15360, 81559, 16777216])
def test_count_and_memory(chart: Charts, count: int, memory: int) -> None:
    rendered = chart.render(options=["--set", f"gpuSim.deviceCount={count},gpuSim.memoryMB={memory}"])
    given = rendered.arguments("installer")
    assert (given["--count"], given["--memory-mib"]) == (str(count), str(memory))


@pytest.mark.parametrize("number", [1048576, 16777216])
def test_large_numbers_of_a_file_stay_in_digits(chart: Charts, tmp_path: Path, number: int) -> None:
    """Helm reads numbers of a file, unlike those of --set, as floating point: 1.6777216e+07."""
    values = {
        "gpuSim": {"memoryMB": number},
        "workload": {"namespace": "team-a", "quota": {"requests.nvidia.com/gpu": number}},
    }
    rendered = rendered_with(chart, tmp_path, values)
    assert rendered.arguments("installer")["--memory-mib"] == str(number)
    assert str(number) in rendered.test_pod("test-gpu")["spec"]["containers"][0]["args"]
    assert rendered.one("ResourceQuota")["spec"]["hard"] == {"requests.nvidia.com/gpu": str(number)}


@pytest.mark.parametrize("profile", PROFILES)
def test_profile(chart: Charts, profile: str) -> None:
    assert chart.render(options=["--set", f"gpuSim.profile={profile}"]).arguments("installer")["--profile"] == profile


def test_what_is_null_is_left_to_the_profile(chart: Charts) -> None:
    given = chart.render().arguments("installer")
    assert not {"--memory-mib", "--name", "--driver-version"} & set(given)


def test_installer_gets_everything_that_values_can_say(chart: Charts, tmp_path: Path) -> None:
    name = 'GPU $(POD_NAME) "x" {{ .Values }}'
    values = {
        "gpuSim": {"deviceName": name, "driverVersion": "570.10", "uuidFormat": "plain"},
        "devicePlugin": {"deviceListStrategy": ["volume-mounts", "envvar"]},
        "hostRoot": "/opt/simulated",
        "allowForeign": True,
    }
    given = rendered_with(chart, tmp_path, values, release="rel-a", namespace="ns-b").arguments("installer")
    assert given["--name"] == name.replace("$", "$$"), "of which the kubelet makes one"
    assert given["--driver-version"] == "570.10"
    assert given["--uuid-format"] == "plain"
    assert given["--device-list-strategy"] == "volume-mounts,envvar"
    assert given["--host-root"] == "/opt/simulated"
    assert (given["--release"], given["--namespace"]) == ("rel-a", "ns-b")
    assert "--allow-foreign" in given and "--host-usr" not in given
    given = chart.render().arguments("installer")
    assert "--allow-foreign" not in given
    assert given["--host-usr"] == "/host/usr", "a real driver's library is looked for"


def test_paths_in_the_containers_are_what_is_mounted_there(chart: Charts) -> None:
    options = ["--set", "hostRoot=/opt/simulated,kubeletRoot=/data/kubelet"]
    rendered = chart.render(options=options)
    root, plugins, cdi = "/host/gpu-sim", "/var/lib/kubelet/device-plugins", "/var/run/cdi"
    assert mounts(rendered, "installer") == {
        root: "/opt/simulated",
        plugins: "/data/kubelet/device-plugins",
        "/host/usr": "/usr",
    }
    for name in ("installer", "agent"):
        given = rendered.arguments(name)
        assert (given["--root"], given["--plugin-dir"]) == (root, plugins)
    assert rendered.arguments("agent")["--cdi-dir"] == cdi
    of_agent = mounts(rendered, "agent")
    assert {path: of_agent[path] for path in (root, plugins, cdi)} == {
        root: "/opt/simulated",
        plugins: "/data/kubelet/device-plugins",
        cdi: "/var/run/cdi",
    }
    assert of_agent["/var/lib/kubelet/pod-resources"] == "/data/kubelet/pod-resources"
    assert rendered.arguments("agent")["--pod-resources"] == "/var/lib/kubelet/pod-resources/kubelet.sock"
    environment = rendered.environment("agent")
    assert (environment["GPU_SIM_ROOT"], environment["GPU_SIM_PLUGIN_DIR"]) == (root, plugins)
    probe = rendered.container("agent")["readinessProbe"]["exec"]["command"]
    assert probe == ["/gpu-sim", "ready", f"--root={root}", f"--checkpoint={plugins}/kubelet_internal_checkpoint"]


def test_plugin_finds_library_driver_root_and_hook(chart: Charts) -> None:
    rendered = chart.render(options=["--set", "hostRoot=/opt/simulated"])
    root = "/opt/nvidia/mock"
    assert mounts(rendered, "device-plugin")[root] == "/opt/simulated/driver"
    environment = rendered.environment("device-plugin")
    assert environment == {
        "LD_LIBRARY_PATH": root,
        "CONTAINER_DRIVER_ROOT": root,
        "NVIDIA_DRIVER_ROOT": "/opt/simulated/driver",
        "NVIDIA_CDI_HOOK_PATH": "/opt/simulated/driver/usr/bin/nvidia-cdi-hook",
        "CONFIG_FILE": f"{root}/etc/gpu-sim/device-plugin.yaml",
        "MIG_STRATEGY": "none",
        "FAIL_ON_INIT_ERROR": "true",
        "PASS_DEVICE_SPECS": "false",
        "DEVICE_ID_STRATEGY": "uuid",
        "NVIDIA_VISIBLE_DEVICES": "void",
    }, "DEVICE_LIST_STRATEGY in the environment would win over the file that the installer writes"
    mount = next(item for item in rendered.container("device-plugin")["volumeMounts"] if item["mountPath"] == root)
    assert mount["readOnly"] is True


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"failOnInitError": False}, {"FAIL_ON_INIT_ERROR": "false"}),
        ({"passDeviceSpecs": True}, {"PASS_DEVICE_SPECS": "true"}),
        ({"deviceIdStrategy": "index"}, {"DEVICE_ID_STRATEGY": "index"}),
        ({"healthChecks": {"enabled": False}}, {"DP_DISABLE_HEALTHCHECKS": "all"}),
        ({"healthChecks": {"ignoredXids": [48, 119]}}, {"DP_DISABLE_HEALTHCHECKS": "48,119"}),
        ({"healthChecks": {"fatalXids": [31]}}, {"DP_ENABLE_HEALTHCHECKS": "31"}),
    ],
)
def test_plugin_options(chart: Charts, tmp_path: Path, values: dict, expected: dict) -> None:
    before = chart.render().environment("device-plugin")
    after = rendered_with(chart, tmp_path, {"devicePlugin": values}).environment("device-plugin")
    assert {name: value for name, value in after.items() if before.get(name) != value} == expected
    assert set(before) <= set(after)


def test_agent_and_plugin_agree_on_what_makes_a_gpu_unhealthy(chart: Charts, tmp_path: Path) -> None:
    values = {"devicePlugin": {"healthChecks": {"ignoredXids": [48, 119], "fatalXids": [31]}}}
    rendered = rendered_with(chart, tmp_path, values)
    for name in ("agent", "device-plugin"):
        environment = rendered.environment(name)
        assert (environment["DP_DISABLE_HEALTHCHECKS"], environment["DP_ENABLE_HEALTHCHECKS"]) == ("48,119", "31")


@pytest.mark.parametrize(
    ("values", "memory", "utilization"),
    [
        ({}, "50%", "20-80"),
        (None, "50%", "20-80"),
        ({"memory": "none", "memoryPercent": 30, "utilization": "none"}, "none", "none"),
        ({"memory": "whole", "utilization": 35}, "whole", "35"),
        ({"memoryPercent": 7, "utilization": "0-100"}, "7%", "0-100"),
        ({"memory": None, "memoryPercent": None, "utilization": 0}, "50%", "0"),
    ],
)
def test_what_a_gpu_shows_while_it_is_allocated(chart, tmp_path, values, memory: str, utilization: str) -> None:
    given = rendered_with(chart, tmp_path, {"allocation": values}).arguments("agent")
    assert (given["--allocation-memory"], given["--allocation-utilization"]) == (memory, utilization)


def test_faults_from_the_start_reach_the_agent_in_order(chart: Charts, tmp_path: Path) -> None:
    lines = ["xid --gpu 3 79", "fault nvmlDeviceGetName UNKNOWN --gpu 0", "lost --gpu 1 #$(NODE_NAME)"]
    rendered = rendered_with(chart, tmp_path, {"gpuSim": {"faults": lines}})
    assert rendered.faults() == [line.replace("$", "$$") for line in lines]
    assert chart.render().faults() == []


def test_the_agent_is_there_before_anything_is_installed(chart: Charts) -> None:
    """And ends after the plugin: a sidecar, first of the init containers."""
    for options in ([], ["--set", "devicePlugin.enabled=false"]):
        first, second = chart.render(options=options).pod["spec"]["initContainers"]
        assert (first["name"], first["restartPolicy"]) == ("agent", "Always")
        assert second["name"] == "installer" and "restartPolicy" not in second


def test_without_the_plugin_only_the_driver_is_left(chart: Charts) -> None:
    rendered = chart.render(options=["--set", "devicePlugin.enabled=false"])
    assert [item["name"] for item in rendered.pod["spec"]["containers"]] == ["driver"]
    assert rendered.container("driver")["args"] == ["idle"]
    assert "--no-kubelet" in rendered.container("agent")["readinessProbe"]["exec"]["command"]
    for name in ("installer", "agent"):
        assert not {"--plugin-dir", "--device-list-strategy", "--pod-resources"} & set(rendered.arguments(name)), (
            "another's socket is fine"
        )
    assert not {"device-plugins", "pod-resources"} & {volume["name"] for volume in rendered.pod["spec"]["volumes"]}
    assert "GPU_SIM_PLUGIN_DIR" not in rendered.environment("agent")
    assert "test-gpu" not in rendered.text


def test_agent_knows_its_release_and_its_daemonset(chart: Charts) -> None:
    how = {"release": "rel-a", "namespace": "ns-b", "options": ["--set", "namespace.name=ns-c"]}
    rendered = chart.render(**how)
    given = rendered.arguments("agent")
    metadata = rendered.one("DaemonSet")["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("rel-a", "ns-c")
    assert (given["--release"], given["--namespace"]) == ("rel-a", "ns-b")
    assert (given["--daemonset"], given["--daemonset-namespace"]) == ("rel-a", "ns-c")
    assert given["--node-selector"] == "gpu-sim=true"
    for name in ("installer", "agent"):
        assert rendered.arguments(name)["--node"] == "$(NODE_NAME)"
        assert rendered.arguments(name)["--pod"] == "$(POD_NAME)"
        assert rendered.container(name)["env"][0]["valueFrom"] == {"fieldRef": {"fieldPath": "spec.nodeName"}}


def test_only_labelled_nodes_and_no_control_plane(chart: Charts) -> None:
    spec = chart.render().pod["spec"]
    assert spec["nodeSelector"] == {"gpu-sim": "true"}
    assert spec["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert "runtimeClassName" not in spec
    assert "affinity" not in spec, "a second release must reach the node, to be told who has it"


def test_dedicated_nodes(chart: Charts) -> None:
    options = ["--set-string", "branch.slug=08,branch.name=feature/08", "--set", "branch.dedicated=true"]
    rendered = chart.render(options=options)
    for spec in (rendered.pod["spec"], rendered.test_pod("test-gpu")["spec"]):
        assert spec["nodeSelector"] == {"gpu-sim": "true", "gpu-sim.io/branch": "08"}
        assert spec["tolerations"][-1] == {"key": "gpu-sim.io/branch", "operator": "Equal", "value": "08"}
        assert len(spec["tolerations"]) == 2
    assert rendered.pod["metadata"]["labels"]["gpu-sim.io/branch"] == "08"
    for metadata in (rendered.pod["metadata"], rendered.one("DaemonSet")["metadata"]):
        assert metadata["annotations"]["gpu-sim.io/branch-name"] == "feature/08"


def test_pod_settings(chart: Charts) -> None:
    spec = chart.render(options=["--set", "seLinuxOptions.type=spc_t,priorityClassName=mine"]).pod["spec"]
    assert spec["securityContext"]["seLinuxOptions"] == {"type": "spc_t"}
    assert spec["priorityClassName"] == "mine"
    rendered = chart.render(options=["--set", "imagePullSecrets[0].name=a,imagePullSecrets[1].name=b"])
    for spec in (rendered.pod["spec"], *(pod["spec"] for pod in rendered.of("Pod"))):
        assert spec["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]


def mounts(rendered: Rendered, container: str) -> dict[str, str]:
    """Path in the container → path on the host."""
    volumes = {volume["name"]: volume for volume in rendered.pod["spec"]["volumes"]}
    mounted = {item["mountPath"]: volumes[item["name"]] for item in rendered.container(container)["volumeMounts"]}
    return {path: volume["hostPath"]["path"] for path, volume in mounted.items() if "hostPath" in volume}


def rendered_with(chart: Charts, folder: Path, values: dict, **how: object) -> Rendered:
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    return chart.render(file, **how)
