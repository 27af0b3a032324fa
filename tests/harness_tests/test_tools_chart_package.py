# SPDX-License-Identifier: Apache-2.0
"""The chart as an OCI artifact: pushed to a registry on this machine and pulled back as it was."""

import json
import socket
import subprocess
import tarfile
import urllib.request

import pytest
import yaml

from tests.harness import chart_package, command, image_push, versions, wait

pytestmark = pytest.mark.helm


@pytest.fixture
def registry():
    """An empty registry, in memory."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    server = subprocess.Popen(
        [image_push.crane(), "registry", "serve", "--address", address], stderr=subprocess.DEVNULL
    )

    def answers():
        try:
            return urllib.request.urlopen(f"http://{address}/v2/", timeout=1).status == 200
        except OSError:
            return False

    try:
        wait.wait_until("the registry answers", answers, 20)
        yield address
    finally:
        server.terminate()
        server.wait(10)


def test_the_archive_holds_the_chart_of_this_version(tmp_path):
    with tarfile.open(chart_package.package(tmp_path)) as archive:
        chart = yaml.safe_load(archive.extractfile("gpu-sim/Chart.yaml"))
        names = archive.getnames()
    assert chart["version"] == versions.version("gpu-sim")
    assert {"gpu-sim/values.yaml", "gpu-sim/values.schema.json", "gpu-sim/README.md"} <= set(names)


def test_what_was_pushed_can_be_pulled(registry, helm_program, tmp_path):
    assert (
        chart_package.push(f"{registry}/team/") == f"oci://{registry}/team/charts/gpu-sim:{versions.version('gpu-sim')}"
    )
    tags = json.load(urllib.request.urlopen(f"http://{registry}/v2/team/charts/gpu-sim/tags/list"))
    assert tags["tags"] == [versions.version("gpu-sim")]
    pulled = [helm_program, "pull", f"oci://{registry}/team/charts/gpu-sim", "--plain-http", "--destination", tmp_path]
    command.run(pulled)
    (archive,) = tmp_path.iterdir()
    assert archive.read_bytes() == (versions.CHECKOUT / "build" / archive.name).read_bytes()


def test_a_registry_that_is_not_there_is_named(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert chart_package.main(["push", "--registry", address]) == 1
    said = capsys.readouterr().err
    assert f"oci://{address}/charts --plain-http" in said and "connection refused" in said and "Traceback" not in said
