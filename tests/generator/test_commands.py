# SPDX-License-Identifier: Apache-2.0
"""The printed commands: as documented, one shell word for each argument, and the ones that belong to the values."""

from __future__ import annotations

import csv
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.generator import hostile
from tests.generator.conftest import REPOSITORY

pytestmark = pytest.mark.unit


@pytest.fixture
def checkout(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone's root as the current directory, without writing into this one."""
    root = folder / "clone"
    root.mkdir()
    for name in ("charts", "native"):
        (root / name).symlink_to(REPOSITORY / name)
    shutil.copytree(REPOSITORY / "values", root / "values")
    monkeypatch.chdir(root)
    return root


def test_in_a_clone_the_commands_read_as_documented(generate, checkout: Path) -> None:
    ran = generate("--branch", "feat-x", "--gpus", "8")
    assert ran.err == ""
    assert ran.out == (
        "wrote     values/feat-x.yaml\n"
        "branch    feat-x  (from --branch)\n"
        "release   gpu-sim-feat-x\n"
        "\n"
        "# 1. Say which nodes get GPUs, once for each:\n"
        "kubectl label node <node> gpu-sim=true\n"
        "# 2. Give them the GPUs, and look:\n"
        "helm install gpu-sim-feat-x charts/gpu-sim -f values/feat-x.yaml\n"
        "kubectl -n gpu-sim rollout status daemonset/gpu-sim-feat-x\n"
        "kubectl get nodes -l gpu-sim=true -o custom-columns="
        "'NODE:.metadata.name,GPUS:.status.allocatable.nvidia\\.com/gpu'\n"
        "helm test gpu-sim-feat-x\n"
        "# 3. Later: after the file has changed, and when the branch is gone:\n"
        "helm upgrade gpu-sim-feat-x charts/gpu-sim -f values/feat-x.yaml\n"
        "helm uninstall gpu-sim-feat-x\n"
    )


def test_outside_a_clone_the_chart_path_exists(generate) -> None:
    ran = generate("--branch", "feat-x", "--gpus", "3")
    chart = shlex.split(ran.command("helm install"))[3]
    assert Path(chart).is_absolute()
    assert yaml.safe_load((Path(chart) / "Chart.yaml").read_text())["name"] == "gpu-sim"


def test_a_foreign_chart_of_the_same_path_is_not_taken(generate, folder: Path) -> None:
    for path, text in {"charts/gpu-sim/Chart.yaml": "name: other\n", "native/profiles/x.yaml": "name: x\n"}.items():
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(text)
    ran = generate("--branch", "feat-x", "--gpus", "3")
    assert (
        ran.command("helm install") == f"helm install gpu-sim-feat-x {REPOSITORY}/charts/gpu-sim -f values/feat-x.yaml"
    )


def test_dedicated_nodes(generate, checkout: Path) -> None:
    ran = generate("--branch", "feature/foo", "--gpus", "3", "--dedicated")
    slug = "feature-foo-f932032607"
    assert ran.command("kubectl label") == f"kubectl label node <node> gpu-sim=true gpu-sim.io/branch={slug}"
    assert ran.command("kubectl taint") == f"kubectl taint node <node> gpu-sim.io/branch={slug}:NoSchedule"
    snippet = yaml.safe_load(ran.out[ran.out.index("\nnodeSelector:") :])
    assert snippet == {
        "nodeSelector": {"gpu-sim.io/branch": slug},
        "tolerations": [{"key": "gpu-sim.io/branch", "operator": "Equal", "value": slug, "effect": "NoSchedule"}],
        "resources": {"limits": {"nvidia.com/gpu": 1}},
    }


def test_a_number_like_slug_stays_text_in_the_snippet(generate, checkout: Path) -> None:
    ran = generate("--branch", "1e3", "--gpus", "3", "--dedicated")
    snippet = yaml.safe_load(ran.out[ran.out.index("\nnodeSelector:") :])
    assert snippet["nodeSelector"] == {"gpu-sim.io/branch": "1e3"}
    assert 'value: "1e3"' in ran.out


def test_without_dedicated_there_is_no_taint(generate, checkout: Path) -> None:
    ran = generate("--branch", "feature/foo", "--gpus", "3")
    assert "taint" not in ran.out
    assert "tolerations" not in ran.out


def test_selector_and_namespace_reach_the_commands(generate, checkout: Path) -> None:
    ran = generate(
        "--branch", "feat-x", "--node-selector", "pool=a", "--node-selector", "zone=b", "--namespace", "sim-x"
    )
    assert ran.command("kubectl label") == "kubectl label node <node> gpu-sim=true pool=a zone=b"
    assert ran.command("kubectl get nodes").startswith("kubectl get nodes -l gpu-sim=true,pool=a,zone=b -o ")
    assert ran.command("kubectl -n") == "kubectl -n sim-x rollout status daemonset/gpu-sim-feat-x"


@pytest.mark.parametrize(
    "output", ["a b.yaml", "$(touch gone).yaml", "'`x`\";.yaml", "日本.yaml", 'a,b"c.yaml', "a\x1b[2J.yaml"]
)
def test_a_file_name_is_one_word(generate, checkout: Path, output: str) -> None:
    ran = generate("--branch", "feat-x", "--gpus", "3", "--output", output)
    assert ran.code == 0, ran.err
    said = subprocess.run(
        ["bash", "-c", "helm() { printf '%s\\0' \"$@\"; }; " + ran.command("helm install")],
        capture_output=True,
        check=True,
    )
    *words, file = said.stdout.decode().split("\0")[:-1]
    assert words == ["install", "gpu-sim-feat-x", "charts/gpu-sim", "-f"]
    assert next(csv.reader([file])) == [output]
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("name", hostile.EVERY)
def test_no_branch_name_gets_into_a_command(generate, checkout: Path, name: str) -> None:
    """A shell that runs all printed commands sees only words of these characters, and runs nothing else."""
    ran = generate(f"--branch={name}", "--gpus", "3", "--dedicated", "--quota", "2")
    assert ran.code == 0, ran.err
    commands = [line.replace("<node>", "n1") for line in ran.out.splitlines() if line.startswith(("helm ", "kubectl "))]
    assert len(commands) == 8
    (checkout / "empty").mkdir()
    stubs = "helm() { printf '%s\\n' \"$@\"; }; kubectl() { printf '%s\\n' \"$@\"; }; cd empty; "
    said = subprocess.run(["bash", "-c", stubs + "; ".join(commands)], capture_output=True, text=True, check=True)
    assert said.stderr == ""
    words = set(said.stdout.split("\n"))
    release = shlex.split(ran.command("helm uninstall"))[2]
    assert {release, f"values/{release.removeprefix('gpu-sim-')}.yaml", "charts/gpu-sim"} <= words
    odd = {
        word
        for word in words
        if not set(word) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-./=:,\\")
    }
    assert odd == set()
    assert list((checkout / "empty").iterdir()) == []
