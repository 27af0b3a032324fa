# SPDX-License-Identifier: Apache-2.0
"""A cluster in Docker, by kind: one control plane and N workers that get the GPUs.

Called by up and test fixtures. Thin: kind does the work, this writes its configuration and names its commands. The
kubeconfig goes into the run's folder, never into the user's.
"""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.harness import command, runs
from tests.harness.cluster import Cluster, Unsupported
from tests.harness.progress import Progress
from tests.harness.runs import Run, RunError

SCHEDULER = "/etc/gpu-sim/scheduler.yaml"
# Images of kind up to 0.26 have containerd 1.7, where CDI is off unless this says otherwise; later ones ignore it.
ENABLE_CDI = '[plugins."io.containerd.grpc.v1.cri"]\n  enable_cdi = true\n'


def config(nodes: int, labels: dict[str, str], gates: dict[str, bool], scheduler: Path | None) -> dict:
    control_plane: dict = {"role": "control-plane"}
    if scheduler:
        control_plane["extraMounts"] = [{"hostPath": str(scheduler), "containerPath": SCHEDULER, "readOnly": True}]
        volume = {
            "name": "gpu-sim",
            "hostPath": SCHEDULER,
            "mountPath": SCHEDULER,
            "readOnly": True,
            "pathType": "File",
        }
        patch = {
            "kind": "ClusterConfiguration",
            "scheduler": {"extraArgs": {"config": SCHEDULER}, "extraVolumes": [volume]},
        }
        control_plane["kubeadmConfigPatches"] = [json.dumps(patch)]
    return {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "containerdConfigPatches": [ENABLE_CDI],
        "featureGates": gates,
        "nodes": [control_plane, *({"role": "worker", "labels": dict(labels)} for _ in range(nodes))],
    }


def scheduler_file(given: Path, folder: Path) -> Path:
    """The user's KubeSchedulerConfiguration with the kubeconfig that kubeadm writes."""
    loaded = yaml.safe_load(given.read_text())
    if not isinstance(loaded, dict) or loaded.get("kind") != "KubeSchedulerConfiguration":
        kind = loaded.get("kind") if isinstance(loaded, dict) else type(loaded).__name__
        raise RunError(f"{given}:kind: must be KubeSchedulerConfiguration, got {kind!r}; give the scheduler's own file")
    loaded.setdefault("clientConnection", {})["kubeconfig"] = "/etc/kubernetes/scheduler.conf"
    target = folder / "scheduler.yaml"
    target.write_text(json.dumps(loaded))
    return target


class KindNode:
    """A node container. Its files are not on this machine's paths."""

    def __init__(self, name: str):
        self.name = name

    def run(self, argv: list[str], **options) -> command.Result:
        return command.run(["docker", "exec", self.name, *argv], **options)

    def host_path(self, path: str) -> Path:
        raise Unsupported(f"node {self.name}: {path} is inside a container; use run([...])")

    def stop_kubelet(self) -> None:
        self.run(["systemctl", "stop", "kubelet"])

    def start_kubelet(self) -> None:
        self.run(["systemctl", "start", "kubelet"])

    def restart_kubelet(self) -> None:
        self.run(["systemctl", "restart", "kubelet"])

    def restart_containerd(self) -> None:
        self.run(["systemctl", "restart", "containerd"])

    def logs(self, service: str, lines: int | None = None) -> str:
        return self.run(["journalctl", "--no-pager", "-u", service, *(["-n", str(lines)] if lines else [])]).out


class KindCluster(Cluster):
    provider = "kind"

    def __init__(self, run: Run, programs: dict[str, Path], progress: Progress | None = None):
        super().__init__(run.name, run.kubeconfig, programs)
        self.run, self.progress = run, progress or Progress()

    @property
    def kind_name(self) -> str:
        return f"gpu-sim-{self.name}"

    def _kind(self, *words: object) -> command.Result:
        return command.run([self.programs.get("kind", "kind"), *words, "--name", self.kind_name])

    def start(self, nodes: int, options: dict, scheduler: Path | None, images: list[Path]) -> None:
        file = self.run.folder / "kind.yaml"
        scheduler = scheduler_file(scheduler, self.run.folder) if scheduler else None
        file.write_text(yaml.safe_dump(config(nodes, options["labels"], options["feature_gates"], scheduler)))
        with self.progress.step("kind cluster"):
            self._kind("create", "cluster", "--kubeconfig", self.kubeconfig, "--config", file, "--wait", "90s")
        with self.progress.step("images"):
            for archive in images:
                self.load_image(archive)
        self.run.save(status=runs.RUNNING)

    @property
    def nodes(self) -> list[str]:
        return sorted(n["metadata"]["name"] for n in self.kube.list("v1", "Node", labelSelector="gpu-sim=true"))

    def node(self, name: str) -> KindNode:
        if name not in self.nodes:
            raise RunError(f"node: must be one of {', '.join(self.nodes)}, got {name!r}; see `make status`")
        return KindNode(name)

    def load_image(self, archive: Path) -> None:
        self._kind("load", "image-archive", archive)

    def stop(self) -> None:
        if not self.run.locked:
            self.run.lock()
        self._kind("delete", "cluster", "--kubeconfig", self.kubeconfig)
        self.run.remove()


def start(
    run: Run, nodes: int, options: dict, scheduler: Path | None, images: list[Path], programs: dict, progress: Progress
) -> KindCluster:
    """`run` is locked by the caller. A cluster that does not come up is deleted again."""
    run.state = {}
    run.save(provider="kind", status=runs.STARTING, options=options)
    cluster = KindCluster(run, programs, progress)
    try:
        cluster.start(nodes, options, scheduler, images)
    except BaseException:
        cluster.stop()
        raise
    return cluster
