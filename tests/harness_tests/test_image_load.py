# SPDX-License-Identifier: Apache-2.0
"""Loading archives: which cluster is meant, and the command that its own tool is given."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.harness import image_load, oci, upstream

pytestmark = pytest.mark.unit
RECORDER = '#!/bin/sh\nfor word; do echo "$word"; done >>"{log}"\necho done\n'


class Machine:
    """A PATH with only the programs that a test puts there, a home, and what the programs were told."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self.bin, self.home, self.log = folder / "bin", folder / "home", folder / "log"
        self.bin.mkdir()
        self.home.mkdir()
        self.log.touch()
        self.archive = folder / "image.tar"
        oci.write(self.archive, "localhost/x:1", [oci.Image(a, {"f": oci.File(b"x")}) for a in ("amd64", "arm64")])
        monkeypatch.setenv("PATH", f"{self.bin}:/usr/bin:/bin")
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.delenv("KUBECONFIG", raising=False)
        monkeypatch.setattr(image_load, "CONTAINERD", folder / "containerd.sock")
        monkeypatch.setattr(image_load, "K3S", folder / "k3s.sock")
        # Whatever this machine has installed must not decide.
        monkeypatch.setattr(image_load.shutil, "which", lambda name: next(iter(self.bin.glob(name)), None))

    def program(self, name: str) -> None:
        (self.bin / name).write_text(RECORDER.format(log=self.log))
        (self.bin / name).chmod(0o755)

    def context(self, name: str) -> None:
        (self.home / ".kube").mkdir(exist_ok=True)
        (self.home / ".kube/config").write_text(json.dumps({"current-context": name}))

    def told(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_kind_by_its_context(machine: Machine, capsys: pytest.CaptureFixture) -> None:
    machine.program("kind")
    machine.context("kind-branch-7")
    image_load.load([machine.archive])
    assert machine.told() == ["load", "image-archive", str(machine.archive), "--name", "branch-7"]
    assert capsys.readouterr().out == f"{machine.archive} → kind branch-7\n"


def test_minikube_by_its_profile(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.program("minikube")
    machine.context("gpu-test")
    (machine.home / ".minikube/profiles/gpu-test").mkdir(parents=True)
    monkeypatch.setattr(upstream, "arch", lambda: "amd64")
    image_load.load([machine.archive])
    assert machine.told() == ["image", "load", str(machine.archive), "--profile", "gpu-test"]


def test_minikube_on_arm_gets_an_archive_that_docker_reads_right(machine: Machine, monkeypatch) -> None:
    (machine.bin / "minikube").write_text(f'#!/bin/sh\ncp "$3" "{machine.home}/copy.tar"\n')
    (machine.bin / "minikube").chmod(0o755)
    monkeypatch.setattr(upstream, "arch", lambda: "arm64")
    image_load.load([machine.archive], "minikube")
    with tarfile.open(machine.home / "copy.tar") as tar:
        docker = json.load(tar.extractfile("manifest.json"))[0]
        assert json.load(tar.extractfile(docker["Config"]))["architecture"] == "arm64"


@pytest.mark.parametrize(("program", "socket", "runtime"), [("k3s", "K3S", "k3s"), ("ctr", "CONTAINERD", "containerd")])
def test_what_runs_here(machine: Machine, program: str, socket: str, runtime: str) -> None:
    machine.program(program)
    getattr(image_load, socket).touch()
    assert image_load.detect() == (runtime, "")
    image_load.load([machine.archive])
    told = machine.told()
    assert told[-4:] == ["k8s.io", "images", "import", str(machine.archive)]


def test_a_runtime_and_name_given_decide(machine: Machine) -> None:
    machine.program("kind")
    machine.context("kind-other")
    image_load.load([machine.archive, machine.archive], "kind", "mine")
    assert machine.told() == ["load", "image-archive", str(machine.archive), "--name", "mine"] * 2


def test_nothing_or_two_things_run_here(machine: Machine) -> None:
    with pytest.raises(image_load.LoadError, match=r"neither k3s nor containerd runs here.*RUNTIME=kind\|minikube"):
        image_load.load([machine.archive])
    for program, socket in (("k3s", "K3S"), ("ctr", "CONTAINERD")):
        machine.program(program)
        getattr(image_load, socket).touch()
    with pytest.raises(image_load.LoadError, match="k3s and containerd run here"):
        image_load.load([machine.archive])


def test_a_missing_program_or_archive_is_named(machine: Machine, tmp_path: Path) -> None:
    with pytest.raises(image_load.LoadError, match="kind is not in PATH"):
        image_load.load([machine.archive], "kind")
    with pytest.raises(image_load.LoadError, match=r"no such archive, got .*absent\.tar"):
        image_load.load([tmp_path / "absent.tar"], "kind")
    assert machine.told() == []


def test_an_unknown_runtime_is_answered_with_the_known_ones(machine: Machine) -> None:
    with pytest.raises(image_load.LoadError, match="must be one of kind, minikube, k3s, containerd, got 'crio'"):
        image_load.load([machine.archive], "crio")
    assert machine.told() == []


def test_an_unreadable_kubeconfig_is_no_context(machine: Machine) -> None:
    machine.context("kind-x")
    for text in ("", "[1]", "\tx: {", "current-context:"):
        (machine.home / ".kube/config").write_text(text)
        with pytest.raises(image_load.LoadError, match="current context 'none'"):
            image_load.detect()
