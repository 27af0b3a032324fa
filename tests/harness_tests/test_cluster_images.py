# SPDX-License-Identifier: Apache-2.0
"""The device plugin's image: which one is used, and how it is fetched; against a registry on this machine."""

from __future__ import annotations

import hashlib
import http.server
import json
import tarfile
import threading

import pytest

from tests.harness import plugin_image, registry, upstream
from tests.harness.plugin_image import PluginImageError
from tests.harness.progress import Progress
from tests.harness.registry import Registry, RegistryError

pytestmark = pytest.mark.unit

REFERENCE = "registry.test/team/plugin:v9"


def digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Server:
    """A registry with one image for amd64, behind anonymous tokens."""

    def __init__(self):
        self.config, self.layer = b'{"architecture":"amd64"}', b"layer" * 50000
        described = [{"digest": digest(part), "size": len(part)} for part in (self.config, self.layer)]
        media = registry.MANIFESTS[0]
        self.manifest = json.dumps({"mediaType": media, "config": described[0], "layers": described[1:]}).encode()
        platform = {"architecture": "amd64", "os": "linux"}
        self.index = json.dumps({"manifests": [{"digest": digest(self.manifest), "platform": platform}]}).encode()
        self.files = {
            "/v2/team/plugin/manifests/v9": self.index,
            f"/v2/team/plugin/manifests/{digest(self.manifest)}": self.manifest,
            f"/v2/team/plugin/blobs/{digest(self.config)}": self.config,
            f"/v2/team/plugin/blobs/{digest(self.layer)}": self.layer,
        }
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                if self.path.startswith("/token?"):
                    return self.answer(200, json.dumps({"token": "t0k3n"}).encode())
                if self.headers.get("Authorization") != "Bearer t0k3n":
                    realm = (
                        f'Bearer realm="{outer.url}/token",service="registry.test",scope="repository:team/plugin:pull"'
                    )
                    return self.answer(401, b"", {"WWW-Authenticate": realm})
                content = outer.files.get(self.path)
                return self.answer(404, b"") if content is None else self.answer(200, content)

            def answer(self, code, content, headers=None):
                self.send_response(code)
                for key, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *words):
                pass

        self.asked: list[str] = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    made = Server()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_an_image_is_fetched_whole_and_named(server, tmp_path):
    archive = registry.pull(REFERENCE, "amd64", tmp_path / "kept/plugin.tar", base=server.url)
    with tarfile.open(archive) as tar:
        files = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}
    described = json.loads(files["index.json"])["manifests"][0]
    assert described["annotations"]["io.containerd.image.name"] == REFERENCE
    assert described["digest"] == digest(server.manifest)
    for content in (server.manifest, server.config, server.layer):
        assert files["blobs/" + digest(content).replace(":", "/")] == content
    assert [path.name for path in archive.parent.iterdir()] == ["plugin.tar"]
    assert "scope=repository%3Ateam%2Fplugin%3Apull" in server.asked[1]


def test_content_that_is_not_what_its_digest_says_is_thrown_away(server, tmp_path):
    server.files[f"/v2/team/plugin/blobs/{digest(server.layer)}"] = b"tampered"
    with pytest.raises(RegistryError, match="has another digest, got sha256:"):
        registry.pull(REFERENCE, "amd64", tmp_path / "plugin.tar", base=server.url)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_said(server, tmp_path):
    with pytest.raises(RegistryError, match=r"registry.test/team/plugin/manifests/v10: answered 404"):
        registry.pull("registry.test/team/plugin:v10", "amd64", tmp_path / "x.tar", base=server.url)
    with pytest.raises(RegistryError, match=r"registry.test/team/plugin:v9: has no image for riscv64"):
        registry.pull(REFERENCE, "riscv64", tmp_path / "x.tar", base=server.url)


def test_a_registry_counts_as_reachable_when_it_answers(server):
    assert Registry("registry.test", "team/plugin", server.url).reachable()
    server.server.shutdown()
    server.server.server_close()
    assert not Registry("registry.test", "team/plugin", server.url).reachable()


@pytest.fixture
def choice(tmp_path, monkeypatch):
    """No archive is named or kept, the registry is as the test says."""
    monkeypatch.delenv(plugin_image.VARIABLE, raising=False)
    monkeypatch.setenv("GPU_SIM_CACHE", str(tmp_path / "cache"))

    def choose(reachable: bool, provider: str = "embedded"):
        monkeypatch.setattr(plugin_image, "_reachable", lambda: reachable)
        return plugin_image.choose(provider)

    return choose


def test_a_reachable_registry_gives_the_real_image(choice):
    made = choice(True)
    assert made.real
    assert made.source == "NVIDIA's image, pulled from nvcr.io"


def test_an_image_that_was_pulled_before_needs_no_registry(choice):
    plugin_image.kept().parent.mkdir(parents=True)
    plugin_image.kept().write_bytes(b"x")
    made = choice(False)
    assert made.real
    assert made.archive == plugin_image.kept()
    assert upstream.arch() in plugin_image.kept().name


def test_a_named_archive_goes_first_and_must_exist(choice, tmp_path, monkeypatch):
    file = tmp_path / "plugin.tar"
    file.write_bytes(b"x")
    monkeypatch.setenv(plugin_image.VARIABLE, str(file))
    made = choice(True)
    assert (made.real, made.archive) == (True, file)
    assert str(file) in made.source
    monkeypatch.setenv(plugin_image.VARIABLE, str(tmp_path / "absent.tar"))
    with pytest.raises(PluginImageError, match=r"DEVICE_PLUGIN_IMAGE_ARCHIVE: no such file, got .*absent.tar"):
        choice(True)


def test_the_stand_in_is_for_the_embedded_cluster_alone_and_says_so(choice, monkeypatch):
    made = choice(False)
    assert not made.real
    assert made.source.startswith("the stand-in from tests/plugin, under the name nvcr.io/nvidia/k8s-device-plugin:v")
    built = []
    monkeypatch.setattr(plugin_image.images, "archive", lambda name: built.append(name))
    plugin_image.archive(made, Progress(live=False))
    assert built == ["plugin-standin"]
    for provider in ("kind", "current"):
        assert choice(False, provider).real
