# SPDX-License-Identifier: Apache-2.0
"""The control plane: etcd, API server, controller manager and scheduler in one machine.

Called by provider. Unmodified upstream programs; what is given here is what a cluster on one host needs to differ.
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path

import yaml

from tests.harness.embedded import network
from tests.harness.embedded.certs import Authority, kubeconfig, service_account_key, write_private
from tests.harness.embedded.machine import Machine
from tests.harness.runs import Run, RunError
from tests.harness.wait import wait_until

ETC = "/run/gpu-sim/etc"
NAME = "control-plane"
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


def scheduler_config(path: Path) -> str:
    """The user's KubeSchedulerConfiguration with our kubeconfig and without leader election."""
    try:
        loaded = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise RunError(f"{path}: cannot be read, got {error}; give a KubeSchedulerConfiguration") from None
    kind = loaded.get("kind") if isinstance(loaded, dict) else type(loaded).__name__
    if kind != "KubeSchedulerConfiguration":
        raise RunError(f"{path}:kind: must be KubeSchedulerConfiguration, got {kind!r}; give the scheduler's own file")
    loaded.setdefault("clientConnection", {})["kubeconfig"] = f"{ETC}/scheduler.conf"
    loaded["leaderElection"] = {"leaderElect": False}
    return json.dumps(loaded, indent=1)


class ControlPlane:
    def __init__(self, run: Run, programs: dict[str, Path]):
        self.run, self.programs = run, programs
        self.machine = Machine(run, NAME)

    @property
    def net(self) -> network.Net:
        return network.Net(self.run.state["slot"])

    def create(self) -> network.Net:
        """The machine and the network; nothing runs in it yet."""
        self.machine.create("", {name: self.programs[name] for name in PROGRAMS})
        net = network.connect_host(self.machine.pid)
        self.run.save(slot=net.slot, interface=network.index_of(net.interface))
        return net

    def write_files(self, net: network.Net, authority: Authority) -> None:
        etc = self.machine.folder / "etc"
        authority.save(etc)
        signing = service_account_key()
        write_private(etc / "sa.pub", signing.certificate)
        write_private(etc / "sa.key", signing.key)
        names = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "127.0.0.1")
        server = authority.issue("kube-apiserver", None, (*names, net.control_plane, network.FIRST_SERVICE))
        admin = authority.issue("gpu-sim-admin", "system:masters")
        for name, pair in (("apiserver", server), ("admin", admin)):
            write_private(etc / f"{name}.crt", pair.certificate)
            write_private(etc / f"{name}.key", pair.key)
        for name, user in (
            ("controller-manager", "system:kube-controller-manager"),
            ("scheduler", "system:kube-scheduler"),
            ("proxy", "system:kube-proxy"),
        ):
            group = "system:node-proxier" if name == "proxy" else None
            pair = authority.issue(user, group)
            write_private(etc / f"{name}.conf", kubeconfig(net.server, authority.certificate, pair, name))
        custom = self.run.state.get("options", {}).get("scheduler_config")
        if custom:
            write_private(etc / "scheduler.json", custom)
        context = f"gpu-sim-{self.run.name}"
        write_private(self.run.kubeconfig, kubeconfig(net.server, authority.certificate, admin, context))

    def start(self) -> None:
        """etcd and the API server; the rest follows once that answers."""
        self.machine.start(
            "etcd",
            [
                *("etcd", "--data-dir=/var/lib/etcd", "--unsafe-no-fsync", "--log-level=warn"),
                *("--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379"),
                "--listen-peer-urls=http://127.0.0.1:2380",
            ],
        )
        self.machine.start("kube-apiserver", self._apiserver())

    def start_controllers(self) -> None:
        gates = self._gates()
        self.machine.start(
            "kube-controller-manager",
            [
                *("kube-controller-manager", f"--kubeconfig={ETC}/controller-manager.conf", "--leader-elect=false"),
                *(f"--service-account-private-key-file={ETC}/sa.key", f"--root-ca-file={ETC}/ca.crt"),
                *("--use-service-account-credentials", "--bind-address=127.0.0.1", *gates),
                # Upstream's limits make the start take 5 s, and a Ready node wait 5 s more for its taint to go.
                *("--kube-api-qps=500", "--kube-api-burst=1000", "--node-monitor-period=1s"),
            ],
        )
        custom = (self.machine.folder / "etc/scheduler.json").exists()
        config = (
            [f"--config={ETC}/scheduler.json"]
            if custom
            else [f"--kubeconfig={ETC}/scheduler.conf", "--leader-elect=false"]
        )
        self.machine.start("kube-scheduler", ["kube-scheduler", *config, "--bind-address=127.0.0.1", *gates])

    def _gates(self) -> list[str]:
        gates = self.run.state.get("options", {}).get("feature_gates") or {}
        if not gates:
            return []
        return ["--feature-gates=" + ",".join(f"{name}={str(on).lower()}" for name, on in sorted(gates.items()))]

    def _apiserver(self) -> list[str]:
        return [
            *("kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--secure-port=6443"),
            # The endpoint of the Service "kubernetes": pods reach the API there.
            f"--advertise-address={self.net.control_plane}",
            *("--allow-privileged", "--authorization-mode=Node,RBAC", f"--client-ca-file={ETC}/ca.crt"),
            *(f"--tls-cert-file={ETC}/apiserver.crt", f"--tls-private-key-file={ETC}/apiserver.key"),
            *(f"--service-account-key-file={ETC}/sa.pub", f"--service-account-signing-key-file={ETC}/sa.key"),
            *(
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-cluster-ip-range={network.SERVICES}",
            ),
            *(f"--kubelet-client-certificate={ETC}/admin.crt", f"--kubelet-client-key={ETC}/admin.key"),
            # Nodes have no name in any DNS; logs and exec go by address.
            "--kubelet-preferred-address-types=InternalIP",
            *self._gates(),
        ]

    # ---- answers ----
    def ready(self) -> bool:
        return self._get("/readyz") == "ok"

    def wait_ready(self, deadline_s: float = 60) -> None:
        context = self._context()

        def ask() -> bool:
            if not self.machine.service_alive("kube-apiserver"):
                raise RunError("kube-apiserver ended: " + self.machine.log("kube-apiserver", 15))
            return self._get("/readyz", context) == "ok"

        wait_until("the API server to be ready", ask, deadline_s, retry=(urllib.error.URLError, OSError))

    def _context(self) -> ssl.SSLContext:
        etc = self.machine.folder / "etc"
        context = ssl.create_default_context(cafile=str(etc / "ca.crt"))
        context.load_cert_chain(etc / "admin.crt", etc / "admin.key")
        return context

    def _get(self, path: str, context: ssl.SSLContext | None = None) -> str:
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context or self._context())
        )
        try:
            with opener.open(self.net.server + path, timeout=5) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode()
