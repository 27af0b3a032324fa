# SPDX-License-Identifier: Apache-2.0
"""Fetches a public image from its registry into an OCI archive, without a container engine.

Called by plugin_image: the embedded cluster's nodes have no way out, so what they run is brought to them. Every blob is
checked against its digest; the archive appears only when it is whole. HTTPS proxies of the environment are honoured.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import json
import re
import tarfile
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

REACH_S, STALL_S = 3.0, 60.0
INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")


class RegistryError(Exception):
    """The image cannot be had from its registry."""


@dataclass
class Registry:
    """One repository; `base` is for tests, which serve one on this machine."""

    host: str
    repository: str
    base: str = ""
    token: str = field(default="", repr=False)

    def reachable(self) -> bool:
        """Whether the registry answers at all. Name resolution has no time limit of its own, hence the thread."""
        found: list[bool] = []

        def ask() -> None:
            try:
                with self._open("", REACH_S):
                    found.append(True)
            except urllib.error.HTTPError as error:
                found.append(error.code in (200, 401))
            except (OSError, http.client.HTTPException, ValueError):
                found.append(False)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(REACH_S)
        return bool(found and found[0])

    def _open(self, path: str, timeout: float, accept: tuple[str, ...] = ()):
        headers = {"Accept": ", ".join(accept) or "*/*"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        url = f"{self.base or 'https://' + self.host}/v2/{path}"
        return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout)

    def get(self, path: str, accept: tuple[str, ...] = ()):
        """An open answer; a token is asked for where the registry wants one."""
        where = f"{self.host}/{self.repository}"
        try:
            try:
                return self._open(f"{self.repository}/{path}", STALL_S, accept)
            except urllib.error.HTTPError as error:
                if error.code != 401 or self.token:
                    raise
                self.token = self._anonymous(error.headers.get("WWW-Authenticate", ""))
                return self._open(f"{self.repository}/{path}", STALL_S, accept)
        except urllib.error.HTTPError as error:
            raise RegistryError(f"{where}/{path}: answered {error.code} {error.reason}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise RegistryError(f"{where}/{path}: {getattr(error, 'reason', error)}") from None

    def _anonymous(self, challenge: str) -> str:
        fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        if "realm" not in fields:
            raise ValueError(f"asks for a login we do not know: {challenge!r}")
        query = {key: fields[key] for key in ("service", "scope") if key in fields}
        query.setdefault("scope", f"repository:{self.repository}:pull")
        with urllib.request.urlopen(f"{fields['realm']}?{urllib.parse.urlencode(query)}", timeout=STALL_S) as answer:
            found = json.load(answer)
        return found.get("token") or found["access_token"]

    def blob(self, path: str, digest: str, accept: tuple[str, ...] = ()) -> Path:
        """A blob in a temporary file of its own, checked."""
        total = hashlib.sha256()
        with tempfile.NamedTemporaryFile(prefix="gpu-sim-blob-", delete=False) as out:
            try:
                with self.get(path, accept) as answer:
                    while block := answer.read(1 << 20):
                        total.update(block)
                        out.write(block)
                if f"sha256:{total.hexdigest()}" != digest:
                    raise RegistryError(f"{self.host}/{self.repository}/{path}: has another digest, got {digest}")
            except BaseException:
                Path(out.name).unlink()
                raise
        return Path(out.name)


def pull(reference: str, architecture: str, archive: Path, note=lambda text: None, base: str = "") -> Path:
    """Write `archive` with the image of one architecture, under its reference."""
    host, _, rest = reference.partition("/")
    repository, _, tag = rest.rpartition(":")
    registry = Registry(host, repository, base)
    with registry.get(f"manifests/{tag}", INDEXES + MANIFESTS) as answer:
        top = answer.read()
    manifest, digest = json.loads(top), f"sha256:{hashlib.sha256(top).hexdigest()}"
    blobs: dict[str, Path | bytes] = {}
    try:
        if "manifests" in manifest:
            found = [m for m in manifest["manifests"] if m.get("platform", {}).get("architecture") == architecture]
            if not found:
                raise RegistryError(f"{reference}: has no image for {architecture}")
            digest = found[0]["digest"]
            file = registry.blob(f"manifests/{digest}", digest, MANIFESTS)
            top = file.read_bytes()
            file.unlink()
            manifest = json.loads(top)
        blobs[digest] = top
        parts = [manifest["config"], *manifest["layers"]]
        for number, part in enumerate(parts, 1):
            note(f"part {number}/{len(parts)}, {part['size'] / 1e6:.0f} MB")
            blobs[part["digest"]] = registry.blob(f"blobs/{part['digest']}", part["digest"])
        described = {"mediaType": manifest["mediaType"], "digest": digest, "size": len(top)}
        described["annotations"] = {"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": tag}
        _write(archive, described, blobs)
    finally:
        for content in blobs.values():
            if isinstance(content, Path):
                content.unlink(missing_ok=True)
    return archive


def _write(archive: Path, described: dict, blobs: dict[str, Path | bytes]) -> None:
    index = {"schemaVersion": 2, "mediaType": INDEXES[0], "manifests": [described]}
    archive.parent.mkdir(parents=True, exist_ok=True)
    unfinished = archive.with_name(archive.name + ".partial")
    try:
        with tarfile.open(unfinished, "w") as tar:
            _add(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
            _add(tar, "index.json", json.dumps(index).encode())
            for digest, content in blobs.items():
                _add(tar, "blobs/" + digest.replace(":", "/"), content)
        unfinished.rename(archive)
    finally:
        unfinished.unlink(missing_ok=True)


def _add(tar: tarfile.TarFile, name: str, content: bytes | Path) -> None:
    info = tarfile.TarInfo(name)
    if isinstance(content, bytes):
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    else:
        info.size = content.stat().st_size
        with content.open("rb") as stream:
            tar.addfile(info, stream)
