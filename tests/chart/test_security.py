# SPDX-License-Identifier: Apache-2.0
"""What the pods may do: nothing that is not listed here, whatever the values say."""

from __future__ import annotations

import pytest

from tests.chart.rendering import CHECKOUT, Charts, Rendered

pytestmark = pytest.mark.helm

EVERYTHING = CHECKOUT / "values/everything.yaml"


@pytest.fixture(scope="module", params=["defaults", "everything", "volume-mounts", "without plugin"])
def rendered(request: pytest.FixtureRequest, chart: Charts) -> Rendered:
    options = {
        "volume-mounts": ["--set", "devicePlugin.deviceListStrategy={envvar,volume-mounts}"],
        "without plugin": ["--set", "devicePlugin.enabled=false"],
    }.get(request.param, [])
    return chart.render(*([EVERYTHING] if request.param == "everything" else []), options=options)


def test_nothing_is_privileged_or_shares_the_host(rendered: Rendered) -> None:
    assert "privileged: true" not in rendered.text
    assert '"privileged":' not in rendered.text
    for spec in specs(rendered):
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)


def test_only_the_node_pods_own_containers_see_each_other(rendered: Rendered) -> None:
    """The agent signals the plugin after a repair."""
    assert [spec.get("shareProcessNamespace", False) for spec in specs(rendered)][:1] == [True]
    assert not any(spec.get("shareProcessNamespace") for spec in specs(rendered)[1:])


def test_every_container_is_closed(rendered: Rendered) -> None:
    for spec in specs(rendered):
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in [*spec.get("initContainers", []), *spec["containers"]]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False, container["name"]
            assert context["readOnlyRootFilesystem"] is True, container["name"]
            assert context["capabilities"]["drop"] == ["ALL"], container["name"]


def test_capabilities_are_those_that_something_needs(rendered: Rendered) -> None:
    added = {
        container["name"]: container["securityContext"]["capabilities"].get("add", [])
        for spec in specs(rendered)
        for container in [*spec.get("initContainers", []), *spec["containers"]]
    }
    mounts_volumes = '"envvar,volume-mounts' in rendered.text
    assert {name: capabilities for name, capabilities in added.items() if capabilities} == {
        "installer": ["MKNOD"],
        **({"device-plugin": ["SYS_ADMIN"]} if mounts_volumes else {}),
    }


def test_host_directories_are_those_of_the_simulation(rendered: Rendered, chart: Charts) -> None:
    volumes = rendered.pod["spec"]["volumes"]
    assert {volume["name"] for volume in volumes if "hostPath" in volume} <= {
        "host-root",
        "driver",
        "device-plugins",
        "pod-resources",
        "host-usr",
        "cdi",
    }
    (mount,) = [each for each in rendered.container("agent")["volumeMounts"] if each["name"] == "pod-resources"] or [
        {"readOnly": "devicePlugin" not in rendered.text}
    ]
    assert mount["readOnly"], "the kubelet's socket is asked, its directory is not written to"
    for pod in rendered.of("Pod"):
        assert "volumes" not in pod["spec"]


def test_only_the_agent_has_a_token(rendered: Rendered) -> None:
    spec = rendered.pod["spec"]
    assert spec["automountServiceAccountToken"] is False
    holders = [
        container["name"]
        for container in [*spec["initContainers"], *spec["containers"]]
        if any(mount["name"] == "token" for mount in container.get("volumeMounts", []))
    ]
    assert holders == ["agent"]
    assert all(account["automountServiceAccountToken"] is False for account in rendered.of("ServiceAccount"))


def test_what_the_agent_may_see_and_say(rendered: Rendered) -> None:
    daemon_set = rendered.one("DaemonSet")["metadata"]
    role = rendered.one("Role")
    assert role["metadata"]["namespace"] == daemon_set["namespace"]
    assert role["rules"] == [
        {
            "apiGroups": ["apps"],
            "resources": ["daemonsets"],
            "resourceNames": [daemon_set["name"]],
            "verbs": ["get", "list", "watch"],
        },
        {
            "apiGroups": [""],
            "resources": ["namespaces"],
            "resourceNames": [daemon_set["namespace"]],
            "verbs": ["get"],
        },
    ]
    account = {"kind": "ServiceAccount", "name": daemon_set["name"], "namespace": daemon_set["namespace"]}
    assert account in rendered.one("RoleBinding")["subjects"]
    assert rendered.pod["spec"]["serviceAccountName"] == daemon_set["name"]
    (binding,) = [each for each in rendered.of("ClusterRoleBinding") if account in each["subjects"]]
    assert binding["subjects"] == [account]
    assert rendered.one("ClusterRole", binding["roleRef"]["name"])["rules"] == [
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
    ]


def test_test_pods_satisfy_the_restricted_level(rendered: Rendered) -> None:
    assert rendered.of("Pod")
    for pod in rendered.of("Pod"):
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        assert pod["spec"]["securityContext"]["runAsUser"] > 0


def test_the_test_pods_cluster_wide_right_is_to_list_nodes(rendered: Rendered) -> None:
    (binding,) = [each for each in rendered.of("ClusterRoleBinding") if each["subjects"][0]["name"].endswith("-test")]
    rules = rendered.one("ClusterRole", binding["roleRef"]["name"])["rules"]
    assert rules == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}]


def test_without_tests_there_is_no_right_for_them(chart: Charts) -> None:
    rendered = chart.render(options=["--set", "tests.enabled=false"])
    assert {item["kind"] for item in rendered.objects} == {
        "Namespace", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "DaemonSet",
    }  # fmt: skip
    assert len(rendered.one("RoleBinding")["subjects"]) == 1
    assert len(rendered.one("ClusterRoleBinding")["subjects"]) == 1
    assert len(rendered.of("ServiceAccount")) == 1


def specs(rendered: Rendered) -> list[dict]:
    return [rendered.pod["spec"], *(pod["spec"] for pod in rendered.of("Pod"))]
