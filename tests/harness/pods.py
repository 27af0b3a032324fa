# SPDX-License-Identifier: Apache-2.0
"""Pods of one cluster: state, logs, events, commands in them, eviction. A part of kube.Kube.

Called through it by cli and tests.
"""

from __future__ import annotations

import json

from tests.harness import command, go_build
from tests.harness.wait import wait_until

POD_RESOURCES = "/var/lib/kubelet/pod-resources/kubelet.sock"


class Pods:
    """What Kube can do with pods; needs its `get`, `list` and `request`."""

    def pod(self, namespace: str, name: str) -> dict | None:
        return self.get("v1", "Pod", name, namespace)

    def pods(self, namespace: str | None = None, selector: str = "") -> list[dict]:
        return self.list("v1", "Pod", namespace, **({"labelSelector": selector} if selector else {}))

    def wait_pod(self, namespace: str, name: str, phase: str | tuple[str, ...], deadline_s: float = 60) -> dict:
        """The pod once it is in (one of) the phase(s); time-out shows its last state and events."""
        wanted = (phase,) if isinstance(phase, str) else phase

        def reached() -> dict | None:
            pod = self.pod(namespace, name)
            return pod if pod and pod["status"].get("phase") in wanted else None

        return wait_until(
            f"pod {namespace}/{name} to be {' or '.join(wanted)}",
            reached,
            deadline_s,
            seen=lambda: {
                "status": (self.pod(namespace, name) or {}).get("status"),
                "events": [f"{e['reason']}: {e['message']}" for e in self.events(namespace, name)],
            },
        )

    def pod_log(self, namespace: str, name: str, container: str | None = None, previous: bool = False) -> str:
        query = {**({"container": container} if container else {}), **({"previous": "true"} if previous else {})}
        return self.request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}/log", query=query)

    def exec(self, namespace: str, name: str, argv: list[str], container: str | None = None) -> tuple[int, str]:
        """Run a command in a container: (exit code, output of both kinds)."""
        from kubernetes import client, stream

        more = {"container": container} if container else {}
        api = client.CoreV1Api(client.ApiClient(self.api.configuration))  # the stream changes the client it is given
        channel = stream.stream(
            api.connect_get_namespaced_pod_exec, name, namespace, command=argv,
            stdout=True, stderr=True, stdin=False, tty=False, _preload_content=False, **more,
        )  # fmt: skip
        channel.run_forever(timeout=60)
        code = channel.returncode  # before the output: reading all of it drops the other channels
        output = channel.read_all()
        return (1 if code is None else code), output

    def events(self, namespace: str, name: str) -> list[dict]:
        found = self.list("v1", "Event", namespace, fieldSelector=f"involvedObject.name={name}")
        return sorted(found, key=lambda event: event["metadata"]["creationTimestamp"])

    def container_resources(self, node) -> dict[tuple[str, str, str], list[str]]:
        """The kubelet's record on a node (a provider's): (namespace, pod, container) → device ids."""
        socket = node.host_path(POD_RESOURCES)
        grants = json.loads(command.run([go_build.podresources(), f"-socket={socket}"]).out)
        return {(grant["namespace"], grant["pod"], grant["container"]): grant["ids"] for grant in grants}

    def pod_resources(self, node) -> dict[tuple[str, str], list[str]]:
        """The same of whole pods: (namespace, pod) → device ids."""
        found: dict[tuple[str, str], list[str]] = {}
        for (namespace, pod, _), ids in self.container_resources(node).items():
            found.setdefault((namespace, pod), []).extend(ids)
        return found

    def evict(self, namespace: str, name: str) -> None:
        """What `kubectl drain` asks for each pod; a disruption budget may refuse it."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
        self.request("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", body)

    def drain(self, node: str, deadline_s: float = 60) -> list[str]:
        """Cordon the node and evict what is not a DaemonSet's; returns the evicted pods, once they are gone."""
        self.cordon(node)
        leaving = [
            (pod["metadata"]["namespace"], pod["metadata"]["name"])
            for pod in self.list("v1", "Pod", fieldSelector=f"spec.nodeName={node}")
            if not any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences", []))
        ]
        for namespace, name in leaving:
            self.evict(namespace, name)
        wait_until(
            f"pods to leave node {node}",
            lambda: not any(self.pod(namespace, name) for namespace, name in leaving),
            deadline_s,
            seen=lambda: [name for namespace, name in leaving if self.pod(namespace, name)],
        )
        return [f"{namespace}/{name}" for namespace, name in leaving]
