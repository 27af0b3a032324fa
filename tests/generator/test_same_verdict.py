# SPDX-License-Identifier: Apache-2.0
"""`check` and helm judge alike: many changes of single values, and the cases that the chart's own tests use."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from generator import check
from tests.generator.conftest import CHART, REPOSITORY

CASES = REPOSITORY / "tests" / "chart" / "cases"


def with_value(path: str, value: object) -> dict:
    """A values file with one value; `/` parts the keys, since some hold dots."""
    tree: object = value
    for key in reversed(path.split("|")):
        tree = {key: tree}
    return tree


LONG = "x" * 64
CHANGES = [
    *[("gpuSim|deviceCount", value) for value in (1, 64, 8.0, 1e1, 0, 65, 4.5, "8", None, True, [], -1)],
    *[("gpuSim|memoryMB", value) for value in (1, None, 16777216, 0, 16777217, 1.5, "1")],
    *[("gpuSim|profile", value) for value in ("tesla-t4", "b200", "", None, 1e3)],
    *[
        ("gpuSim|deviceName", value)
        for value in (
            "A/B",
            None,
            "",
            "é",
            "x" * 95,
            "x" * 96,
            "a\n",
            "Fake (nvgpu)",
            "NVIDIA Thor 2",
            "DGX Display",
            "nvgpu",
        )
    ],
    *[("gpuSim|driverVersion", value) for value in (None, "1.10", "550.163.01", "550.163.01\n", "550", 550.1)],
    *[("gpuSim|uuidFormat", value) for value in ("plain", "rfc4122", "other")],
    *[("gpuSim", value) for value in (None, {}, [], 4, {"cuont": 1})],
    *[("branch|slug", value) for value in ("a", "x" * 53, "x" * 54, "A", "-a", "a\n", "08")],
    *[("branch|name", value) for value in ("日本", "", 8, None)],
    *[("branch|dedicated", value) for value in (True, "yes", None)],
    *[
        ("nodeSelector", value)
        for value in ({}, None, {"gpu-sim": None}, {"a": LONG}, {"a/b/c": "d"}, {"a": 8}, {"x.y/z": ""})
    ],
    *[
        ("tolerations", value)
        for value in (
            [],
            None,
            [{"key": "a"}],
            [{"kye": "a"}],
            [{"operator": "Maybe"}],
            [{"tolerationSeconds": -1}],
            {},
        )
    ],
    *[
        ("hostRoot", value)
        for value in (
            "/opt/x",
            "/",
            "/var",
            "/etc/x",
            "/var/log",
            "/var/log/x",
            "/opt/../etc",
            "/opt/./x",
            "/opt/x/",
            "/var/lib/kubelet/x",
            "/var/lib",
            "opt/x",
            "/opt/.x",
            "/opt/..",
        )
    ],
    *[
        ("kubeletRoot", value)
        for value in ("/data/kubelet", "/var/lib/gpu-sim/kubelet", "/var/lib/gpu-sim", "/a/../b", None)
    ],
    *[
        ("image", value)
        for value in (
            {"tag": "x"},
            {"tag": ""},
            {"digest": "sha256:1"},
            {"pullPolicy": "always"},
            {"repository": ""},
            None,
            {"tag": 1.1},
        )
    ],
    *[
        ("devicePlugin|image", value)
        for value in (
            {"tag": ""},
            {"tag": None},
            {"tag": "v0.17.1"},
            {"tag": "latest"},
            {"tag": "v0.16.0"},
            {"tag": "v0.30.0"},
            {"tag": "0.18.2-ubi9"},
            {"tag": "", "digest": "sha256:" + "1" * 64},
        )
    ],
    *[
        ("devicePlugin", value)
        for value in (
            {"enabled": False},
            {"enabled": False, "image": {"tag": ""}},
            {"version": "0.19.0", "image": {"tag": "latest"}},
            {"version": "0.99.0"},
            {"version": "x"},
            None,
            {},
        )
    ],
    *[
        ("devicePlugin|deviceListStrategy", value)
        for value in (["envvar"], [], ["envvar", "envvar"], ["cdi"], "envvar", ["volume-mounts", "cdi-annotations"])
    ],
    *[
        ("devicePlugin|healthChecks", value)
        for value in (
            {"enabled": False},
            {"enabled": False, "ignoredXids": [1]},
            {"fatalXids": [1], "ignoredXids": [2, 1]},
            {"fatalXids": [1024]},
            {"fatalXids": [3]},
            {"ignoredXids": [1, 1]},
            {"enabled": False, "fatalXids": []},
        )
    ],
    *[("namespace|name", value) for value in ("x", "default", "kube-system", "kube-public", "", "A", None, LONG)],
    *[("namespace", value) for value in ({"name": "kube-system", "create": False}, {"create": None}, {}, None)],
    *[
        ("workload", value)
        for value in (
            {"namespace": "team"},
            {"namespace": "gpu-sim"},
            {"namespace": "gpu-sim", "create": False},
            {"namespace": "kube-system"},
            {"namespace": "default"},
            {"namespace": None},
            {"quota": None},
            {"create": 1},
        )
    ],
    *[
        ("workload|quota", value)
        for value in ({"requests.nvidia.com/gpu": 2}, {"nvidia.com/gpu": 2}, {"limits.nvidia.com/gpu": 2}, {})
    ],
    *[
        ("workload", {"namespace": "team", "quota": {"requests.nvidia.com/gpu": value}})
        for value in (0, 2, -1, 0.5, "2", None, 2147483648)
    ],
    *[
        ("podLabels", value)
        for value in (
            {"a": "b"},
            {"app.kubernetes.io/name": "x"},
            {"gpu-sim.io/branch": "x"},
            {"a": 1},
            {"a": "b c"},
            None,
        )
    ],
    *[
        ("podAnnotations", value)
        for value in ({"a": "b c"}, {"app.kubernetes.io/name": "x"}, {"gpu-sim.io/x": "y"}, {"a": None})
    ],
    *[
        ("installer|resources", value)
        for value in (
            {},
            None,
            {"limits": {"cpu": 1}},
            {"limits": {"cpu": "1x"}},
            {"limits": {"gpu": 1}},
            {"requests": {"memory": "64Mi"}},
            {"limits": {"cpu": -1}},
        )
    ],
    *[("fullnameOverride", value) for value in ("x" * 52, "x" * 53, "A", None)],
    *[("global", value) for value in ({"x": 1}, None, 1)],
    *[("priorityClassName", value) for value in ("", "a.b", "A", None)],
    *[("unknown", value) for value in (1, None, {})],
    ("tests|enabled", None),
    ("seLinuxOptions", {"type": "spc_t"}),
    ("seLinuxOptions", {"kind": "x"}),
]
PAIRS = [
    {"gpuSim": {"uuidFormat": "plain"}, "devicePlugin": {"deviceListStrategy": ["envvar"]}},
    {"gpuSim": {"uuidFormat": "plain"}, "devicePlugin": {"enabled": False}},
    {"gpuSim": {"uuidFormat": "plain"}, "devicePlugin": {"deviceListStrategy": ["cdi-annotations"]}},
    {"branch": {"dedicated": True, "slug": "x"}, "nodeSelector": {"gpu-sim.io/branch": "x"}},
    {"branch": {"dedicated": True, "slug": "x"}, "nodeSelector": {"gpu-sim.io/branch": "y"}},
    {"branch": {"dedicated": False, "slug": "x"}, "nodeSelector": {"gpu-sim.io/branch": "y"}},
    {"nodeSelector": {"gpu-sim": None, "pool": "a"}},
    {"hostRoot": "/data/kubelet/x", "kubeletRoot": "/data/kubelet"},
    {"hostRoot": "/data/kube", "kubeletRoot": "/data/kubelet"},
    {"hostRoot": "/data/kubelet2", "kubeletRoot": "/data/kubelet"},
    {"gpuSim": {"enabled": False}, "devicePlugin": {"image": {"tag": "latest"}}},
    {"devicePlugin": {"image": {"tag": "v0.17.1"}, "healthChecks": {"fatalXids": [5]}}},
    {"devicePlugin": {"image": {"tag": "v0.18.0"}, "healthChecks": {"fatalXids": [5]}}},
    {"devicePlugin": {"version": "0.17.4", "image": {"tag": "v0.20.0"}, "healthChecks": {"fatalXids": [5]}}},
]


@pytest.mark.helm
def test_the_same_verdict_as_helm(helm, tmp_path: Path) -> None:
    """Over some two hundred changes, right and wrong: whatever one of them refuses the other refuses."""
    files = [with_value(path, value) for path, value in CHANGES] + PAIRS
    differ, refused = {}, 0
    for number, values in enumerate(files):
        file = tmp_path / f"{number}.yaml"
        file.write_text(json.dumps(values))
        ours = check.check_file(str(file))
        theirs = helm(
            "template", "r", CHART, "-f", file, "--kube-version", "1.34.4", "--show-only", "templates/validation.yaml"
        )
        # helm's answer for a template that renders to nothing
        empty = "could not find template templates/validation.yaml" in theirs.stderr
        says_no = theirs.returncode != 0 and not empty
        refused += says_no
        if bool(ours) != says_no:
            differ[json.dumps(values)] = (theirs.stderr[-300:], [str(problem) for problem in ours])
    assert differ == {}
    assert 60 < refused < len(files) - 60, "the changes are all right or all wrong"


def cases(folder: str) -> list[pytest.param]:
    files = sorted((CASES / folder).glob("*.yaml"))
    assert len(files) > 10, f"no cases in {CASES / folder}"
    return [pytest.param(file, id=file.stem) for file in files]


@pytest.mark.unit
@pytest.mark.parametrize("file", cases("positive"))
def test_a_right_case_of_the_chart_passes(file: Path) -> None:
    assert [str(problem) for problem in check.check_file(str(file))] == []


@pytest.mark.unit
@pytest.mark.parametrize("file", cases("negative"))
def test_a_wrong_case_of_the_chart_is_refused_at_the_same_key(file: Path) -> None:
    """Its comments say what is wrong: each mistake's key is named and no other, rules in the chart's own words."""
    said = re.findall(r"^# (judge|path|message): (.*)$", file.read_text(), re.MULTILINE)
    judge = [text for word, text in said if word == "judge"]
    messages = [text for word, text in said if word == "message"]
    problems = check.check_file(str(file))
    found = [problem.path.replace('["', ".").replace('"]', "") for problem in problems]
    assert sorted(found) == sorted(text for word, text in said if word == "path")
    if judge == ["rules"]:
        told = [str(problem) for problem in problems]
        assert [message for message in messages if not any(message in text for text in told)] == [], told
