# SPDX-License-Identifier: Apache-2.0
"""Manifests as objects, and what the pods in them said.

Called by the tests of this folder. The files in manifests/ are whole objects that kubectl takes as they are; what
a test must choose (namespace, node, number of GPUs) is set here and nowhere else.
"""

import copy
import json
import re
from pathlib import Path

import yaml

from tests.harness.versions import version

FOLDER = Path(__file__).parent / "manifests"
GPU = "nvidia.com/gpu"
OURS = re.compile("localhost/gpu-sim-[a-z-]+")  # images of the harness, whose tag is the version of this tree


def load(name: str) -> list[dict]:
    """The objects of one manifest; images of ours get the version of this tree."""
    found = []
    for document in yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")):
        found += copy.deepcopy(document["items"]) if document["kind"] == "List" else [document]
    for item in found:
        for container in [*pod_spec(item).get("initContainers", []), *containers(item)]:
            if OURS.fullmatch(container["image"]):
                container["image"] += f":{version('gpu-sim')}"
    return found


def pod_spec(item: dict) -> dict:
    spec = item.get("spec", {})
    return spec["template"]["spec"] if "template" in spec else spec


def containers(item: dict) -> list[dict]:
    return pod_spec(item).get("containers", [])


def on_node(items: list[dict], node: str) -> list[dict]:
    """The same objects, pinned by label: the scheduler still decides, unlike with spec.nodeName."""
    for item in items:
        if containers(item):
            pod_spec(item).setdefault("nodeSelector", {})["kubernetes.io/hostname"] = node
    return items


def gpu_pod(name: str, gpus: int, node: str | None = None, **spec) -> dict:
    """One pod of gpu-pod.yaml that asks for `gpus` GPUs; `spec` overrides fields of the pod."""
    (pod,) = load("gpu-pod")
    pod["metadata"]["name"] = name
    pod["spec"].update(spec)
    containers(pod)[0]["resources"] = {"limits": {GPU: gpus}}
    return on_node([pod], node)[0] if node else pod


def report_in(log: str) -> dict:
    """What the probe printed: one JSON object on its first line."""
    lines = [line for line in log.splitlines() if line.startswith("{")]
    assert lines, f"the probe printed no report, but: {log!r}"
    return json.loads(lines[0])
