# SPDX-License-Identifier: Apache-2.0
"""From options to values: what each writes, and the same bytes for the same input."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from generator import chart
from generator.profiles import all_profiles
from generator.slug import slug_of

pytestmark = pytest.mark.unit


def written(generate, *arguments: str) -> dict:
    ran = generate(*arguments, "--stdout")
    assert ran.code == 0, ran.err
    return yaml.safe_load(ran.out)


@pytest.mark.parametrize("gpus", [1, 3, 8, 64])
def test_the_plain_command(generate, folder: Path, gpus: int) -> None:
    ran = generate("--branch", "feat-x", "--gpus", str(gpus))
    assert (ran.code, ran.err) == (0, "" if gpus <= 12 else ran.err)
    assert yaml.safe_load(Path("values/feat-x.yaml").read_text()) == {
        "branch": {"name": "feat-x", "slug": "feat-x"},
        "gpuSim": {"deviceCount": gpus},
    }
    assert [path.name for path in folder.rglob("*")] == ["values", "feat-x.yaml"]


def test_without_a_count_the_charts_is_written(generate) -> None:
    assert written(generate, "--branch", "feat-x")["gpuSim"] == {
        "deviceCount": chart.defaults()["gpuSim"]["deviceCount"]
    }


@pytest.mark.parametrize(
    ("options", "section", "expected"),
    [
        (["--memory-mb", "24576"], "gpuSim", {"deviceCount": 5, "memoryMB": 24576}),
        (["--profile", "tesla-t4"], "gpuSim", {"deviceCount": 5, "profile": "tesla-t4"}),
        (["--profile", "h100-80gb-hbm3"], "gpuSim", {"deviceCount": 5, "profile": "h100-80gb-hbm3"}),
        (["--name", "TITAN X (Pascal)"], "gpuSim", {"deviceCount": 5, "deviceName": "TITAN X (Pascal)"}),
        (["--name", "A/B"], "gpuSim", {"deviceCount": 5, "deviceName": "A/B"}),
        (["--name", "1e3"], "gpuSim", {"deviceCount": 5, "deviceName": "1e3"}),
        (["--name", "x" * 95], "gpuSim", {"deviceCount": 5, "deviceName": "x" * 95}),
        (["--driver-version", "535.104.05"], "gpuSim", {"deviceCount": 5, "driverVersion": "535.104.05"}),
        (["--driver-version", "1.10"], "gpuSim", {"deviceCount": 5, "driverVersion": "1.10"}),
        (
            ["--fault", "xid --gpu 3 79", "--fault", "set --gpu 0 temperature=95C"],
            "gpuSim",
            {"deviceCount": 5, "faults": ["xid --gpu 3 79", "set --gpu 0 temperature=95C"]},
        ),
        (["--node-selector", "pool=a"], "nodeSelector", {"pool": "a"}),
        (["--node-selector", "y=08", "--node-selector", "x.io/z="], "nodeSelector", {"y": "08", "x.io/z": ""}),
        (["--namespace", "sim-x"], "namespace", {"name": "sim-x"}),
        (["--dedicated"], "branch", {"name": "feat-x", "slug": "feat-x", "dedicated": True}),
        (["--quota", "3"], "workload", {"namespace": "gpu-sim-feat-x", "quota": {"requests.nvidia.com/gpu": 3}}),
        (["--quota", "0"], "workload", {"namespace": "gpu-sim-feat-x", "quota": {"requests.nvidia.com/gpu": 0}}),
        (
            ["--quota", "requests.nvidia.com/gpu=7"],
            "workload",
            {"namespace": "gpu-sim-feat-x", "quota": {"requests.nvidia.com/gpu": 7}},
        ),
        (
            ["--quota", "2", "--workload-namespace", "team"],
            "workload",
            {"namespace": "team", "quota": {"requests.nvidia.com/gpu": 2}},
        ),
        (["--workload-namespace", "team"], "workload", {"namespace": "team"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_option_sets_its_value_and_no_other(generate, options: list[str], section: str, expected: dict) -> None:
    plain = written(generate, "--branch", "feat-x", "--gpus", "5")
    assert written(generate, "--branch", "feat-x", "--gpus", "5", *options) == plain | {section: expected}


def test_more_gpus_than_the_plugins_allocator_bears_are_warned_of(generate) -> None:
    twelve, thirteen = (generate("--branch", "feat-x", "--gpus", count) for count in ("12", "13"))
    assert (twelve.code, thirteen.code) == (0, 1), "the file was there with other content"
    thirteen = generate("--branch", "feat-x", "--gpus", "13", "--force")
    assert "warning" not in twelve.err
    assert thirteen.err.startswith("warning: gpuSim.deviceCount: with more than 12 GPUs on a node, got 13, ")


def test_profiles_are_those_of_the_library(generate) -> None:
    ran = generate("--list-profiles")
    rows = [line.split() for line in ran.out.splitlines()[1:]]
    files = {file.stem: yaml.safe_load(file.read_text()) for file in chart.profile_files()}
    assert [row[0] for row in rows] == sorted(files)
    assert len(rows) >= 3
    for line, profile in zip(ran.out.splitlines()[1:], all_profiles(), strict=True):
        data = files[profile.name]
        assert f"  {data['product_name']}  " in line
        assert str(data["memory"]["total_mib"]) in line.split()
    assert sorted(files) == sorted(chart.schema()["properties"]["gpuSim"]["properties"]["profile"]["enum"])


def test_the_same_input_gives_the_same_bytes(generate, generate_apart) -> None:
    options = [
        "--branch",
        "fix/日本,'\"$(x)",
        "--gpus",
        "7",
        "--dedicated",
        "--quota",
        "3",
        "--node-selector",
        "a=1",
        "--stdout",
    ]
    here = generate(*options).out
    for environment in (
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2", "LC_ALL": "C"},
        {"PYTHONUTF8": "0", "LC_ALL": "POSIX"},
    ):
        assert generate_apart(*options, environment=environment).out == here
    reordered = [*options[4:6], *options[:4], *options[8:], *options[6:8]]
    assert generate(*[word for word in options if word != "--dedicated"], "--dedicated").out == here, reordered


def test_the_file_says_how_to_make_it_again(generate, tmp_path: Path) -> None:
    """The command in the header, run by a shell, gives the same file."""
    import subprocess
    import sys

    options = [
        "--branch",
        "fix/'a,b$(id)",
        "--gpus",
        "7",
        "--name=-A",
        "--fault",
        "xid --gpu 3 79",
        "--dedicated",
        "--quota",
        "3",
        "--node-selector",
        "a=1",
    ]
    first = generate(*options)
    assert first.code == 0, first.err
    file = Path("values") / f"{slug_of(options[1])}.yaml"
    text = file.read_text()
    command = next(line for line in text.splitlines() if "python -m generator" in line).removeprefix("#   ")
    repository = Path(__file__).resolve().parents[2]
    script = f'python() {{ {sys.executable} "$@"; }}; export PYTHONPATH={repository}; {command} --stdout'
    again = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert again.stdout == text
