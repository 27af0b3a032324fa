# SPDX-License-Identifier: Apache-2.0
"""Helm: always this cluster's kubeconfig, helm's own words in errors, and releases that were left half-way."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.harness.helm import Helm, HelmError

pytestmark = pytest.mark.unit

# A helm whose answers are files: the first word of the command, or the whole command, names the file.
FAKE = """#!/bin/sh
echo "$*" >>"$FAKE/calls"
echo "$KUBECACHEDIR" >"$FAKE/cache"
for name in "$(echo "$1 $2" | tr ' /' '__')" "$1"; do
  if [ -e "$FAKE/$name" ]; then cat "$FAKE/$name"; exit 0; fi
  if [ -e "$FAKE/$name.fails" ]; then cat "$FAKE/$name.fails" >&2; exit 1; fi
done
"""


class FakeHelm:
    def __init__(self, folder: Path):
        self.folder = folder
        (folder / "helm").write_text(FAKE)
        (folder / "helm").chmod(0o755)

    def calls(self) -> list[str]:
        """Without the reading ones, and without the kubeconfig that each must have."""
        found = []
        for line in (self.folder / "calls").read_text().splitlines():
            command, kubeconfig = line.split(" --kubeconfig ")
            assert kubeconfig == str(self.folder / "kubeconfig")
            found.append(command)
        return [line for line in found if line.split()[0] not in ("status", "history")]

    def is_in(self, state: str, *history: str) -> None:
        (self.folder / "status").write_text(json.dumps({"info": {"status": state}}))
        entries = [{"revision": number, "status": status} for number, status in enumerate(history, 1)]
        (self.folder / "history").write_text(json.dumps(entries))


@pytest.fixture
def fake(tmp_path, monkeypatch) -> FakeHelm:
    monkeypatch.setenv("FAKE", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", "/somebody/elses")
    return FakeHelm(tmp_path)


@pytest.fixture
def helm(fake) -> Helm:
    return Helm(fake.folder / "helm", fake.folder / "kubeconfig")


def test_the_documented_command_is_what_is_run(helm, fake):
    helm.install("gpu-sim", values=["values/branch.yaml"])
    helm.upgrade("r", "my chart", values=["a b.yaml"], set={"x.y": [1, "z"]}, namespace="ns")
    assert fake.calls() == [
        "install gpu-sim charts/gpu-sim -f values/branch.yaml",
        'upgrade r my chart -f a b.yaml --set-json x.y=[1, "z"] -n ns',
    ]


def test_an_error_has_helms_words_and_the_command_to_paste(helm, fake):
    (fake.folder / "install.fails").write_text(
        "Error: values don't meet the schema\n- gpuSim.deviceCount: must be >= 1\n"
    )
    with pytest.raises(HelmError) as caught:
        helm.install("gpu-sim", "charts/my chart", values=["v.yaml"])
    assert "  $ helm install gpu-sim 'charts/my chart' -f v.yaml\n" in str(caught.value)
    assert "  | - gpuSim.deviceCount: must be >= 1" in str(caught.value)
    assert caught.value.code == 1


@pytest.mark.parametrize(
    ("state", "history", "left", "commands"),
    [
        ("pending-install", ["pending-install"], None, ["uninstall r --wait -n ns"]),
        ("uninstalling", ["uninstalling"], None, ["uninstall r --wait -n ns"]),
        ("pending-upgrade", ["superseded", "deployed", "pending-upgrade"], "deployed", ["rollback r 2 -n ns"]),
        ("pending-rollback", ["deployed", "pending-rollback"], "deployed", ["rollback r 1 -n ns"]),
        ("pending-upgrade", ["failed", "pending-upgrade"], None, ["uninstall r --wait -n ns"]),
        ("failed", ["failed"], None, ["uninstall r --wait -n ns"]),
        ("failed", ["deployed", "failed"], "failed", []),
        ("deployed", ["deployed"], "deployed", []),
    ],
)
def test_a_release_left_half_way_is_put_right(state, history, left, commands, helm, fake):
    fake.is_in(state, *history)
    assert helm.heal("r", "ns") == left
    assert fake.calls() == commands


def test_apply_installs_what_is_not_there_and_upgrades_what_is(helm, fake):
    (fake.folder / "status.fails").write_text("Error: release: not found\n")
    helm.apply("r", values=["v"])
    (fake.folder / "status.fails").unlink()
    fake.is_in("deployed", "deployed")
    helm.apply("r", values=["v"])
    assert fake.calls() == ["install r charts/gpu-sim -f v", "upgrade r charts/gpu-sim -f v"]


def test_an_error_that_is_no_absence_is_not_taken_for_one(helm, fake):
    (fake.folder / "status.fails").write_text("Error: Kubernetes cluster unreachable\n")
    with pytest.raises(HelmError, match="cluster unreachable"):
        helm.apply("r")
    assert fake.calls() == []


def test_nothing_of_the_users_environment_reaches_helm(helm, fake):
    helm.run("version")
    assert os.environ["KUBECONFIG"] == "/somebody/elses"
    assert fake.calls() == ["version"]


def test_what_helm_remembers_stays_with_the_kubeconfig(helm, fake):
    helm.run("version")
    assert (fake.folder / "cache").read_text() == f"{fake.folder / 'helm-cache'}\n"
