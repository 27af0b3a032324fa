# SPDX-License-Identifier: Apache-2.0
"""What users type: wrong input is answered in one line with what to do, and costs nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.harness import arguments, cli, release, runs, up
from tests.harness.release import DOCUMENTED, wanted
from tests.harness.runs import RunError
from tests.harness.up import Options
from tests.harness.versions import CHECKOUT

pytestmark = pytest.mark.unit
VARIABLES = ("NODES", "BRANCH", "VALUES", "FEATURE_GATES", "SCHEDULER_CONFIG", "DEDICATED", "PROVIDER", "NAME", "IMAGE")


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    monkeypatch.setenv("GPU_SIM_RUN_DIR", str(tmp_path / "runs"))
    for name in (*VARIABLES, "RUNTIME", "NODE_NAMES"):
        monkeypatch.delenv(name, raising=False)


def parsed(*words: str) -> Options:
    return arguments.options(arguments.parser().parse_args(words))


def test_variables_are_options_and_empty_ones_are_not_given(monkeypatch):
    for name, value in {"NODES": "7", "BRANCH": "feat/x", "FEATURE_GATES": "A=true, B=false", "VALUES": ""}.items():
        monkeypatch.setenv(name, value)
    made = parsed("up")
    assert (made.nodes, made.branch, made.values) == (7, "feat/x", None)
    assert made.feature_gates == {"A": True, "B": False}
    assert parsed("up", "--nodes", "3").nodes == 3, "what is typed goes before the environment"
    assert made.name == runs.default_name(CHECKOUT)


@pytest.mark.parametrize(("value", "on"), [("1", True), ("yes", True), ("0", False), ("", False), ("No", False)])
def test_a_switch_in_the_environment(value, on, monkeypatch):
    monkeypatch.setenv("DEDICATED", value)
    assert parsed("up").dedicated is on


def test_node_names_by_variable_and_by_option(monkeypatch):
    monkeypatch.setenv("NODE_NAMES", "a,b")
    assert parsed("up").node_names == ["a", "b"]
    monkeypatch.delenv("NODE_NAMES")
    assert parsed("up", "--node", "c", "--node", "d,e").node_names == ["c", "d", "e"]


@pytest.mark.parametrize("nodes", ["0", "101", "two", "-1", "1.5", "²"])
def test_a_number_of_nodes_that_is_none_is_refused(nodes):
    with pytest.raises(RunError, match=r"^NODES: must be a number from 1 to 100, got "):
        parsed("up", f"--nodes={nodes}")


@pytest.mark.parametrize("text", ["A", "A=1", "=true", "A=true,B=yes"])
def test_feature_gates_that_are_none_are_refused(text):
    with pytest.raises(RunError, match=r"FEATURE_GATES: must be NAME=true or NAME=false, got"):
        arguments.gates(text)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["up", "--nodes", "two"], "NODES: must be a number from 1 to 100, got 'two'"),
        (["up", "--name", "Not_A_Name"], "name: must be 1 to 30 of a-z"),
        (["status"], "is not up; start it with: make up"),
        (["kubeconfig"], "is not up; start it with: make up"),
        (["env"], "is not up; start it with: make up"),
        (["load", "--image", "/absent.tar"], "IMAGE: no such file, got /absent.tar"),
        (["cluster", "--provider", "minikube"], "PROVIDER: must be one of embedded, kind, current, got 'minikube'"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(words, message, capsys):
    assert cli.main(words) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert "Traceback" not in said.err
    assert not runs.base().exists()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("folder", ["/proc/none/runs", "/dev/null/runs"])
@pytest.mark.parametrize("command", ["up", "down"])
def test_a_place_where_no_run_can_be_is_named(command, folder, monkeypatch, capsys):
    monkeypatch.setenv("GPU_SIM_RUN_DIR", folder)
    assert cli.main([command]) == 1
    said = capsys.readouterr()
    assert f"{folder}: runs cannot be kept here, got" in said.err and "GPU_SIM_RUN_DIR" in said.err


def test_down_where_nothing_is_is_fine(capsys):
    assert cli.main(["down", "--name", "nothing-here"]) == 0
    assert capsys.readouterr().out == "gpu-sim: run nothing-here is not there; nothing to stop\n"
    assert not runs.base().exists()


def test_usage_errors_have_their_own_code():
    done = subprocess.run(
        [sys.executable, "-m", "tests.harness", "sideways"], cwd=CHECKOUT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "invalid choice: 'sideways'" in done.stderr


def test_without_branch_or_values_it_is_the_documented_command():
    assert "install gpu-sim charts/gpu-sim -f values/branch.yaml".split() == DOCUMENTED
    assert wanted(None, None, False).argv == DOCUMENTED
    assert wanted(None, CHECKOUT / "values/t4-x2.yaml", False).argv[-1] == str(CHECKOUT / "values/t4-x2.yaml")


@pytest.mark.parametrize(
    ("branch", "values", "dedicated", "message"),
    [
        ("a", Path("b"), False, "BRANCH, VALUES: only one of them, got 'a' and b"),
        (None, Path("/absent.yaml"), False, "VALUES: no such file, got '/absent.yaml'"),
        (None, None, True, "DEDICATED: needs a branch, got none"),
        ("a..b", None, False, "a..b"),
        ("-x", None, False, 'got "-x"; give the branch'),
    ],
)
def test_wrong_wishes_are_refused(branch, values, dedicated, message):
    with pytest.raises(RunError) as caught:
        wanted(branch, values, dedicated)
    assert message in str(caught.value)


@pytest.fixture
def values_folder(tmp_path, monkeypatch):
    """The generator writes into a folder of the test's own, which is no repository."""
    original = release._generate

    def elsewhere(*words: str):
        more = [] if "--stdout" in words else ["--output", str(tmp_path / "values/feat-q.yaml")]
        return original(*words, *more)

    (tmp_path / "values").mkdir()
    monkeypatch.setattr(release, "_generate", elsewhere)
    monkeypatch.setattr(release, "CHECKOUT", tmp_path)
    real = release.command.run

    def run(argv, cwd, **more):
        return SimpleNamespace(code=128, out="no repository") if argv[0] == "git" else real(argv, cwd=CHECKOUT, **more)

    monkeypatch.setattr(release.command, "run", run)
    return tmp_path / "values"


def test_a_branch_gets_its_file_and_the_generators_command(values_folder):
    made = wanted("feat-q", None, False)
    assert made.argv[:3] == ["install", "gpu-sim-feat-q", "charts/gpu-sim"]
    assert made.argv[3:] == ["-f", str(values_folder / "feat-q.yaml")]
    assert (made.slug, made.dedicated) == ("feat-q", False)
    assert 'name: "feat-q"' in (values_folder / "feat-q.yaml").read_text()


def test_a_file_of_the_branch_that_is_there_is_used_as_it_is(values_folder):
    file = values_folder / "feat-q.yaml"
    edited = 'branch: {name: "feat-q", slug: "feat-q", dedicated: true}\ngpuSim: {deviceCount: 7}\n'
    file.write_text(edited)
    made = wanted("feat-q", None, False)
    assert made.argv == ["install", "gpu-sim-feat-q", "charts/gpu-sim", "-f", "values/feat-q.yaml"]
    assert made.dedicated
    assert file.read_text() == edited
    assert made.made == ""


def other(folder: Path, name: str) -> Path:
    file = folder / f"{name.replace('/', '-')}.yaml"
    file.write_text(f"branch: {{name: {json.dumps(name)}, slug: x}}\n")
    return file


def test_a_new_file_is_told_with_branches_of_nearly_that_name(values_folder):
    files = [other(values_folder, name) for name in ("feat-p", "Feature/Q", "main", "feat-quality")]
    file = values_folder / "feat-q.yaml"
    assert wanted("feat-q", None, False).made == (
        f"gpu-sim: {file} is new, made for branch feat-q; is another meant? near are feat-p: make up BRANCH=feat-p, "
        f"and delete {file}"
    )
    assert wanted("feat-q", None, False).made == "", "it is there now"
    file.unlink()
    files[0].unlink()
    assert wanted("feat-q", None, False).made == f"gpu-sim: {file} is new, made for branch feat-q"


def test_branches_of_git_are_near_and_one_that_git_has_is_no_mistake(values_folder, monkeypatch):
    real = release.command.run
    branches = ["feature-one", "feat one", "zebra"]

    def run(argv, **more):
        if argv[0] == "git":
            assert more["cwd"] == values_folder.parent
            return SimpleNamespace(code=0, out="".join(f"{name}\n" for name in branches))
        return real(argv, **more)

    monkeypatch.setattr(release.command, "run", run)
    assert release._near("feature-won") == ["feature-one"]
    branches.append("feature-won")
    assert release._near("feature-won") == []
    assert release._near("feat-one") == ["feat one", "feature-one", "feature-won"]


def test_what_was_made_is_said_before_anything_is_started(monkeypatch):
    said = []
    monkeypatch.setattr(up, "wanted", lambda *_: release.Release(["install", "r"], made="it is new"))
    work = up.Up(up.Options("x", branch="b"), SimpleNamespace(say=said.append))
    assert work.asked.name == work.asked.name == "r"
    assert said == ["it is new"], "told once"
