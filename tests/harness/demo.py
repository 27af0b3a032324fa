# SPDX-License-Identifier: Apache-2.0
"""The pod that `make up` ends with: it asks for one GPU, shows it, and keeps it.

Called by up and report. It goes where the release's DaemonSet goes, tolerations included.
"""

from __future__ import annotations

from tests.harness import images
from tests.harness.kube import GPU, Kube
from tests.harness.runs import RunError
from tests.harness.wait import wait_until

NAMESPACE, LABEL = "default", "gpu-sim.io/demo"


def name(release: str) -> str:
    return f"demo-{release}"[:63].rstrip("-.")


def pod(release: str, item: dict, hold: bool) -> dict:
    """`item`: the release's DaemonSet. `hold`: keep running afterwards, by an image that only our clusters have."""
    spec = item["spec"]["template"]["spec"]
    gpu = {"resources": {"limits": {GPU: 1}}}
    look = {"name": "look", "image": images.reference("gpu-sim"), "args": ["nvidia-smi", "-L"], **gpu}
    keep = {"name": "keep", "image": images.reference("pause"), **gpu}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name(release), "namespace": NAMESPACE, "labels": {LABEL: release}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "nodeSelector": spec.get("nodeSelector", {}),
            "tolerations": [t for t in spec.get("tolerations", []) if t.get("key")],
            **({"initContainers": [look], "containers": [keep]} if hold else {"containers": [look]}),
        },
    }


def run(kube: Kube, release: str, item: dict, hold: bool, deadline_s: float = 60) -> str:
    """Start it anew and return what it printed."""
    kube.delete("v1", "Pod", name(release), NAMESPACE, grace_s=0)
    wait_until(
        "the default service account",
        lambda: kube.get("v1", "ServiceAccount", "default", NAMESPACE),
        20,
    )
    kube.apply(pod(release, item, hold))
    wanted = "Running" if hold else "Succeeded"
    ended = kube.wait_pod(NAMESPACE, name(release), (wanted, "Failed"), deadline_s)
    if ended["status"]["phase"] == "Failed":  # for good: a kubelet that refuses it, as with a lost GPU, tries no more
        status = ended["status"]
        raise RunError(
            f"pod {NAMESPACE}/{name(release)}: failed on {ended['spec'].get('nodeName', 'no node')}, "
            f"got {status.get('reason', 'Error')}: {status.get('message', 'see its log')}; "
            f"kubectl describe pod {name(release)} -n {NAMESPACE}, and make ctl NODE=<node> ARGS=status"
        )
    return kube.pod_log(NAMESPACE, name(release), "look").strip()


def remove(kube: Kube, release: str) -> None:
    kube.delete("v1", "Pod", name(release), NAMESPACE, grace_s=0)
