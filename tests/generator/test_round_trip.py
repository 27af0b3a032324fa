# SPDX-License-Identifier: Apache-2.0
"""Through the real helm and chart: a branch's name arrives byte for byte, and no string turns into a number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from generator.slug import release_of, slug_of
from tests.generator import hostile

pytestmark = pytest.mark.helm

STRINGS = ("name", "namespace", "nodeName", "value", "key", "operator", "effect", "serviceAccountName", "image")


def objects_for(generate, helm_template, *options: str) -> list[dict]:
    ran = generate(*options, "--output", "given.yaml", "--force")
    assert ran.code == 0, ran.err
    release = next(line.split()[1] for line in ran.out.splitlines() if line.startswith("release "))
    return helm_template(release, Path("given.yaml"))


def not_strings(tree: object, path: str = "") -> Iterator[str]:
    """Places where Kubernetes wants a string and gets none."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            texts = key in ("labels", "annotations", "matchLabels", "nodeSelector") and isinstance(value, dict)
            texts = texts or (key == "data" and path == "")
            for name, text in value.items() if texts else ():
                if not isinstance(name, str) or not isinstance(text, str):
                    yield f"{path}.{key}.{name}: {text!r}"
            if key in STRINGS and not isinstance(value, str):
                yield f"{path}.{key}: {value!r}"
            if key in ("command", "args"):
                yield from (f"{path}.{key}: {word!r}" for word in value if not isinstance(word, str))
            yield from not_strings(value, f"{path}.{key}")
    elif isinstance(tree, list):
        for number, item in enumerate(tree):
            yield from not_strings(item, f"{path}[{number}]")


@pytest.mark.parametrize("name", hostile.EVERY)
def test_a_branch_arrives_byte_for_byte(generate, helm_template, name: str) -> None:
    objects = objects_for(generate, helm_template, f"--branch={name}", "--gpus", "3", "--dedicated")
    (daemonset,) = [item for item in objects if item["kind"] == "DaemonSet"]
    assert daemonset["metadata"]["annotations"]["gpu-sim.io/branch-name"] == name
    slug = slug_of(name)
    assert daemonset["metadata"]["name"] == release_of(slug)
    assert daemonset["metadata"]["labels"]["gpu-sim.io/branch"] == slug
    assert daemonset["spec"]["template"]["spec"]["nodeSelector"] == {"gpu-sim": "true", "gpu-sim.io/branch": slug}
    assert [problem for item in objects for problem in not_strings(item)] == []


@pytest.mark.parametrize(
    "text", ["1e3", "08", "y", "00215e6", "1.10", "null", "$(HOME)", "a'b\"c\\d", "{{ .Values }}", "#x", "~"]
)
def test_a_gpu_name_and_labels_arrive_byte_for_byte(generate, helm_template, text: str) -> None:
    options = ["--branch", "feat-x", "--gpus", "3", "--name", text]
    label = text if text.isalnum() else "0x1F"
    objects = objects_for(
        generate, helm_template, *options, "--node-selector", f"y={label}", "--node-selector", f"08={label}"
    )
    (daemonset,) = [item for item in objects if item["kind"] == "DaemonSet"]
    pod = daemonset["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"gpu-sim": "true", "y": label, "08": label}
    (installer,) = [each for each in pod["initContainers"] if each["name"] == "installer"]
    words = [*installer.get("command", []), *installer.get("args", [])]
    # the kubelet turns $$ into $
    assert text in [word.removeprefix("--name=").replace("$$", "$") for word in words]
    assert [problem for item in objects for problem in not_strings(item)] == []


@pytest.mark.parametrize(("gpus", "memory", "quota"), [(3, 24576, 2), (7, 1, 0), (64, 16777216, 2147483647)])
def test_numbers_arrive_as_they_were_given(generate, helm_template, gpus: int, memory: int, quota: int) -> None:
    options = ["--branch", "feat-x", "--gpus", str(gpus), "--memory-mb", str(memory), "--quota", str(quota)]
    objects = objects_for(generate, helm_template, *options)
    (daemonset,) = [item for item in objects if item["kind"] == "DaemonSet"]
    spec = daemonset["spec"]["template"]["spec"]
    (installer,) = [each for each in spec["initContainers"] if each["name"] == "installer"]
    words = [*installer.get("command", []), *installer.get("args", [])]
    given = {option: words[words.index(option) + 1] for option in ("--count", "--memory-mib")}
    assert given == {"--count": str(gpus), "--memory-mib": str(memory)}
    (enforced,) = [item for item in objects if item["kind"] == "ResourceQuota"]
    assert {key: str(value) for key, value in enforced["spec"]["hard"].items()} == {
        "requests.nvidia.com/gpu": str(quota)
    }
    assert enforced["metadata"]["namespace"] == "gpu-sim-feat-x"
