# SPDX-License-Identifier: Apache-2.0
"""A wrong option is named with what was given and what to do; all of them at once; nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

WRONG = [
    *(
        (["--gpus", text], "--gpus: must be a whole decimal number")
        for text in ("four", "4.5", "8.0", "1e3", "0x10", "010", "", " 8", "8 ", "١", "1_0", "500m", "1k")
    ),
    (["--gpus", "0"], "--gpus: must be at least 1, got 0; give 1 to 64"),
    (["--gpus", "65"], "--gpus: must be at most 64, got 65; give 1 to 64"),
    (["--gpus=-1"], "--gpus: must be at least 1, got -1; give 1 to 64"),
    (
        ["--memory-mb", "80GB"],
        '--memory-mb: must be a whole decimal number, got "80GB"; give the size in MiB, such as 40960',
    ),
    (["--memory-mb", "0"], "--memory-mb: must be at least 1, got 0"),
    (["--memory-mb", "16777217"], "--memory-mb: must be at most 16777216, got 16777217"),
    (
        ["--profile", "a100"],
        '--profile: there is no such profile, got "a100"; choose one of a100-sxm4-40gb, h100-80gb-hbm3',
    ),
    *((["--name", text], "--name: must match ^[ -~]{1,95}$") for text in ("", "é", "x" * 96, "a\nb", "a\n", "a\x1bb")),
    (["--name", "Fake (nvgpu)"], '--name: contains "(nvgpu)", by which NVIDIA\'s libraries know an integrated GPU'),
    (["--name", "NVIDIA Thor"], '--name: contains "NVIDIA Thor", by which NVIDIA\'s libraries know an integrated GPU'),
    *(
        (["--driver-version", text], "--driver-version: must match")
        for text in ("latest", "550", "v550.1.2", "550.163.01 ", "550.163.01\n")
    ),
    (["--fault", "clear --gpu 0"], "--fault: must match"),
    (["--fault", "xid --gpu 64 79"], "--fault: names a GPU that the node does not have"),
    (["--node-selector", "pool"], '--node-selector: must be KEY=VALUE, got "pool"; give a node label such as pool=gpu'),
    (["--node-selector", "=a"], '--node-selector: must be KEY=VALUE, got "=a"'),
    (["--node-selector", "a=b c"], "--node-selector: must match"),
    (["--node-selector", "a b=c"], '--node-selector: is no valid label key, got "a b"'),
    (
        ["--node-selector", "a=b", "--node-selector", "a=c"],
        '--node-selector: the label a is asked for twice, once as "b", got "a=c"; keep one',
    ),
    (
        ["--node-selector", "gpu-sim.io/branch=other", "--dedicated"],
        '--node-selector: selects the nodes of another branch than branch.slug ("feat-x"), got "other"',
    ),
    (["--namespace", "Gpu_Sim"], "--namespace: must match"),
    (
        ["--namespace", "kube-system"],
        '--namespace: belongs to Kubernetes and is not created by a chart, got "kube-system"',
    ),
    (["--workload-namespace", "a-"], "--workload-namespace: must match"),
    (
        ["--workload-namespace", "gpu-sim"],
        '--workload-namespace: is the namespace of the node pods, which is privileged, got "gpu-sim"',
    ),
    *((["--quota", text], "--quota: must be a whole decimal number") for text in ("0.5", "500m", "1k", "two", "")),
    (["--quota=-1"], "--quota: must be at least 0, got -1"),
    *(
        (["--quota", f"{key}=2"], "--quota: Kubernetes enforces GPU quotas only on requests.nvidia.com/gpu")
        for key in ("nvidia.com/gpu", "limits.nvidia.com/gpu", "requests.nvidia.com/gpu.shared")
    ),
]


@pytest.mark.parametrize(
    ("options", "message"),
    WRONG,
    ids=[" ".join(options).encode("ascii", "backslashreplace").decode()[:50] for options, _ in WRONG],
)
def test_a_wrong_option_is_named_and_nothing_is_written(
    generate, folder: Path, options: list[str], message: str
) -> None:
    ran = generate("--branch", "feat-x", *options)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"command line:{message}"), ran.err
    assert len(ran.lines) == 1, "a problem was told twice, or in two lines"
    assert "; " in ran.err, "it does not say what to do"
    assert list(folder.iterdir()) == []


def test_all_wrong_options_are_told_at_once(generate) -> None:
    ran = generate(
        "--branch",
        "feat-x",
        "--gpus",
        "99",
        "--memory-mb",
        "1.5",
        "--profile",
        "b200",
        "--name",
        "é",
        "--quota",
        "nvidia.com/gpu=1",
        "--namespace",
        "A",
    )
    assert ran.code == 1
    assert sorted(line.split(":")[1] for line in ran.lines) == [
        "--gpus",
        "--memory-mb",
        "--name",
        "--namespace",
        "--profile",
        "--quota",
    ]


@pytest.mark.parametrize(
    "arguments", [["--gpu", "3"], ["--nonsense"], ["--gpus"], ["surplus"], ["--stdout", "--output", "a"], ["check"]]
)
def test_wrong_usage_exits_2(generate, folder: Path, arguments: list[str]) -> None:
    ran = generate(*arguments)
    assert ran.code == 2
    assert ran.err.startswith("usage: ")
    assert list(folder.iterdir()) == []
