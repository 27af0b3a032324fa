# SPDX-License-Identifier: Apache-2.0
"""kind by the commands it is given, the user's cluster by what is left alone, and which provider is chosen."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from tests.harness import current, kind, providers, runs
from tests.harness.cluster import Unsupported
from tests.harness.progress import Progress
from tests.harness.runs import Run, RunError

pytestmark = pytest.mark.unit

FAKE = """#!/bin/sh
echo "$(basename "$0") $*" >>"$FAKE_LOG"
case "$*" in
  *"$FAKE_FAILS"*) [ -z "$FAKE_FAILS" ] || { echo "no luck today" >&2; exit 7; };;
esac
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """kind and docker that write down how they are called; fails(...) makes a call fail."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("kind", "docker"):
        (folder / name).write_text(FAKE)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "calls"))
    monkeypatch.setenv("FAKE_FAILS", "")
    monkeypatch.setenv("GPU_SIM_RUN_DIR", str(tmp_path / "runs"))

    class Fake:
        bin = folder

        @staticmethod
        def calls() -> list[str]:
            log = tmp_path / "calls"
            return log.read_text().splitlines() if log.exists() else []

        @staticmethod
        def fails(words: str) -> None:
            monkeypatch.setenv("FAKE_FAILS", words)

    return Fake


OPTIONS = {"labels": {"gpu-sim": "true"}, "feature_gates": {"SomeGate": True}}


def start_kind(fake, tmp_path, scheduler=None):
    run = Run("t")
    run.lock()
    archives = [tmp_path / "one.tar", tmp_path / "two.tar"]
    return kind.start(run, 3, OPTIONS, scheduler, archives, {"kind": fake.bin / "kind"}, Progress(live=False))


def test_kind_is_called_with_a_kubeconfig_of_the_runs_own(fake, tmp_path):
    cluster = start_kind(fake, tmp_path)
    folder = runs.base() / "t"
    assert fake.calls() == [
        f"kind create cluster --kubeconfig {folder}/kubeconfig --config {folder}/kind.yaml --wait 90s --name gpu-sim-t",
        f"kind load image-archive {tmp_path}/one.tar --name gpu-sim-t",
        f"kind load image-archive {tmp_path}/two.tar --name gpu-sim-t",
    ]
    config = yaml.safe_load((folder / "kind.yaml").read_text())
    assert [node["role"] for node in config["nodes"]] == ["control-plane", "worker", "worker", "worker"]
    assert [node.get("labels") for node in config["nodes"]] == [None, *[{"gpu-sim": "true"}] * 3]
    assert config["featureGates"] == {"SomeGate": True}
    assert "enable_cdi = true" in config["containerdConfigPatches"][0]
    assert runs.find("t").running
    cluster.stop()
    assert fake.calls()[-1] == f"kind delete cluster --kubeconfig {folder}/kubeconfig --name gpu-sim-t"
    assert not folder.exists()


def test_kind_gets_the_users_scheduler_config(fake, tmp_path):
    given = tmp_path / "mine.yaml"
    given.write_text(yaml.safe_dump({"kind": "KubeSchedulerConfiguration", "profiles": [{"schedulerName": "packer"}]}))
    start_kind(fake, tmp_path, given)
    first = yaml.safe_load((runs.base() / "t/kind.yaml").read_text())["nodes"][0]
    mounted = yaml.safe_load(Path(first["extraMounts"][0]["hostPath"]).read_text())
    assert mounted["profiles"] == [{"schedulerName": "packer"}]
    assert mounted["clientConnection"] == {"kubeconfig": "/etc/kubernetes/scheduler.conf"}
    patch = json.loads(first["kubeadmConfigPatches"][0])
    assert patch["scheduler"]["extraArgs"] == {"config": first["extraMounts"][0]["containerPath"]}
    assert patch["scheduler"]["extraVolumes"][0]["hostPath"] == first["extraMounts"][0]["containerPath"]


def test_a_kind_cluster_that_does_not_start_is_deleted_and_the_reason_shown(fake, tmp_path):
    fake.fails("create cluster")
    with pytest.raises(Exception, match="no luck today"):
        start_kind(fake, tmp_path)
    assert fake.calls()[-1].startswith("kind delete cluster")
    assert runs.names() == []


def test_operations_on_a_kind_node_go_through_docker(fake):
    node = kind.KindNode("gpu-sim-t-worker2")
    node.restart_kubelet()
    node.stop_kubelet()
    node.start_kubelet()
    node.run(["cat", "/etc/hostname"])
    assert fake.calls() == [
        "docker exec gpu-sim-t-worker2 systemctl restart kubelet",
        "docker exec gpu-sim-t-worker2 systemctl stop kubelet",
        "docker exec gpu-sim-t-worker2 systemctl start kubelet",
        "docker exec gpu-sim-t-worker2 cat /etc/hostname",
    ]
    with pytest.raises(Unsupported, match="node gpu-sim-t-worker2: /var/lib/x is inside a container"):
        node.host_path("/var/lib/x")


# ---- the user's own cluster ----
CONFIG = {
    "current-context": "work",
    "contexts": [
        {"name": "work", "context": {"cluster": "c1", "user": "u1", "namespace": "mine"}},
        {"name": "prod", "context": {"cluster": "c2", "user": "u2"}},
    ],
    "clusters": [
        {"name": "c1", "cluster": {"server": "https://one", "certificate-authority": "pki/ca.crt"}},
        {"name": "c2", "cluster": {"server": "https://two"}},
    ],
    "users": [
        {"name": "u1", "user": {"client-certificate": "/abs/u.crt", "client-key": "u.key"}},
        {"name": "u2", "user": {"token": "secret"}},
    ],
}


@pytest.fixture
def users_file(tmp_path, monkeypatch) -> Path:
    file = tmp_path / "home" / "config"
    file.parent.mkdir()
    file.write_text(yaml.safe_dump(CONFIG))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/absent:{file}")
    return file


def test_one_context_is_copied_with_its_files_and_nothing_of_the_others(users_file):
    assert current.users_kubeconfig() == users_file
    made = current.pinned(users_file)
    assert made["current-context"] == "work"
    assert made["clusters"][0]["cluster"]["certificate-authority"] == str(users_file.parent / "pki/ca.crt")
    assert made["users"][0]["user"] == {
        "client-certificate": "/abs/u.crt",
        "client-key": str(users_file.parent / "u.key"),
    }
    assert "secret" not in json.dumps(made)
    assert yaml.safe_load(users_file.read_text()) == CONFIG


def test_a_context_that_is_not_there_is_named_with_those_that_are(users_file):
    with pytest.raises(RunError, match="contexts: must be one of work, prod, got 'test'"):
        current.pinned(users_file, "test")


def test_no_kubeconfig_at_all_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("KUBECONFIG", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(RunError, match="names no file that exists"):
        current.users_kubeconfig()


class FakeKube:
    def __init__(self, labels: dict[str, dict]):
        self.labels, self.changes = labels, []

    def nodes(self) -> list[dict]:
        return [{"metadata": {"name": name, "labels": labels}} for name, labels in self.labels.items()]

    def node(self, name: str) -> dict | None:
        return {"metadata": {"labels": self.labels[name]}} if name in self.labels else None

    def label_node(self, name: str, labels: dict) -> None:
        self.changes.append((name, labels))


@pytest.fixture
def own(users_file, tmp_path, monkeypatch):
    monkeypatch.setenv("GPU_SIM_RUN_DIR", str(tmp_path / "runs"))

    def start(nodes: list[str], labels: dict[str, dict]):
        kube = FakeKube(labels)
        monkeypatch.setattr(current.CurrentCluster, "kube", kube)
        run = Run("t")
        run.lock()
        return kube, lambda: current.start(run, nodes, {"helm": Path("/none")})

    return start


def test_only_named_nodes_are_labelled_and_only_what_we_set_is_taken_back(own):
    kube, start = own(["a", "b"], {"a": {}, "b": {"gpu-sim": "true"}, "c": {"gpu-sim": "false"}})
    cluster = start()
    assert cluster.nodes == ["a", "b"]
    assert kube.changes == [("a", {"gpu-sim": "true"})]
    assert (runs.base() / "t/kubeconfig").stat().st_mode & 0o777 == 0o600
    with pytest.raises(RunError, match="must be one of a, b, got 'c'"):
        cluster.node("c")
    with pytest.raises(Unsupported, match="node a: restart_kubelet needs access below Kubernetes"):
        cluster.node("a").restart_kubelet()
    with pytest.raises(Unsupported, match="make push REGISTRY="):
        cluster.load_image(Path("x.tar"))
    cluster.stop()
    assert kube.changes == [("a", {"gpu-sim": "true"}), ("a", {"gpu-sim": None})]
    assert runs.names() == []


def test_nodes_must_be_named_and_exist(own):
    run = Run("t")
    with pytest.raises(RunError, match="nodes: must be named for provider current, got none; NODE_NAMES=a,b"):
        current.start(run, [], {})
    assert runs.names() == []
    kube, start = own(["a", "x"], {"a": {}})
    with pytest.raises(RunError, match="nodes: must be among a, got x"):
        start()
    assert kube.changes == []
    assert runs.names() == []


def test_a_labelled_node_that_was_not_named_stops_it(own):
    kube, start = own(["a"], {"a": {}, "z": {"gpu-sim": "true"}})
    with pytest.raises(RunError, match="got it on z; name them too, or: kubectl label node z gpu-sim-"):
        start()
    assert kube.changes == []


# ---- the choice ----
@pytest.mark.parametrize(
    ("docker", "kind_there", "root", "chosen"),
    [
        (False, False, True, ("embedded", "this is root on Linux, and Docker does not run here")),
        (False, True, True, ("embedded", "this is root on Linux, and Docker does not run here")),
        (True, True, True, ("kind", "Docker runs here and kind is installed")),
        (True, True, False, ("kind", "Docker runs here and kind is installed")),
        (True, False, True, ("embedded", "Docker runs here, but kind is not installed; this is root on Linux")),
    ],
)
def test_the_provider_is_what_works_here(docker, kind_there, root, chosen, fake, monkeypatch):
    if not docker:
        fake.fails("info")
    if not kind_there:
        (fake.bin / "kind").unlink()
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    assert providers.choose(None) == chosen
    assert fake.calls() == ["docker info"]


def test_where_nothing_works_it_says_what_would(fake, monkeypatch):
    fake.fails("info")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(
        RunError, match="none works here, got Linux as uid 1000 without Docker; be root on Linux, or install"
    ):
        providers.choose(None)


def test_a_provider_that_was_asked_for_is_not_second_guessed(fake):
    assert providers.choose("current") == ("current", "you asked for it")
    with pytest.raises(RunError, match="PROVIDER: must be one of embedded, kind, current, got 'minikube'"):
        providers.choose("minikube")
    assert fake.calls() == []
