# SPDX-License-Identifier: Apache-2.0
"""gpu-sim ctl by node name: which pod is asked, what is passed on, and which cluster is meant."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from tests.harness import anycluster, arguments, cli, control, runs
from tests.harness.cluster import Unsupported
from tests.harness.command import CommandError
from tests.harness.runs import Run, RunError
from tests.harness.versions import CHECKOUT

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    monkeypatch.setenv("GPU_SIM_RUN_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("NAME", "NODE", "ARGS", "PROVIDER", "KUBECONFIG", "SECONDS", "SEED", "WATCH", "JUNIT"):
        monkeypatch.delenv(name, raising=False)


def pod(name: str, node: str | None, agent: str = "running", **meta) -> dict:
    status = {"phase": "Running", "containerStatuses": [{"name": "device-plugin", "state": {"running": {}}}]}
    status["initContainerStatuses"] = [{"name": "agent", "state": {agent: {}}}]
    full = {"namespace": "gpu-sim", "name": name, "annotations": {control.CHECKSUM: "1"}, **meta}
    return {"metadata": full, "spec": {"nodeName": node} if node else {}, "status": status}


class FakeKube:
    def __init__(self, *pods):
        self.pods = list(pods)

    def list(self, version, kind, labelSelector):
        assert (version, kind, labelSelector) == ("v1", "Pod", "app.kubernetes.io/component=node")
        return self.pods


PODS = FakeKube(
    pod("p1", "n1"),
    pod("p2", "n2"),
    pod("old", "n2", deletionTimestamp="now"),
    pod("waiting", None),
    pod("p3", "n3", agent="waiting"),
    pod("other", "n4", annotations={}),
)


@pytest.fixture
def cluster(tmp_path):
    """With a kubectl that shows how it was called, and does as the file `answer` beside it says."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f'#!/bin/sh\necho "$*"\n. {tmp_path}/answer\n')
    kubectl.chmod(0o755)
    (tmp_path / "answer").write_text("")
    return SimpleNamespace(kube=PODS, kubeconfig=tmp_path / "config", programs={"kubectl": kubectl}, folder=tmp_path)


def test_the_agent_of_the_nodes_pod_is_asked(cluster):
    where = f"--kubeconfig {cluster.kubeconfig} -n gpu-sim exec p2 -c agent -- /gpu-sim ctl xid --gpu 3 79\n"
    assert control.ctl(cluster, "n2", ["xid", "--gpu", "3", "79"]) == where


def test_standard_input_is_passed_on(cluster):
    (cluster.folder / "answer").write_text("cat\n")
    said = control.ctl(cluster, "n1", ["timeline"], stdin="+1s lost --gpu 2\n")
    assert said.splitlines()[0].endswith("exec -i p1 -c agent -- /gpu-sim ctl timeline")
    assert said.endswith("\n+1s lost --gpu 2\n")


@pytest.mark.parametrize("code", [1, 2, 3])
def test_a_refusal_has_ctls_words_and_code_and_none_of_kubectls(code, cluster):
    text = f"echo 'ctl:--gpu: no such GPU' >&2; echo 'command terminated with exit code {code}' >&2; exit {code}\n"
    (cluster.folder / "answer").write_text(text)
    with pytest.raises(control.ControlError) as caught:
        control.ctl(cluster, "n1", ["lost", "--gpu", "9"])
    assert (caught.value.message, caught.value.code) == ("ctl:--gpu: no such GPU", code)


def test_a_command_that_does_not_end_is_ended(cluster):
    (cluster.folder / "answer").write_text("exec sleep 60\n")
    with pytest.raises(CommandError, match=r"did not end within 0\.2 s"):
        control.ctl(cluster, "n1", ["status"], timeout=0.2)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("n9", "node n9: must have a gpu-sim pod, got none; the nodes n1, n2, n3 have one"),
        ("n4", "node n4: must have a gpu-sim pod, got none; the nodes n1, n2, n3 have one"),
        (
            "n3",
            "node n3: its agent must be running, got pod gpu-sim/p3 in phase Running; "
            "see: kubectl -n gpu-sim describe pod p3",
        ),
    ],
)
def test_a_node_that_cannot_be_asked(node, message, cluster):
    with pytest.raises(control.ControlError) as caught:
        control.ctl(cluster, node, ["status"])
    assert str(caught.value) == message


def test_a_cluster_without_the_chart():
    with pytest.raises(control.ControlError, match="got none; no node has one; is the chart installed"):
        control.node_pod(FakeKube(), "n1")


def test_a_node_need_not_be_named_where_there_is_one():
    assert control.only_node(FakeKube(pod("p", "alone"))) == "alone"
    with pytest.raises(control.ControlError, match="NODE: must be named, got none; one of n1, n2, n3"):
        control.only_node(PODS)


@pytest.mark.parametrize(
    ("words", "terminal", "passed"),
    [(["status"], True, False), (["status"], False, True), (["declare"], True, True), (["timeline"], True, True)],
)
def test_a_person_gets_words_output_and_code_as_they_are(words, terminal, passed, cluster, monkeypatch, capfd):
    (cluster.folder / "answer").write_text("echo refused >&2; echo 'command terminated with exit code 3' >&2; exit 3")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: terminal, fileno=lambda: 0))
    assert control.passed_through(cluster, "n1", words) == 3
    said = capfd.readouterr()
    assert (" exec -i p1 " in said.out) is passed
    assert said.err == "refused\n"


# ---- words and the cluster that is meant ----
def test_words_come_after_dashes_or_from_args_where_no_shell_reads_them(monkeypatch):
    parse = arguments.parser().parse_args
    monkeypatch.setenv("ARGS", "set --gpu 3 'power=$(id) W'")
    assert arguments.ctl_words(parse(["ctl"])) == ["set", "--gpu", "3", "power=$(id) W"]
    assert arguments.ctl_words(parse(["ctl", "--node", "n1", "--", "xid", "--gpu", "3", "79"])) == [
        "xid", "--gpu", "3", "79",
    ]  # fmt: skip
    monkeypatch.setenv("ARGS", "'open")
    with pytest.raises(RunError, match=r"ARGS: must be words, got \"'open\"; No closing quotation"):
        arguments.ctl_words(parse(["ctl"]))


@pytest.mark.parametrize("seconds", ["0", "x", "1e9"])
def test_a_time_that_is_none_is_a_usage_error(seconds, capsys):
    with pytest.raises(SystemExit) as ended:
        arguments.parser().parse_args(["audit", f"--seconds={seconds}"])
    assert ended.value.code == 2
    assert f"invalid seconds value: '{seconds}'" in capsys.readouterr().err


def test_a_kubeconfig_that_is_named_goes_before_all(tmp_path):
    file = tmp_path / "mine"
    file.write_text("{}")
    cluster = anycluster.meant(None, None, str(file), None)
    assert (cluster.kubeconfig, cluster.provider) == (file, "kubeconfig")
    with pytest.raises(RunError, match=r"kubeconfig: no such file, got '/absent'"):
        anycluster.meant(None, None, "/absent", None)
    with pytest.raises(Unsupported, match="node n1: what is below Kubernetes needs a run of the embedded provider"):
        cluster.node("n1")


def test_the_run_that_is_up_is_meant(monkeypatch):
    run = Run(runs.default_name(CHECKOUT))
    run.lock()
    run.save(provider="kind", status=runs.RUNNING)
    monkeypatch.setattr(anycluster.providers, "attach", lambda found, progress: f"attached {found.name}")
    assert anycluster.meant(None, None, None, None) == f"attached {run.name}"
    assert anycluster.meant(run.name, "kind", None, None) == f"attached {run.name}"
    with pytest.raises(RunError, match=f"run {run.name}: is not up with provider embedded"):
        anycluster.meant(None, "embedded", None, None)


def test_without_a_run_it_is_the_users_kubeconfig_and_that_is_said(tmp_path, monkeypatch):
    progress = SimpleNamespace(told=[], say=lambda text: progress.told.append(text))
    with pytest.raises(
        RunError, match="is not up, and there is no kubeconfig; start it with: make up, or set KUBECONF"
    ):
        anycluster.meant(None, None, None, progress)
    (tmp_path / "config").write_text("{}")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    assert anycluster.meant(None, "current", None, progress).kubeconfig == tmp_path / "config"
    assert progress.told == [f"gpu-sim: run {runs.default_name(CHECKOUT)} is not up; using {tmp_path / 'config'}"]
    with pytest.raises(RunError, match=r"run other: is not up; start it with: make up NAME=other$"):
        anycluster.meant("other", None, None, progress)


def test_ctls_code_is_the_commands_code(monkeypatch, cluster, capfd):
    (cluster.folder / "answer").write_text("exit 3")
    monkeypatch.setattr(anycluster, "meant", lambda *words: cluster)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert cli.main(["ctl", "--node", "n1", "--", "status"]) == 3
    assert cli.main(["ctl", "--node", "n9", "--", "status"]) == 1
    assert "gpu-sim: node n9: must have a gpu-sim pod, got none" in capfd.readouterr().err
