# SPDX-License-Identifier: Apache-2.0
"""`check FILE…`: all problems of all files at once, each in the one form, with the key and what to do."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from generator import chart, check

WRONG_FILE = """\
gpuSim:
  devicecount: 8
  deviceCount: "8"
  memoryMB: 0
  profile: 1e3
  deviceName: "caf\\u00e9"
  deviceName: "Fake"
devicePlugin:
  deviceListStrategy: [envvar, envvar]
  image:
    pullPolicy: null
workload:
  quota:
    nvidia.com/gpu: 2
nodeSelector:
  gpu-sim: true
  "a b": "c"
gpusim: 1
"""

ALL_ITS_PROBLEMS = [
    'wrong.yaml:gpuSim.deviceName: the key is written twice, in lines 6 and 7, got "Fake"; keep one',
    'wrong.yaml:devicePlugin.deviceListStrategy: holds the same entry twice, got ["envvar", "envvar"]; keep one',
    "wrong.yaml:devicePlugin.image.pullPolicy: is required, and null (or an empty map above it) takes the chart's "
    'value away, got null; give a value, such as the default "IfNotPresent"',
    'wrong.yaml:gpuSim.deviceCount: must be a whole number, got "8"; write it without quotes',
    "wrong.yaml:gpuSim.devicecount: there is no such key, got 8; did you mean deviceCount?",
    "wrong.yaml:gpuSim.memoryMB: must be at least 1, got 0; give 1 to 16777216",
    "wrong.yaml:gpuSim.profile: must be a string, got 1000.0; put it in double quotes",
    "wrong.yaml:gpusim: there is no such key, got 1; did you mean gpuSim?",
    "wrong.yaml:nodeSelector: is no valid label key, got \"a b\"; use letters, digits, '-', '_' and '.', "
    "with an optional prefix such as example.com/",
    "wrong.yaml:nodeSelector.gpu-sim: must be a string, got true; put it in double quotes",
    'wrong.yaml:workload.quota["nvidia.com/gpu"]: there is no such key, got 2; did you mean requests.nvidia.com/gpu?',
]


@pytest.mark.unit
def test_all_problems_at_once(generate, folder: Path) -> None:
    (folder / "wrong.yaml").write_text(WRONG_FILE)
    (folder / "right.yaml").write_text("gpuSim: {deviceCount: 3}\n")
    ran = generate("check", "wrong.yaml", "right.yaml", "absent.yaml")
    assert ran.code == 1
    assert ran.out == "right.yaml: ok\n"
    absent = "absent.yaml: cannot be read (No such file or directory); give the name of a values file"
    assert sorted(ran.lines) == sorted([*ALL_ITS_PROBLEMS, absent])


@pytest.mark.unit
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", None),
        (b"# only a comment\n", None),
        (b"\xef\xbb\xbfgpuSim: {deviceCount: 3}\r\n", None),
        (b"global: {x: 1}\n", None),
        (b"- a\n", 'f.yaml: is no map of values, got ["a"]; write keys as in the chart\'s values.yaml'),
        (b"8\n", "f.yaml: is no map of values, got 8; write keys as in the chart's values.yaml"),
        (b"a: caf\xe9\n", "f.yaml:byte 7: is not UTF-8; save the file as UTF-8"),
        (b"a: b\n c: d\n", "f.yaml:line 2, column 3: is not YAML (mapping values are not allowed here); mend the YAML"),
        (
            b"gpuSim:\n",
            "f.yaml:gpuSim: is required, and null (or an empty map above it) takes the "
            "chart's value away, got null; give a value",
        ),
        (
            b'gpuSim: {"\\e[2J": 1}\n',
            'f.yaml:gpuSim["\\x1b[2J"]: there is no such key, got 1; remove it, or use one of enabled, deviceCount',
        ),
    ],
)
def test_odd_files(generate, folder: Path, content: bytes, message: str | None) -> None:
    (folder / "f.yaml").write_bytes(content)
    ran = generate("check", "f.yaml")
    if message is None:
        assert (ran.code, ran.out, ran.err) == (0, "f.yaml: ok\n", "")
    else:
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith(message), ran.err
        assert len(ran.lines) == 1


@pytest.mark.unit
def test_a_directory_and_a_file_without_rights(generate, folder: Path) -> None:
    ran = generate("check", ".")
    assert (ran.code, ran.err) == (1, ".: cannot be read (Is a directory); give the name of a values file\n")


@pytest.mark.unit
def test_checking_changes_nothing() -> None:
    before = copy.deepcopy((chart.defaults(), chart.schema()))
    check.problems_of({"gpuSim": {"deviceCount": None}, "nodeSelector": {"gpu-sim": None}}, "f")
    assert (chart.defaults(), chart.schema()) == before


@pytest.mark.unit
@pytest.mark.parametrize(
    ("given", "whole"),
    [
        ({}, {"a": {"b": 1, "c": None}, "d": [1]}),
        ({"a": {"b": 2}}, {"a": {"b": 2, "c": None}, "d": [1]}),
        ({"a": {"b": None}}, {"a": {"c": None}, "d": [1]}),
        ({"a": None}, {"d": [1]}),
        ({"a": 5, "d": [2, 3]}, {"a": 5, "d": [2, 3]}),
        ({"x": None}, {"a": {"b": 1, "c": None}, "d": [1], "x": None}),
    ],
)
def test_values_are_laid_over_each_other_as_helm_does(given: dict, whole: dict) -> None:
    assert check.laid_over(given, {"a": {"b": 1, "c": None}, "d": [1]}) == whole
