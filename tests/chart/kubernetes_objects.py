# SPDX-License-Identifier: Apache-2.0
"""What must hold for every object that the chart ever renders. Called for each values file and each positive case."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterator

import kubernetes_validate

from tests.chart.rendering import Rendered
from tests.harness import versions

PINNED = ".".join(versions.version("kubernetes").split(".")[:2])


def problems(rendered: Rendered) -> list[str]:
    found: list[str] = []
    for item in rendered.objects:
        title = f"{item['kind']}/{item['metadata']['name']}"
        found += [f"{title}: {problem}" for problem in invalid(json.dumps(item))]
        wrong = [(path, value) for path, value in texts(item) if not isinstance(value, str)]
        found += [f"{title}: {path} is no text, got {value!r}" for path, value in wrong]
    names = Counter(
        f"{item['kind']} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}"
        for item in rendered.objects
    )
    return found + [f"{name} is there {count} times" for name, count in names.items() if count > 1]


@functools.cache
def invalid(item: str) -> tuple[str, ...]:
    """What the pinned Kubernetes' schema says. Many renders have most of their objects in common."""
    try:
        kubernetes_validate.validate(json.loads(item), PINNED, strict=True)
    except kubernetes_validate.ValidationError as error:
        return (f"{'.'.join(str(part) for part in error.path)}: {error.message}",)
    return ()


def texts(item: dict) -> Iterator[tuple[str, object]]:
    """Everything that Kubernetes wants as text, and that a template without quotes would make a number of."""
    metadata = item["metadata"]
    yield from ((f"metadata.{key}", metadata[key]) for key in ("name", "namespace") if key in metadata)
    yield from _metadata(metadata, "metadata")
    spec = item.get("spec", {})
    if item["kind"] == "DaemonSet":
        yield from ((f"matchLabels.{key}", value) for key, value in spec["selector"]["matchLabels"].items())
        yield from _metadata(spec["template"]["metadata"], "template.metadata")
        spec = spec["template"]["spec"]
    yield from ((f"nodeSelector.{key}", value) for key, value in spec.get("nodeSelector", {}).items())
    for container in [*spec.get("initContainers", []), *spec.get("containers", [])]:
        yield f"{container['name']}.image", container["image"]
        yield from ((f"{container['name']}.args", word) for word in container.get("args", []))
        for variable in container.get("env", []):
            yield f"{container['name']}.env.{variable['name']}", variable.get("value", "")
    for subject in item.get("subjects", []):
        yield "subjects.name", subject["name"]
        yield "subjects.namespace", subject["namespace"]


def _metadata(metadata: dict, where: str) -> Iterator[tuple[str, object]]:
    for section in ("labels", "annotations"):
        assert metadata.get(section, {}) is not None, f"{where}.{section} is null"
        yield from ((f"{where}.{section}.{key}", value) for key, value in metadata.get(section, {}).items())
