# SPDX-License-Identifier: Apache-2.0
"""Upstream programs: the groups agree with the table of versions, and downloads come before builds."""

import hashlib
import io
import json
import tarfile

import pytest

from tests.harness import cache, download, golang, progress, toolchain, upstream, versions
from tests.harness_tests.test_tools_download import server  # noqa: F401  (a fixture)

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GPU_SIM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GPU_SIM_RELEASES", "off")


@pytest.fixture
def heard(monkeypatch):
    """What a reader sees on standard error."""
    stream = io.StringIO()
    monkeypatch.setattr(toolchain, "Progress", lambda: progress.Progress(stream, live=False))
    return stream


@pytest.fixture
def built(monkeypatch):
    """Builds by name, with the compiler left out."""
    calls = []

    def build(module, out, tags, ldflags, note):
        calls.append(module.name)
        group = upstream.GROUPS[module.name]
        back = {new: old for old, new in group.renamed.items()}
        for program in group.programs:
            (out / back.get(program, program)).write_text(f"built {program}")

    monkeypatch.setattr(golang, "install_tools", build)
    return calls


@pytest.mark.parametrize("group", upstream.GROUPS.values(), ids=lambda group: group.name)
def test_go_mod_and_the_table_of_versions_agree(group):
    group.check()
    assert group.required(group.module) == versions.version(group.name)


def test_a_group_that_contradicts_the_table_is_refused(monkeypatch):
    monkeypatch.setattr(upstream.versions, "version", lambda name: "9.8.7")
    with pytest.raises(upstream.ToolchainError, match=r"got 3\.22\.0 instead of 9\.8\.7"):
        upstream.GROUPS["helm"].check()


def test_every_tool_line_is_a_program_and_the_other_way_round():
    for group in upstream.GROUPS.values():
        text = (group.folder / "go.mod").read_text()
        paths = [
            line.split()[-1] for line in text.splitlines() if line.startswith(("tool ", "\t" + group.module + "/cmd"))
        ]
        names = [group.renamed.get(n, n) for n in (p.removesuffix("/v3").rsplit("/", 1)[1] for p in paths if p != "(")]
        assert sorted(names) == sorted(group.programs), group.name


def test_stamps():
    flags = upstream.GROUPS["kubernetes"].ldflags()
    assert "-X k8s.io/component-base/version.gitVersion=v" + versions.version("kubernetes") in flags
    assert "-X k8s.io/component-base/version.gitMinor=34" in flags
    # Helm's own release stamps the minor version of the client library it is made with; 1.20 without.
    assert "pkg/chartutil.k8sVersionMinor=37" in upstream.GROUPS["helm"].ldflags()


def test_the_key_follows_everything_that_goes_in(monkeypatch):
    helm = upstream.GROUPS["helm"]
    keys = {helm.key()}
    for field, value in {"tags": "other", "stamps": ("a.b=c",), "programs": ("helm", "more")}.items():
        keys.add(upstream.Group(**{**vars(helm), field: value}).key())
    monkeypatch.setattr(upstream, "arch", lambda: "riscv64")
    keys.add(helm.key())
    assert len(keys) == 5
    assert all(key.startswith(f"helm-{helm.version}-") for key in keys)


def test_programs_are_built_once_and_say_what_is_built(built, heard):
    first = toolchain.programs(["helm", "etcd"])
    assert {name: path.read_text() for name, path in first.items()} == {"helm": "built helm", "etcd": "built etcd"}
    said = heard.getvalue()
    assert f"helm {versions.version('helm')}, etcd {versions.version('etcd')}" in said
    assert "[1/2] helm" in said and "[2/2] etcd" in said
    assert toolchain.programs(["helm", "etcd"]) == first and built == ["helm", "etcd"]
    assert heard.getvalue() == said  # nothing to say when nothing is made
    assert toolchain.source("etcd").startswith(f"built from go.etcd.io/etcd/server/v3 v{versions.version('etcd')}")


def test_a_build_that_leaves_out_a_program_is_refused(monkeypatch, heard):
    monkeypatch.setattr(golang, "install_tools", lambda module, out, *_: (out / "ctr").write_text(""))
    with pytest.raises(upstream.ToolchainError, match="brought no containerd, containerd-shim-runc-v2;"):
        toolchain.programs(["containerd"])
    assert not cache.is_complete(cache.root() / "tools" / upstream.GROUPS["containerd"].key())


def _serve_helm(server, content=b"released helm"):  # noqa: F811
    (release,) = upstream.GROUPS["helm"].releases()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        entry = tarfile.TarInfo(next(iter(release.members)))
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
    path = "/" + release.url.removeprefix("https://")
    server.files[path] = packed.getvalue()
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    server.files[path + ".sha256sum"] = f"{digest}  {release.name}\n".encode()
    return path


def test_a_reachable_release_is_downloaded_not_built(server, built, heard):  # noqa: F811
    _serve_helm(server)
    assert toolchain.programs(["helm"])["helm"].read_text() == "released helm"
    assert built == [] and "download" in heard.getvalue()
    assert toolchain.source("helm").startswith("downloaded: http://127.0.0.1:")


def test_every_kubernetes_program_has_its_own_file(server, built, heard):  # noqa: F811
    for release in upstream.GROUPS["kubernetes"].releases():
        path = "/" + release.url.removeprefix("https://")
        server.files[path] = f"released {release.name}".encode()
        server.files[path + ".sha256"] = hashlib.sha256(server.files[path]).hexdigest().encode()
    made = toolchain.programs(["kubernetes"])
    assert {name: path.read_text() for name, path in made.items()} == {
        name: f"released {name}" for name in upstream.GROUPS["kubernetes"].programs}  # fmt: skip
    assert built == []


def test_a_release_that_is_cut_off_twice_is_built(server, built, heard):  # noqa: F811
    path = _serve_helm(server)
    server.short.add(path)
    assert toolchain.programs(["helm"])["helm"].read_text() == "built helm"
    assert server.asked.count(path) == 2 and "cut off" in heard.getvalue()
    assert sorted(p.name for p in toolchain.folders(["helm"])["helm"].iterdir()) == [".complete", "SOURCE", "helm"]


def test_an_archive_without_the_program_is_no_release(server, built, heard):  # noqa: F811
    path = _serve_helm(server)
    packed = io.BytesIO()
    tarfile.open(fileobj=packed, mode="w:gz").close()
    server.files[path] = packed.getvalue()
    server.files[path + ".sha256sum"] = hashlib.sha256(packed.getvalue()).hexdigest().encode()
    folder = toolchain.folders(["helm"])["helm"]
    assert built == ["helm"] and "has no file linux-" in heard.getvalue()
    assert sorted(p.name for p in folder.iterdir()) == [".complete", "SOURCE", "helm"]


def test_a_forged_release_stops_everything(server, built, heard):  # noqa: F811
    path = _serve_helm(server)
    server.files[path] += b"more"
    with pytest.raises(download.ChecksumError, match="do not use that server"):
        toolchain.programs(["helm"])
    assert built == []


def test_off_asks_nobody(server, built, heard, monkeypatch):  # noqa: F811
    _serve_helm(server)
    monkeypatch.setenv("GPU_SIM_RELEASES", "off")
    toolchain.programs(["helm"])
    assert built == ["helm"] and server.asked == []


def test_go_is_the_pinned_one_with_its_own_caches(monkeypatch):
    monkeypatch.setenv("GOROOT", "/usr/local/go")
    monkeypatch.setenv("GOFLAGS", "-mod=vendor")
    monkeypatch.setenv("GOTOOLCHAIN", "auto")
    from tests.harness import command

    given = golang.environment()
    seen = json.loads(command.run([golang.go(), "env", "-json"], extra=given).out)
    assert seen["GOVERSION"] == "go" + versions.version("go")
    assert seen["GOMODCACHE"] == str(cache.root() / "go" / "mod") and seen["GOCACHE"] == str(
        cache.root() / "go" / "build"
    )
    assert seen["GOTOOLCHAIN"] == "local" and seen["CGO_ENABLED"] == "0"


def test_gomaxprocs_bounds_the_jobs(monkeypatch):
    monkeypatch.setenv("GOMAXPROCS", "1")
    assert golang.jobs() == 1
    monkeypatch.setenv("GOMAXPROCS", "64")
    monkeypatch.setattr(golang.os, "sysconf", {"SC_PHYS_PAGES": 6 << 18, "SC_PAGE_SIZE": 4096}.__getitem__)
    assert golang.jobs() == 3  # 6 GiB of memory, two for each link
