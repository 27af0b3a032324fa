# SPDX-License-Identifier: Apache-2.0
"""Writes OCI image archives without a container engine; called by images.py.

Same input, same bytes: entries are sorted, owned by root and dated 1970, and layers are not compressed (zlib's output
differs between its versions). `ctr images import`, kind and k3s read index.json, `docker load` reads manifest.json.
"""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
# The classic image store of Docker knows one platform for a name; `select` makes an archive for another one.
DOCKER_ARCHITECTURE = "amd64"


@dataclass(frozen=True)
class File:
    content: bytes
    mode: int = 0o644


@dataclass(frozen=True)
class Link:
    target: str


@dataclass(frozen=True)
class Directory:
    mode: int = 0o755


Entry = File | Link | Directory


@dataclass(frozen=True)
class Image:
    """One platform of an image: a single layer and how it is started."""

    architecture: str
    files: Mapping[str, Entry]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: tuple[str, ...] = ("PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",)
    user: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


def write(archive: Path, name: str, images: Iterable[Image]) -> str:
    """Writes `name` (repository:tag) with one entry for each architecture; returns the index's digest."""
    blobs: dict[str, bytes] = {}
    platforms, docker = [], []
    for image in sorted(images, key=lambda i: i.architecture):
        descriptor, config, layer = _manifest(blobs, image)
        platforms.append(descriptor)
        docker.append((image.architecture, config, layer))
    if not platforms:
        raise ValueError(f"{archive}: image {name}: no architecture given; pass at least one")
    index = _blob(blobs, INDEX, _json({"schemaVersion": 2, "mediaType": INDEX, "manifests": platforms}))
    index["annotations"] = {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name.rpartition(":")[2],
    }
    _, config, layer = next((d for d in docker if d[0] == DOCKER_ARCHITECTURE), docker[0])
    files = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json({"schemaVersion": 2, "mediaType": INDEX, "manifests": [index]}),
        "manifest.json": _json([{"Config": _path(config), "RepoTags": [name], "Layers": [_path(layer)]}]),
    }
    files.update({_path(digest): content for digest, content in blobs.items()})
    _replace(archive, _tar({name: File(content) for name, content in files.items()}))
    return index["digest"]


def select(archive: Path, architecture: str, out: Path) -> None:
    """Copies an archive so that `docker load` takes the given architecture."""
    with tarfile.open(archive) as tar:
        files = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
    top = json.loads(files["index.json"])["manifests"][0]
    platforms = json.loads(files[_path(top["digest"])])["manifests"]
    chosen = [p for p in platforms if p["platform"]["architecture"] == architecture]
    if not chosen:
        have = ", ".join(p["platform"]["architecture"] for p in platforms)
        raise ValueError(f"{archive}: no image for {architecture}, it holds {have}; build it on or for that machine")
    manifest = json.loads(files[_path(chosen[0]["digest"])])
    docker = json.loads(files["manifest.json"])
    docker[0]["Config"] = _path(manifest["config"]["digest"])
    docker[0]["Layers"] = [_path(layer["digest"]) for layer in manifest["layers"]]
    files["manifest.json"] = _json(docker)
    _replace(out, _tar({name: File(content) for name, content in files.items()}))


def extract(archive: Path, folder: Path) -> None:
    """Unpacks an archive into an OCI image layout, the form in which registries' tools read it."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (folder / "manifest.json").unlink(missing_ok=True)


def _manifest(blobs: dict[str, bytes], image: Image) -> tuple[dict, str, str]:
    layer = _blob(blobs, LAYER, _tar(image.files))
    settings = {"Env": list(image.environment)}
    for key, value in (
        ("Entrypoint", list(image.entrypoint)),
        ("Cmd", list(image.command)),
        ("User", image.user),
        ("Labels", dict(image.labels)),
    ):
        if value:
            settings[key] = value
    config = _blob(
        blobs,
        CONFIG,
        _json(
            {
                "architecture": image.architecture,
                "os": "linux",
                "config": settings,
                "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
            }
        ),
    )
    body = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]}
    descriptor = _blob(blobs, MANIFEST, _json(body))
    descriptor["platform"] = {"architecture": image.architecture, "os": "linux"}
    return descriptor, config["digest"], layer["digest"]


def _blob(blobs: dict[str, bytes], media_type: str, content: bytes) -> dict:
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    blobs[digest] = content
    return {"mediaType": media_type, "digest": digest, "size": len(content)}


def _path(digest: str) -> str:
    return "blobs/" + digest.replace(":", "/")


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _tar(files: Mapping[str, Entry]) -> bytes:
    entries: dict[str, Entry] = {}
    for path, entry in files.items():
        clean = path.strip("/")
        for parent in PurePosixPath(clean).parents:
            if str(parent) != ".":
                entries.setdefault(str(parent), Directory())
        entries[clean] = entry
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(entries):
            entry, info = entries[path], tarfile.TarInfo(path)
            match entry:
                case File(content, mode):
                    info.size, info.mode = len(content), mode
                    tar.addfile(info, io.BytesIO(content))
                case Link(target):
                    info.type, info.linkname, info.mode = tarfile.SYMTYPE, target, 0o777
                    tar.addfile(info)
                case Directory(mode):
                    info.type, info.mode = tarfile.DIRTYPE, mode
                    tar.addfile(info)
    return out.getvalue()


def _replace(path: Path, content: bytes) -> None:
    """An unchanged archive keeps its date, so that whoever compares dates need not import it again."""
    if path.exists() and path.stat().st_size == len(content) and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
