# SPDX-License-Identifier: Apache-2.0
"""A node: containerd, kubelet and kube-proxy in a machine of its own, and what tests do to one.

Called by provider; tests reach it as cluster.node(name). A stopped program stays stopped until it is started.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from tests.harness import command
from tests.harness.embedded import cgroups, kubelet, network
from tests.harness.embedded.certs import Authority, kubeconfig, write_private
from tests.harness.embedded.machine import Machine
from tests.harness.runs import Run
from tests.harness.wait import wait_until

PROGRAMS = ("containerd", "containerd-shim-runc-v2", "ctr", "kubelet", "kube-proxy", "kubectl")
CNI_FOLDERS = ("/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni")
CTR = ["ctr", "-a", kubelet.CONTAINERD_SOCKET, "-n", "k8s.io"]


def cni_folder() -> str:
    for folder in CNI_FOLDERS:
        if (Path(folder) / "ptp").exists():
            return folder
    raise command.CommandError("ls " + " ".join(CNI_FOLDERS), "no CNI plugins; install containernetworking-plugins")


class Node:
    """`name` is the node's name in Kubernetes and the host name in its machine."""

    def __init__(self, run: Run, name: str, index: int):
        self.run_record, self.name, self.index = run, name, index
        self.machine = Machine(run, name)

    @property
    def address(self) -> str:
        return network.Net(self.run_record.state["slot"]).node(self.index)

    # ---- building it up ----
    def create(self, programs: dict[str, Path]) -> None:
        self.machine.create(cni_folder(), {name: programs[name] for name in PROGRAMS})

    def connect(self, net: network.Net, control_plane: int) -> None:
        network.connect_node(net, control_plane, self.machine.pid, self.index)

    def write_files(self, net: network.Net, authority: Authority, proxy_conf: str, sandbox_image: str) -> None:
        etc = self.machine.folder / "etc"
        (etc / "cni").mkdir(exist_ok=True)
        options = self.run_record.state.get("options", {})
        groups = cgroups.make(self.run_record.state["cgroup"], self.name)
        pair = authority.issue(f"system:node:{self.name}", "system:nodes", (self.name, net.node(self.index)))
        write_private(etc / "kubelet.crt", pair.certificate)
        write_private(etc / "kubelet.key", pair.key)
        write_private(etc / "ca.crt", authority.certificate)
        write_private(etc / "kubelet.conf", kubeconfig(net.server, authority.certificate, pair, self.name))
        write_private(etc / "proxy.conf", proxy_conf)
        write_private(etc / "containerd.toml", kubelet.containerd(sandbox_image))
        write_private(etc / "cni/10-ptp.conflist", kubelet.cni(self.index))
        gates, taints = options.get("feature_gates") or {}, options.get("taints") or []
        write_private(etc / "kubelet.json", kubelet.kubelet(groups, gates, taints))

    # ---- its programs ----
    def start_containerd(self) -> None:
        self.machine.start("containerd", ["containerd", "-c", f"{kubelet.ETC}/containerd.toml"])
        socket = self.machine.path(kubelet.CONTAINERD_SOCKET)

        def answers() -> bool:
            return socket.is_socket() and self.machine.run_in([*CTR, "version"], check=False).code == 0

        wait_until(f"containerd on {self.name}", answers, 30, seen=lambda: self.logs("containerd", 10))

    def start_kubelet(self) -> None:
        labels = self.run_record.state.get("options", {}).get("labels") or {}
        self.machine.start(
            "kubelet",
            [
                *("kubelet", f"--config={kubelet.ETC}/kubelet.json", f"--kubeconfig={kubelet.ETC}/kubelet.conf"),
                *(f"--hostname-override={self.name}", f"--node-ip={self.address}", "--v=2"),
                "--node-labels=" + ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
            ],
        )

    def start_proxy(self) -> None:
        gates = self.run_record.state.get("options", {}).get("feature_gates") or {}
        flags = ["--feature-gates=" + ",".join(f"{k}={str(v).lower()}" for k, v in sorted(gates.items()))]
        self.machine.start(
            "kube-proxy",
            [
                *("kube-proxy", f"--kubeconfig={kubelet.ETC}/proxy.conf", f"--hostname-override={self.name}"),
                *("--proxy-mode=nftables", "--conntrack-max-per-core=0", *(flags if gates else [])),
            ],
        )

    def start(self) -> None:
        """Whatever of the node's programs does not run."""
        self.start_containerd()
        self.start_kubelet()
        self.start_proxy()

    def stop_kubelet(self) -> None:
        self.machine.stop("kubelet")

    def restart_kubelet(self) -> None:
        self.stop_kubelet()
        self.start_kubelet()

    def stop_containerd(self) -> None:
        """Containers go on: their shims do not depend on containerd."""
        self.machine.stop("containerd")

    def restart_containerd(self) -> None:
        self.stop_containerd()
        self.start_containerd()

    def kill(self, service: str) -> None:
        """End a program without giving it time to tidy up."""
        self.machine.stop(service, signal.SIGKILL)

    def running(self, service: str) -> bool:
        return self.machine.service_alive(service)

    # ---- looking at it ----
    def host_path(self, path: str) -> Path:
        """A path on the node as a path on this machine."""
        return self.machine.path(path)

    def run(self, argv: list[str], **options) -> command.Result:
        """Run a command on the node; it sees the node's files, processes and network."""
        return self.machine.run_in(argv, **options)

    def logs(self, service: str, lines: int | None = None) -> str:
        return self.machine.log(service, lines)

    # ---- images ----
    def load_image(self, archive: Path) -> None:
        """Import an archive. By standard input: the node does not see all of the host's folders."""
        argv = self.machine.enter(["/run/gpu-sim/bin/ctr", *CTR[1:], "images", "import", "-"])
        with archive.open("rb") as stream:
            done = subprocess.run(argv, stdin=stream, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise command.CommandError(
                command.display(argv) + f" <{archive}", f"{archive} cannot be imported", done.stdout, done.returncode
            )

    def images(self) -> list[str]:
        """References of the images that are on the node, without bare digests."""
        listed = self.machine.run_in([*CTR, "images", "ls", "-q"]).out.split()
        return sorted(name for name in listed if not name.startswith("sha256:"))

    def destroy(self) -> None:
        self.machine.destroy()
