# SPDX-License-Identifier: Apache-2.0
"""What a test of this folder asks for: the shared stage, a namespace of its own, objects outside of any namespace.

Loaded by conftest.py, which brings the cluster itself.
"""

import secrets

import pytest

from tests.e2e.space import Space
from tests.e2e.stage import Stage
from tests.harness import debian_packages, needs, pod_images


@pytest.fixture(scope="session")
def stage(cluster, tmp_path_factory):
    made = Stage(cluster, tmp_path_factory.mktemp("values"))
    yield made
    for node in list(made.standing):
        made.clear(node)


@pytest.fixture(scope="session")
def pod_image(cluster):
    """Puts one of pod_images on the nodes, once; its reference."""
    there = set()

    def put(name: str) -> str:
        if name not in there:
            try:
                cluster.load_image(pod_images.archive(name))
            except debian_packages.UnavailableError as error:
                needs.skip("debian", str(error))
            there.add(name)
        return pod_images.reference(name)

    return put


def _space(stage):
    space = Space(stage.kube, f"e2e-{secrets.token_hex(3)}")
    space.open()
    yield space
    space.close()


namespace = pytest.fixture(_space, name="namespace")
other_namespace = pytest.fixture(_space, name="other_namespace")


@pytest.fixture
def cluster_objects(stage):
    """Creates objects that belong to no namespace; they are deleted afterwards."""
    made = []

    def create(*items: dict) -> None:
        stage.kube.apply(items)
        made.extend(items)

    yield create
    for item in made:
        stage.kube.delete(item["apiVersion"], item["kind"], item["metadata"]["name"])
