# SPDX-License-Identifier: Apache-2.0
# Rules between keys, which JSON Schema tells badly: the chart's templates/_validation.tpl over again, so that a mistake
# shows before a cluster is there. Called by check.py with complete values of the right shape. What depends on the
# cluster or on the namespace of the release is judged as for the plain command. tests/chart/cases are given to both.

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import normpath

from generator import chart, faults

RELEASE_NAMESPACE = "default"
_SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_SYSTEM_DIRECTORIES = r"/(bin|boot|dev|etc|lib|lib64|proc|sbin|sys|usr)/.*|/var/(cache|lib|lock|log|run|spool|tmp)"
_SELECTOR_LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component")
# Above this, the device plugin's allocator enumerates partitions without a limit of time.
_ALLOCATOR_LIMIT = 12


@dataclass(frozen=True)
class Broken:
    path: str
    what: str
    todo: str
    value: object


def broken(values: dict) -> Iterator[Broken]:
    for rules in (_gpu, _faults, _allocation, _branch, _paths, _namespaces, _pods, _plugin, _versions):
        yield from rules(values)


def warnings(values: dict) -> Iterator[str]:
    count = int(values["gpuSim"]["deviceCount"])
    if values["devicePlugin"]["enabled"] and count > _ALLOCATOR_LIMIT:
        yield (
            f"gpuSim.deviceCount: with more than {_ALLOCATOR_LIMIT} GPUs on a node, got {count}, the device plugin's "
            "allocator can stall on a pod that asks for several but not all of them; let pods ask for 1 or all"
        )


def _gpu(values: dict) -> Iterator[Broken]:
    name = values["gpuSim"].get("deviceName") or ""
    for word in ("(nvgpu)", "NVIDIA Thor"):
        if word in name:
            what = f'contains "{word}", by which NVIDIA\'s libraries know an integrated GPU'
            yield Broken("gpuSim.deviceName", what, "choose another name", name)
    if name in ("DGX Display", "NVIDIA DGX Display"):
        what = "is a display adapter that the device plugin leaves out"
        yield Broken("gpuSim.deviceName", what, "choose another name", name)
    plugin = values["devicePlugin"]
    uses_cdi = plugin["enabled"] and {"cdi-cri", "cdi-annotations"} & set(plugin["deviceListStrategy"])
    if values["gpuSim"]["uuidFormat"] == "plain" and uses_cdi:
        what = "cannot be used with the CDI strategies, whose device names are real UUIDs"
        todo = "set devicePlugin.deviceListStrategy to [envvar], or this to rfc4122"
        yield Broken("gpuSim.uuidFormat", what, todo, "plain")


def _faults(values: dict) -> Iterator[Broken]:
    for place, what, todo, line in faults.problems(values):
        yield Broken(f"gpuSim.faults[{place}]", what, todo, line)


def _allocation(values: dict) -> Iterator[Broken]:
    load = str((values.get("allocation") or {}).get("utilization") or "")
    low, dash, high = load.partition("-")
    if dash and int(low) > int(high):
        what = "must be a range from low to high"
        yield Broken("allocation.utilization", what, f"write {high}-{low}", load)


def _branch(values: dict) -> Iterator[Broken]:
    branch = values["branch"]
    if not branch["dedicated"]:
        return
    if not branch["slug"]:
        todo = "give the branch's slug, or set branch.dedicated to false"
        yield Broken("branch.slug", "is needed for a dedicated branch", todo, branch["slug"])
    selected = values["nodeSelector"].get(chart.BRANCH_LABEL, branch["slug"])
    if selected != branch["slug"]:
        what = f'selects the nodes of another branch than branch.slug ("{branch["slug"]}")'
        yield Broken("nodeSelector", what, f"remove {chart.BRANCH_LABEL}", selected)


def _paths(values: dict) -> Iterator[Broken]:
    host, kubelet = values["hostRoot"], values["kubeletRoot"]
    for key, path in (("hostRoot", host), ("kubeletRoot", kubelet)):
        if re.search(r"/\.{1,2}(/|\Z)", path):
            yield Broken(key, "has a part that is . or ..", f"write the path out: {normpath(path)}", path)
    if re.fullmatch(_SYSTEM_DIRECTORIES, host):
        todo = f"use a directory of its own, such as {chart.defaults()['hostRoot']}"
        yield Broken("hostRoot", "is a directory of the system, and an uninstall empties it", todo, host)
    if f"{kubelet}/".startswith(f"{host}/") or f"{host}/".startswith(f"{kubelet}/"):
        todo = f"use a directory of its own, such as {chart.defaults()['hostRoot']}"
        yield Broken("hostRoot", f'overlaps the kubelet\'s directory "{kubelet}"', todo, host)


def _namespaces(values: dict) -> Iterator[Broken]:
    nodes, creates = values["namespace"]["name"], values["namespace"]["create"]
    workload, creates_workload = values["workload"].get("namespace") or "", values["workload"]["create"]
    reserved = [name for name in _SYSTEM_NAMESPACES if name != RELEASE_NAMESPACE]
    for path, name, create in (("namespace", nodes, creates), ("workload", workload, creates_workload)):
        if create and name in reserved:
            key = "namespace.name" if path == "namespace" else "workload.namespace"
            what = "belongs to Kubernetes and is not created by a chart"
            yield Broken(key, what, f"choose another, or set {path}.create to false", name)
    if workload and creates and creates_workload and workload == nodes != RELEASE_NAMESPACE:
        what = "is the namespace of the node pods, which is privileged"
        yield Broken("workload.namespace", what, f"choose another, such as {workload}-workload", workload)
    quota = values["workload"].get("quota") or {}
    if quota.get(chart.QUOTA_KEY) is not None and not workload:
        todo = "set workload.namespace, or remove the quota"
        yield Broken("workload.quota", "has no namespace to hold in", todo, quota)


def _pods(values: dict) -> Iterator[Broken]:
    for section in ("podLabels", "podAnnotations"):
        for key, value in sorted((values.get(section) or {}).items()):
            own = key.startswith("gpu-sim.io/") or (section == "podLabels" and key in _SELECTOR_LABELS)
            if own and value is not None:
                yield Broken(section, f'has "{key}", which the chart sets itself', f"remove {key}", value)


def _plugin(values: dict) -> Iterator[Broken]:
    plugin = values["devicePlugin"]
    checks = plugin["healthChecks"]
    for key in ("ignoredXids", "fatalXids"):
        if checks.get(key) and not checks["enabled"]:
            path = f"devicePlugin.healthChecks.{key}"
            todo = "remove the list, or set devicePlugin.healthChecks.enabled to true"
            yield Broken(path, "has no effect while health checks are off", todo, checks[key])
    fatal = checks.get("fatalXids") or []
    both = [xid for xid in checks.get("ignoredXids") or [] if xid in fatal]
    if both:
        what = "the same Xid is ignored and fatal"
        yield Broken("devicePlugin.healthChecks", what, "remove it from ignoredXids or fatalXids", both)
    image = plugin["image"]
    if plugin["enabled"] and not image.get("tag") and not image.get("digest"):
        todo = f"give a tag such as {chart.defaults()['devicePlugin']['image']['tag']}"
        yield Broken("devicePlugin.image.tag", "neither tag nor digest is given", todo, "")


def _versions(values: dict) -> Iterator[Broken]:
    plugin = values["devicePlugin"]
    tag = plugin["image"].get("tag") or ""
    if not (values["gpuSim"]["enabled"] and plugin["enabled"] and (tag or plugin["image"].get("digest"))):
        return
    table = chart.plugin_versions()
    minor = _minor(plugin.get("version") or "") or _minor(tag)
    if not minor:
        todo = f"name the version that is in the image, such as devicePlugin.version: {max(table)}.0"
        yield Broken("devicePlugin.image.tag", "does not tell the plugin's version", todo, tag)
    elif minor not in table:
        what = f"is not a version that this chart can run (it knows {', '.join(sorted(table))})"
        yield Broken("devicePlugin.image.tag", what, f"use v{max(table)}.0", minor)
    elif plugin["healthChecks"].get("fatalXids") and not table[minor]["fatalXids"]:
        path, what = "devicePlugin.healthChecks.fatalXids", f"plugin {minor} does not know this list"
        yield Broken(path, what, "remove the list", plugin["healthChecks"]["fatalXids"])


def _minor(version: str) -> str:
    found = re.match(r"v?([0-9]+\.[0-9]+)\.[0-9]+", version)
    return found.group(1) if found else ""
