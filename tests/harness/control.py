# SPDX-License-Identifier: Apache-2.0
"""`gpu-sim ctl` on a node, from outside and by the node's name: `ctl(cluster, "n1", ["xid", "--gpu", "3", "79"])`.

Called by the command `ctl`, by tests, the soak and the audit. It is kubectl exec into the agent of the node's pod, so
it works on every cluster; the exit code and the words are those of `gpu-sim ctl`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from tests.harness import command
from tests.harness.cluster import Cluster
from tests.harness.kube import Kube

CONTAINER, PROGRAM = "agent", "/gpu-sim"
NODE_PODS, CHECKSUM = "app.kubernetes.io/component=node", "gpu-sim.io/values-checksum"
READS_STDIN = ("timeline", "declare")
# What kubectl adds to the words of the program; anything else on standard error with kubectl's own exit code 1 is an
# error of kubectl's.
ENDED = "command terminated with exit code "


class ControlError(Exception):
    """What `gpu-sim ctl` answered, in its words, with its exit code; or why it could not be asked (code 1)."""

    def __init__(self, message: str, code: int = 1):
        self.message, self.code = message, code
        super().__init__(message)


def node_pods(kube: Kube) -> dict[str, dict]:
    """The running pod of ours on each node that has one."""
    found = {}
    for pod in kube.list("v1", "Pod", labelSelector=NODE_PODS):
        meta, node = pod["metadata"], pod["spec"].get("nodeName")
        if node and CHECKSUM in meta.get("annotations", {}) and "deletionTimestamp" not in meta:
            found[node] = pod
    return found


def node_pod(kube: Kube, node: str) -> dict:
    """The pod of ours on this node, with an agent that can be asked."""
    pods = node_pods(kube)
    if node not in pods:
        others = f"the nodes {', '.join(sorted(pods))} have one" if pods else "no node has one; is the chart installed?"
        raise ControlError(f"node {node}: must have a gpu-sim pod, got none; {others}")
    status = pods[node]["status"]
    for container in [*status.get("containerStatuses", []), *status.get("initContainerStatuses", [])]:
        if container["name"] == CONTAINER and "running" in container["state"]:
            return pods[node]
    meta = pods[node]["metadata"]
    raise ControlError(
        f"node {node}: its agent must be running, got pod {meta['namespace']}/{meta['name']} in phase "
        f"{status.get('phase')}; see: kubectl -n {meta['namespace']} describe pod {meta['name']}"
    )


def _argv(cluster: Cluster, node: str, words: Sequence[str], stdin: bool) -> list[str]:
    meta = node_pod(cluster.kube, node)["metadata"]
    where = ["--kubeconfig", cluster.kubeconfig, "-n", meta["namespace"]]
    more = ["-i"] if stdin else []
    return [
        *map(str, (cluster.programs["kubectl"], *where, "exec", *more, meta["name"], "-c", CONTAINER, "--")),
        *(PROGRAM, "ctl", *words),
    ]


def _said(err: str) -> str:
    return "".join(line for line in err.splitlines(keepends=True) if not line.startswith(ENDED))


def ctl(
    cluster: Cluster, node: str, words: Sequence[str], stdin: str | None = None, timeout: float | None = 120
) -> str:
    """What it printed. A refusal, or any other failure, is a ControlError."""
    done = command.run(
        _argv(cluster, node, words, stdin is not None), stdin=stdin, check=False, timeout=timeout
    )  # fmt: skip
    if done.code:
        raise ControlError(_said(done.err).strip() or done.out.strip(), done.code)
    return done.out


def passed_through(cluster: Cluster, node: str, words: Sequence[str]) -> int:
    """The same for a person: input, output and exit code are passed on while it runs."""
    wanted = not sys.stdin.isatty() or words[:1] in [[name] for name in READS_STDIN]
    argv = _argv(cluster, node, list(words), wanted)
    process = subprocess.Popen(argv, stdin=None if wanted else subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        for line in process.stderr:
            sys.stderr.write(_said(line))
            sys.stderr.flush()
        return process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise


def only_node(kube: Kube) -> str:
    """The node that is meant when none is named."""
    nodes = sorted(node_pods(kube))
    if len(nodes) != 1:
        raise ControlError(f"NODE: must be named, got none; one of {', '.join(nodes) or 'no nodes with a gpu-sim pod'}")
    return nodes[0]
