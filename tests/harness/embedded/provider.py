# SPDX-License-Identifier: Apache-2.0
"""Starts, finds again and stops an embedded cluster.

Called by cli and by test fixtures: `start(name, nodes=2)`. Everything that can go on at the same time does; the order
that must be kept is: record, then make; API server, then kubelets.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tests.harness import runs, toolchain, versions
from tests.harness.cluster import Cluster
from tests.harness.embedded import clean, host_driver
from tests.harness.embedded.certs import Authority
from tests.harness.embedded.controlplane import ControlPlane, scheduler_config
from tests.harness.embedded.node import Node
from tests.harness.helm import Helm
from tests.harness.progress import Progress
from tests.harness.runs import Run, RunError
from tests.harness.wait import wait_until

GROUPS = ("kubernetes", "containerd", "etcd", "helm")
LABELS = {"gpu-sim": "true"}
MOST_NODES = 100
Images = Sequence[Path] | Future  # archives, or the promise of them


def sandbox_image() -> str:
    return f"localhost/gpu-sim-pause:{versions.version('gpu-sim')}"


class EmbeddedCluster(Cluster):
    provider = "embedded"

    def __init__(self, run: Run, programs: dict[str, Path], progress: Progress):
        super().__init__(run.name, run.kubeconfig, programs)
        self.run, self.progress = run, progress
        self.control_plane = ControlPlane(run, programs)
        self.loaded: list[Path] = []
        self._nodes: dict[str, Node] = {}
        for name, index in run.state.get("nodes", {}).items():
            self._nodes[name] = Node(run, name, index)

    @functools.cached_property
    def helm(self) -> Helm:
        return Helm(self.programs["helm"], self.kubeconfig, self.kube, always=host_driver.options())

    # ---- start ----
    def start(self, nodes: int, images: Images) -> None:
        names = [f"n{i + 1}" for i in range(nodes)]
        self.run.save(nodes={name: index for index, name in enumerate(names)}, machines={})
        self._nodes = {name: Node(self.run, name, index) for index, name in enumerate(names)}
        authority = Authority.create()
        with ThreadPoolExecutor(max_workers=2 * nodes + 2) as pool:
            made = [pool.submit(node.create, self.programs) for node in self._nodes.values()]
            with self.progress.step("control plane"):
                net = self.control_plane.create()
                self.control_plane.write_files(net, authority)
                self.control_plane.start()
                for future in made:
                    future.result()
                loading = [pool.submit(self._prepare, node, authority, images) for node in self._nodes.values()]
                self.control_plane.wait_ready()
                self.control_plane.start_controllers()
            with self.progress.step(f"{nodes} node{'s' if nodes > 1 else ''}"):
                for future in loading:
                    future.result()
                self.wait_nodes_ready(60)
        self.run.save(status=runs.RUNNING)

    def _prepare(self, node: Node, authority: Authority, images: Images) -> None:
        """One node up to its kubelet, which starts once there is an API to register with."""
        net = self.control_plane.net
        node.connect(net, self.control_plane.machine.pid)
        proxy = (self.control_plane.machine.folder / "etc/proxy.conf").read_text()
        node.write_files(net, authority, proxy, sandbox_image())
        node.start_containerd()
        self.loaded = images.result() if isinstance(images, Future) else list(images)
        for archive in self.loaded:
            node.load_image(archive)
        self.control_plane.wait_ready()
        node.start_kubelet()
        node.start_proxy()

    def wait_nodes_ready(self, deadline_s: float) -> None:
        names = list(self._nodes)

        def ready() -> bool:
            for node in self._nodes.values():
                if not node.running("kubelet"):
                    raise RunError(f"the kubelet of {node.name} ended: {node.logs('kubelet', 15)}")
            return set(names) <= set(self.kube.ready_nodes())

        wait_until(f"nodes {', '.join(names)} to be Ready", ready, deadline_s, seen=lambda: self.kube.ready_nodes())

    # ---- the interface ----
    @property
    def nodes(self) -> list[str]:
        return list(self._nodes)

    def node(self, name: str) -> Node:
        if name not in self._nodes:
            raise RunError(f"node: must be one of {', '.join(self._nodes)}, got {name!r}; see `make status`")
        return self._nodes[name]

    def load_image(self, archive: Path) -> None:
        with ThreadPoolExecutor(max_workers=len(self._nodes)) as pool:
            list(pool.map(lambda node: node.load_image(archive), self._nodes.values()))

    def add_node(self, images: Images, name: str | None = None) -> Node:
        """A further node, ready for pods."""
        used = set(self.run.state["nodes"].values())
        index = next(i for i in range(MOST_NODES) if i not in used)
        node = Node(self.run, name or f"n{index + 1}", index)
        self.run.save(nodes={**self.run.state["nodes"], node.name: index})
        node.create(self.programs)
        self._nodes[node.name] = node
        self._prepare(node, Authority.load(self.control_plane.machine.folder / "etc"), images)
        self.wait_nodes_ready(60)
        return node

    def remove_node(self, name: str) -> None:
        """As if the machine were switched off for good and its Node object deleted."""
        node = self.node(name)
        node.destroy()
        self.kube.delete("v1", "Node", name)
        wait_until(f"control group of {name} to be removed", lambda: not self._remove_group(name), 20)
        self._nodes.pop(name)
        self.run.state["machines"].pop(name, None)
        self.run.save(nodes={n: i for n, i in self.run.state["nodes"].items() if n != name})

    def _remove_group(self, node: str) -> list[Path]:
        return clean.cgroups.remove(self.run.state["cgroup"], node)

    @property
    def broken(self) -> list[str]:
        """Machines and programs that should run and do not."""
        machines = [self.control_plane.machine, *(node.machine for node in self._nodes.values())]
        found = []
        for machine in machines:
            if not machine.alive:
                found.append(f"machine {machine.name}")
                continue
            found += [f"{s} on {machine.name}" for s in machine.record["services"] if not machine.service_alive(s)]
        return found

    def heal(self) -> None:
        """Start what should run and does not; the machines must be there."""
        self.control_plane.start()
        self.control_plane.wait_ready()
        self.control_plane.start_controllers()
        for node in self._nodes.values():
            node.start()
        self.wait_nodes_ready(60)

    def stop(self) -> None:
        if not self.run.locked:
            self.run.lock()
        clean.destroy(self.run)


def start(
    name: str,
    nodes: int = 1,
    *,
    images: Images = (),
    labels: dict[str, str] | None = None,
    taints: list[dict] | None = None,
    feature_gates: dict[str, bool] | None = None,
    scheduler: Path | None = None,
    transient: bool = False,
    programs: dict[str, Path] | None = None,
    progress: Progress | None = None,
    run: Run | None = None,
) -> EmbeddedCluster:
    """A new cluster. A transient one lives no longer than the process that started it: the next start cleans it up."""
    if not 1 <= nodes <= MOST_NODES:
        raise RunError(f"nodes: must be 1 to {MOST_NODES}, got {nodes}; give another number")
    progress = progress or Progress()
    config = scheduler_config(scheduler) if scheduler else None
    programs = programs or toolchain.programs(GROUPS, progress)
    clean.reap(progress.say)
    owned = run is not None  # then its lock is the caller's affair
    run = run or Run(name)
    if not run.locked:
        run.lock(waiting=lambda: progress.say(f"gpu-sim: another process is working on run {name}; waiting for it"))
    if run.running:
        raise RunError(f"run {name}: is there already; stop it first (make down NAME={name})")
    options = {
        "labels": LABELS if labels is None else labels,
        "taints": taints or [],
        "feature_gates": feature_gates or {},
        "scheduler_config": config,
    }
    run.state = {}
    run.save(
        provider="embedded", status=runs.STARTING, transient=transient, cgroup=clean.group_name(name), options=options
    )
    cluster = EmbeddedCluster(run, programs, progress)
    try:
        cluster.start(nodes, images)
    except BaseException:
        with contextlib.suppress(Exception):
            cluster.save_logs()
        clean.destroy(run)
        raise
    if not (transient or owned):
        run.release()
    return cluster


def attach(run: Run, programs: dict[str, Path] | None = None, progress: Progress | None = None) -> EmbeddedCluster:
    """The cluster of a run that is up."""
    if not run.running:
        raise RunError(f"run {run.name}: is not up; start it with: {runs.up_command(run.name)}")
    progress = progress or Progress()
    return EmbeddedCluster(run, programs or toolchain.programs(GROUPS, progress), progress)
