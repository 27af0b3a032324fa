# SPDX-License-Identifier: Apache-2.0
"""Configuration of a node's programs, as text: containerd, CNI, kubelet.

Called by node. Pure functions; the values that differ from upstream's defaults carry their reason.
"""

from __future__ import annotations

import json

from tests.harness.embedded import network

ETC = "/run/gpu-sim/etc"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"


def containerd(sandbox_image: str) -> str:
    return f"""version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{sandbox_image}"
[plugins."io.containerd.cri.v1.runtime"]
  disable_apparmor = true
  restrict_oom_score_adj = true
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      BinaryName = "runc"
      SystemdCgroup = false
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/run/gpu-sim/cni"]
    conf_dir = "{ETC}/cni"
[plugins."io.containerd.internal.v1.opt"]
  path = "/opt/containerd"
"""


def cni(index: int) -> str:
    plugin = {
        "type": "ptp",
        "ipam": {
            "type": "host-local",
            "dataDir": "/var/lib/cni",
            "ranges": [[{"subnet": network.Net.pods(index)}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    return json.dumps({"cniVersion": "1.0.0", "name": "gpu-sim", "plugins": [plugin]}, indent=1)


def kubelet(cgroup_root: str, gates: dict[str, bool], taints: list[dict]) -> str:
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "x509": {"clientCAFile": f"{ETC}/ca.crt"},
            "webhook": {"enabled": True},
            "anonymous": {"enabled": False},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "tlsCertFile": f"{ETC}/kubelet.crt",
        "tlsPrivateKeyFile": f"{ETC}/kubelet.key",
        # There is no DNS; an address keeps the kubelet from warning in every pod.
        "clusterDNS": [network.DNS_SERVICE],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup_root,
        "enforceNodeAllocatable": [],
        # 1.35 and later refuse cgroup v1 without this; 1.34 knows the key.
        "failCgroupV1": False,
        "failSwapOn": False,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        # In this cluster only: upstream's 10 s hide changes of allocatable, and its back-off grows to 300 s.
        "nodeStatusUpdateFrequency": "1s",
        "crashLoopBackOff": {"maxContainerRestartPeriod": "2s"},
        "featureGates": {"KubeletCrashLoopBackOffMax": True, **gates},
        "registerWithTaints": taints,
    }
    return json.dumps(config, indent=1)
