# SPDX-License-Identifier: Apache-2.0
"""The OCI archive writer: what readers find in an archive, and that it depends on its input only."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.harness import oci
from tests.harness.oci import Directory, File, Image, Link

pytestmark = pytest.mark.unit
NAME = "localhost/some-image:1.2.3"


def image(architecture: str, **more: object) -> Image:
    files = {
        "z": File(b"last", 0o600),
        "usr/bin/program": File(architecture.encode(), 0o755),
        "usr/bin/link": Link("program"),
        "tmp": Directory(0o1777),
        "a-" + "long/" * 40 + "name": File(b""),
    }
    return Image(architecture, files, entrypoint=("/usr/bin/program",), **more)


def blobs(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


def manifest(files: dict[str, bytes], architecture: str) -> dict:
    top = json.loads(files["index.json"])["manifests"][0]
    index = json.loads(files[blob(top)])
    (one,) = [m for m in index["manifests"] if m["platform"] == {"architecture": architecture, "os": "linux"}]
    return json.loads(files[blob(one)])


def blob(descriptor: dict) -> str:
    return "blobs/" + descriptor["digest"].replace(":", "/")


def test_each_blob_is_what_its_digest_and_size_say(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    digest = oci.write(archive, NAME, [image("amd64"), image("arm64")])
    files = blobs(archive)
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    top = json.loads(files["index.json"])["manifests"]
    assert [m["digest"] for m in top] == [digest]
    assert top[0]["annotations"] == {"io.containerd.image.name": NAME, "org.opencontainers.image.ref.name": "1.2.3"}
    for name, content in files.items():
        if name.startswith("blobs/sha256/"):
            assert hashlib.sha256(content).hexdigest() == name.removeprefix("blobs/sha256/")
    for architecture in ("amd64", "arm64"):
        parts = manifest(files, architecture)
        for descriptor in (parts["config"], *parts["layers"]):
            assert len(files[blob(descriptor)]) == descriptor["size"]


def test_configuration_and_layer(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    oci.write(archive, NAME, [image("arm64", user="65534", labels={"k": "v"}, command=("serve",))])
    files = blobs(archive)
    parts = manifest(files, "arm64")
    config = json.loads(files[blob(parts["config"])])
    assert (config["architecture"], config["os"]) == ("arm64", "linux")
    assert config["config"]["Entrypoint"] == ["/usr/bin/program"]
    assert config["config"]["Cmd"] == ["serve"]
    assert (config["config"]["User"], config["config"]["Labels"]) == ("65534", {"k": "v"})
    assert config["rootfs"]["diff_ids"] == [parts["layers"][0]["digest"]]
    with tarfile.open(fileobj=io.BytesIO(files[blob(parts["layers"][0])])) as layer:
        members = {member.name: member for member in layer}
        assert list(members) == sorted(members), "a folder must come before what is in it"
        assert {"usr", "usr/bin", "tmp", "z"} <= set(members)
        assert members["usr/bin"].isdir()
        assert members["tmp"].mode == 0o1777
        assert members["z"].mode == 0o600
        assert members["usr/bin/link"].linkname == "program"
        assert layer.extractfile("usr/bin/program").read() == b"arm64"
        assert {(m.uid, m.gid, m.mtime, m.uname) for m in members.values()} == {(0, 0, 0, "")}


def test_same_input_same_bytes_whatever_its_order(tmp_path: Path) -> None:
    one, two = tmp_path / "one.tar", tmp_path / "two.tar"
    oci.write(one, NAME, [image("amd64"), image("arm64")])
    given = (image("arm64"), image("amd64"))
    backwards = [Image(i.architecture, dict(reversed(i.files.items())), i.entrypoint) for i in given]
    oci.write(two, NAME, backwards)
    assert one.read_bytes() == two.read_bytes()


def test_an_unchanged_archive_keeps_its_date_and_a_changed_one_is_replaced(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    oci.write(archive, NAME, [image("amd64")])
    before = archive.stat()
    oci.write(archive, NAME, [image("amd64")])
    assert (archive.stat().st_mtime_ns, archive.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    oci.write(archive, NAME, [image("amd64", user="7")])
    assert archive.stat().st_ino != before.st_ino
    assert [path.name for path in tmp_path.iterdir()] == ["image.tar"]


def test_docker_is_shown_one_platform(tmp_path: Path) -> None:
    archive, other = tmp_path / "image.tar", tmp_path / "other.tar"
    oci.write(archive, NAME, [image("arm64"), image("amd64")])
    oci.select(archive, "arm64", other)
    for path, architecture in ((archive, "amd64"), (other, "arm64")):
        files = blobs(path)
        (docker,) = json.loads(files["manifest.json"])
        assert docker["RepoTags"] == [NAME]
        assert json.loads(files[docker["Config"]])["architecture"] == architecture
        assert len(docker["Layers"]) == 1
        assert manifest(files, "amd64") != manifest(files, "arm64"), "both stay for those who read index.json"


def test_a_platform_that_is_not_there_is_named(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    oci.write(archive, NAME, [image("amd64")])
    with pytest.raises(ValueError, match=r"image.tar: no image for riscv64, it holds amd64"):
        oci.select(archive, "riscv64", tmp_path / "other.tar")
    with pytest.raises(ValueError, match="no architecture given"):
        oci.write(archive, NAME, [])


def test_the_layout_for_registries(tmp_path: Path) -> None:
    archive, layout = tmp_path / "image.tar", tmp_path / "layout"
    oci.write(archive, NAME, [image("amd64")])
    oci.extract(archive, layout)
    assert {path.name for path in layout.iterdir()} == {"blobs", "index.json", "oci-layout"}
