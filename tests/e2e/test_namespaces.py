# SPDX-License-Identifier: Apache-2.0
"""Where a release's objects live: gpu-sim by default, wherever the release itself is, and nowhere else."""

import pytest

from tests.e2e.scenes import gpu_pod
from tests.harness.helm import HelmError

pytestmark = pytest.mark.cluster


@pytest.fixture
def bare(stage, node_a, node_b):
    stage.clear(node_a)
    stage.clear(node_b)
    return node_a, node_b


@pytest.fixture
def releases(stage):
    """Installs releases from chosen namespaces; those still there are removed afterwards."""
    made = []

    def install(name, node, namespace, count, values=None):
        stage.install(name, node, {"gpuSim": {"deviceCount": count}, **(values or {})}, namespace)
        if (name, namespace) not in made:
            made.append((name, namespace))
        stage.wait_gpus(node, count, deadline_s=60)

    def uninstall(name, node, namespace):
        made.remove((name, namespace))
        stage.helm.uninstall(name, namespace)
        stage.wait_no_gpus(node)

    install.uninstall = uninstall
    yield install
    for name, namespace in made:
        stage.helm.uninstall(name, namespace)


def test_two_releases_from_different_namespaces_come_and_go_in_any_order(bare, stage, releases):
    a, b = bare
    releases("one", a, "default", 3)
    releases("two", b, "gpu-sim", 5)
    assert {pod["metadata"]["namespace"] for pod in [*stage.pods_of("one"), *stage.pods_of("two")]} == {"gpu-sim"}
    assert stage.pod_security("gpu-sim") == "privileged"
    releases("one", a, "default", 2)  # upgrade of both
    releases("two", b, "gpu-sim", 4)
    for order in (("one", "two"), ("two", "one")):
        homes = {"one": (a, "default", 2), "two": (b, "gpu-sim", 4)}
        first, last = order
        releases.uninstall(first, *homes[first][:2])
        assert stage.gpus(homes[last][0]) == (homes[last][2],) * 2, "the release that stays lost its GPUs"
        releases.uninstall(last, *homes[last][:2])
        assert stage.pod_security("gpu-sim") == "privileged", "the namespace is kept, with its label"
        for name in order:
            node, namespace, count = homes[name]
            releases(name, node, namespace, count)


def test_a_release_in_its_own_namespace_can_be_installed_again(bare, stage, releases):
    node, _ = bare
    for count in (3, 5):
        releases("own", node, "team-x", count, {"namespace": {"name": "team-x", "create": False}})
        assert {pod["metadata"]["namespace"] for pod in stage.pods_of("own")} == {"team-x"}
        releases.uninstall("own", node, "team-x")


def test_a_custom_namespace_holds_everything_and_only_labelled_nodes_are_touched(bare, stage, releases, namespace):
    node, other = bare
    stage.simulate(other, gpuSim={"deviceCount": 2})  # somebody else's GPUs
    before, files = stage.fingerprint(other), stage.host(other).files()
    releases("custom", node, "default", 3, {"namespace": {"name": "sim-x"}})
    # The account of the test pods is with them, in the release's own namespace.
    elsewhere = [item for item in stage.objects_of("custom") if not item.startswith(("sim-x/", "cluster/"))]
    assert elsewhere == ["default/ServiceAccount/custom-test"]
    assert {pod["spec"]["nodeName"] for pod in stage.pods_of("custom")} == {node}
    namespace.create(gpu_pod("served", 3, node))
    assert namespace.report("served")["count"] == 3
    releases.uninstall("custom", node, "default")
    assert stage.fingerprint(other) == before
    assert stage.host(other).files() == files


def test_the_same_release_name_from_two_namespaces_is_refused_by_helm(bare, stage, releases):
    node, other = bare
    releases("twin", node, "default", 3)
    with pytest.raises(HelmError, match=r"(?s)invalid ownership metadata.*meta.helm.sh/release-namespace"):
        stage.install("twin", other, {"gpuSim": {"deviceCount": 2}}, namespace="team-y")
    assert stage.gpus(node) == (3, 3)
