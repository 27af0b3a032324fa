# SPDX-License-Identifier: Apache-2.0
"""What a cluster looks like, for people: nodes with their GPUs, releases, the demo pod; and its variables for a shell.

Called by cli. It only reads.
"""

from __future__ import annotations

import os
import shlex

from tests.harness import demo, plugin_image, versions
from tests.harness.cluster import Cluster
from tests.harness.kube import GPU, Kube, is_ready
from tests.harness.table import table


def nodes(kube: Kube) -> str:
    rows = []
    for node in kube.nodes():
        labels, status = node["metadata"].get("labels", {}), node.get("status", {})
        counts = [status.get(part, {}).get(GPU) for part in ("capacity", "allocatable")]
        rows.append(
            [
                node["metadata"]["name"],
                "Ready" if is_ready(node) else "NotReady",
                labels.get("gpu-sim", ""),
                labels.get("gpu-sim.io/branch", ""),
                *counts,
                status.get("nodeInfo", {}).get("kubeletVersion", ""),
            ]
        )
    return table(["NODE", "STATUS", "GPU-SIM", "BRANCH", "GPUS", "ALLOCATABLE", "KUBELET"], rows)


def releases(cluster: Cluster) -> str:
    rows = [
        [item["name"], item["namespace"], item["status"], item["revision"], item["chart"]]
        for item in cluster.helm.releases()
    ]
    return table(["RELEASE", "NAMESPACE", "STATUS", "REVISION", "CHART"], rows)


def demos(kube: Kube) -> str:
    rows = []
    for pod in kube.pods(demo.NAMESPACE, demo.LABEL):
        asked = pod["spec"]["containers"][0]["resources"]["limits"].get(GPU)
        meta = pod["metadata"]
        rows.append([meta["name"], pod["status"]["phase"], pod["spec"].get("nodeName", ""), asked])
    return table(["POD", "STATUS", "NODE", "GPUS"], rows)


def whole(cluster: Cluster) -> str:
    parts = [nodes(cluster.kube)]
    if cluster.helm.releases():
        parts.append(releases(cluster))
    if cluster.kube.pods(demo.NAMESPACE, demo.LABEL):
        parts.append(demos(cluster.kube))
    return "\n\n".join(parts)


def head(cluster: Cluster) -> str:
    lines = [
        f"cluster        {cluster.name} ({cluster.provider})",
        f"kubeconfig     {cluster.kubeconfig}",
        f"device plugin  {plugin_image.describe(cluster.provider)}",
        f"gpu-sim        {versions.version('gpu-sim')}",
    ]
    return "\n".join(lines)


def shell(cluster: Cluster) -> str:
    """Lines for `eval`: this cluster's kubectl and helm first in PATH, its kubeconfig alone."""
    folders = list(
        dict.fromkeys(str(cluster.programs[name].parent) for name in ("kubectl", "helm") if name in cluster.programs)
    )
    path = os.pathsep.join(folders)
    return f'export KUBECONFIG={shlex.quote(str(cluster.kubeconfig))}\nexport PATH={shlex.quote(path)}:"$PATH"'
