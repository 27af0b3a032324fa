# SPDX-License-Identifier: Apache-2.0
"""The released image: what is in it, how big it is, and that a registry gets it as it was built."""

from __future__ import annotations

import io
import json
import re
import socket
import struct
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import image_contents, image_push, images, native_build, oci, upstream, versions
from tests.harness.wait import wait_until
from tests.node.node_root import NodeRoot

pytestmark = [pytest.mark.native, pytest.mark.timeout(900)]  # the first portable build takes minutes
MACHINES = {"amd64": 62, "arm64": 183}  # in an ELF header
INTERPRETER = 3  # the program header that names a dynamic loader


@pytest.fixture(scope="module")
def contents() -> list[oci.Image]:
    return image_contents.gpu_sim()


def program_headers(elf: bytes) -> list[int]:
    offset, size, count = *struct.unpack_from("<Q", elf, 32), *struct.unpack_from("<HH", elf, 54)
    return [struct.unpack_from("<I", elf, offset + i * size)[0] for i in range(count)]


def test_both_architectures_are_small_and_the_program_is_static(contents: list[oci.Image]) -> None:
    assert {image.architecture for image in contents} == set(MACHINES)
    for image in contents:
        files = {name: entry for name, entry in image.files.items() if isinstance(entry, oci.File)}
        assert set(files) == {"gpu-sim", "usr/lib/gpu-sim/libnvidia-ml.so"}
        assert sum(len(entry.content) for entry in files.values()) <= 2_000_000
        for entry in files.values():
            assert struct.unpack_from("<H", entry.content, 18) == (MACHINES[image.architecture],)
            assert entry.mode == 0o755
        assert INTERPRETER not in program_headers(files["gpu-sim"].content)
        assert image.entrypoint == ("/gpu-sim",)


def test_the_dockerfile_makes_the_same_image(contents: list[oci.Image]) -> None:
    text = (versions.CHECKOUT / "native/Dockerfile").read_text()
    final = text[text.index("FROM scratch") :]
    copied = dict(re.findall(r"COPY --from=build /src/build/portable/\$\{TARGETARCH\}/(\S+) /(\S+)", final))
    for image in contents:
        assert set(copied.values()) == set(image.files)
        for source, target in copied.items():
            built = native_build.FOLDER / image.architecture / source
            assert built.read_bytes() == image.files[target].content
        assert f"ENTRYPOINT {json.dumps(list(image.entrypoint))}" in final
    wanted = set(re.search(r"wanted = \{(.*)\}", text)[1].replace('"', "").split(", "))
    assert wanted <= {package.split("==")[0].lower() for package in versions.packages()}


def test_built_twice_it_is_the_same(contents: list[oci.Image], tmp_path: Path) -> None:
    archive = images.archive("gpu-sim")
    again = tmp_path / "again.tar"
    oci.write(again, images.reference("gpu-sim"), contents)
    assert archive.read_bytes() == again.read_bytes()


def unpack(archive: Path, architecture: str, folder: Path) -> None:
    with tarfile.open(archive) as tar:

        def blob(descriptor: dict) -> bytes:
            return tar.extractfile("blobs/" + descriptor["digest"].replace(":", "/")).read()

        index = json.loads(blob(json.load(tar.extractfile("index.json"))["manifests"][0]))
        (manifest,) = [m for m in index["manifests"] if m["platform"]["architecture"] == architecture]
        for layer in json.loads(blob(manifest))["layers"]:
            with tarfile.open(fileobj=io.BytesIO(blob(layer))) as files:
                files.extractall(folder, filter="data")


def test_what_is_in_the_archive_makes_a_node(tmp_path: Path) -> None:
    unpack(images.archive("gpu-sim"), upstream.arch(), tmp_path / "image")
    library = tmp_path / "image/usr/lib/gpu-sim/libnvidia-ml.so"
    node = NodeRoot(tmp_path / "image/gpu-sim", library, tmp_path / "root")
    node.install(5)
    assert len(node.uuids()) == 5
    assert node.run("--version").stdout == f"gpu-sim {images.PROJECT}\n"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    argv = [image_push.crane(), "registry", "serve", "--address", address, "--disk", tmp_path]
    server = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers() -> bool:
        host, port = address.split(":")
        with socket.socket() as client:
            return client.connect_ex((host, int(port))) == 0

    try:
        wait_until("the registry answers", answers, 10)
        yield address
    finally:
        server.kill()
        server.wait()


def test_a_registry_gets_the_same_digest_for_both_architectures(registry: str, capsys: pytest.CaptureFixture) -> None:
    archive = images.archive("gpu-sim")
    with tarfile.open(archive) as tar:
        digest = json.load(tar.extractfile("index.json"))["manifests"][0]["digest"]
    pushed = image_push.push({images.reference("gpu-sim"): archive}, f"{registry}/team/")
    target = f"{registry}/team/gpu-sim:{images.PROJECT}"
    assert pushed == [f"{registry}/team/gpu-sim@{digest}"]
    assert f"--set image.repository={registry}/team/gpu-sim" in capsys.readouterr().out
    index = json.loads(subprocess.run([image_push.crane(), "manifest", target], capture_output=True, check=True).stdout)
    assert {m["platform"]["architecture"] for m in index["manifests"]} == set(MACHINES)


@pytest.mark.parametrize("registry_name", ["https://host/x", "", "host/UPPER", "host name", "-x", "host/$(id)"])
def test_what_is_no_registry(registry_name: str) -> None:
    with pytest.raises(ValueError, match=r"push:REGISTRY: must be host\[:port\]\[/path\]"):
        image_push.push({}, registry_name)


def test_the_list_has_every_image(capsys: pytest.CaptureFixture) -> None:
    assert images.main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"localhost/gpu-sim:{images.PROJECT}\tbuild/gpu-sim-image.tar" in lines
    assert len(lines) == len(images.RECIPES)
    assert not [line for line in lines if ":latest" in line]


def test_an_unknown_image_is_refused(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as stopped:
        images.main(["build", "gpu-simm"])
    assert stopped.value.code == 2
    assert "no such image: gpu-simm" in capsys.readouterr().err
