# SPDX-License-Identifier: Apache-2.0
"""`make up` and `make cluster`: from whatever there is to nodes with the asked GPUs, each step printed with its time.

Called by cli. Run again it reconciles: nodes, images and release become what was asked, what is right already stays.
"""

from __future__ import annotations

import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tests.harness import current, demo, images, kind, plugin_image, preflight, providers, report, rollout, runs
from tests.harness.cluster import Cluster
from tests.harness.embedded import provider as embedded
from tests.harness.helm import Helm
from tests.harness.progress import Progress
from tests.harness.release import Release, dedicate, wanted
from tests.harness.runs import Run, RunError

OURS = ("gpu-sim", "gpu-sim-agent", "pause")


@dataclass
class Options:
    name: str
    provider: str | None = None
    nodes: int | None = None
    node_names: list[str] = field(default_factory=list)
    branch: str | None = None
    values: Path | None = None
    dedicated: bool = False
    feature_gates: dict[str, bool] = field(default_factory=dict)
    scheduler: Path | None = None
    deadline_s: float = 120


def archives(provider: str, progress: Progress) -> list[Path]:
    """Up-to-date archives of everything that the nodes need, the device plugin included where it is loaded."""
    choice = plugin_image.choose(provider)
    with progress.step("images"):
        found = [images.archive(name) for name in OURS]
    if provider == "embedded" or choice.archive:
        found.append(plugin_image.archive(choice, progress))
    return found


class Up:
    def __init__(self, options: Options, progress: Progress):
        self.options, self.progress = options, progress
        self.run = Run(options.name)

    # ---- the cluster ----
    def cluster(self) -> Cluster:
        """The cluster as asked, started or changed."""
        options, progress = self.options, self.progress
        self.run.lock(waiting=lambda: progress.say(f"gpu-sim: another process is working on {options.name}; waiting"))
        providers.reap(progress, but=self.run)
        if self.run.state and not self.run.running:
            progress.say(f"gpu-sim: run {options.name} was left unfinished; starting anew")
            providers.destroy(self.run, progress)
            self.run.lock()
        try:
            return self._reconcile() if self.run.running else self._start()
        except BaseException:
            if self.run.locked and not self.run.state:  # refused before anything was made
                self.run.remove()
            raise

    def _start(self) -> Cluster:
        options, progress = self.options, self.progress
        name, why = providers.choose(options.provider)
        progress.say(f"gpu-sim: provider {name}: {why}")
        if name == "embedded":
            preflight.require(state=runs.base(), say=progress.say)
        programs = providers.programs(name, progress)
        self._release_early(Helm(programs["helm"]))
        nodes = options.nodes or 1
        settings = {"labels": embedded.LABELS, "feature_gates": options.feature_gates}
        if name == "current":
            cluster: Cluster = current.start(self.run, options.node_names, programs)
        elif name == "kind":
            made = archives(name, progress)
            cluster = kind.start(self.run, nodes, settings, options.scheduler, made, programs, progress)
        else:
            with ThreadPoolExecutor(max_workers=1) as pool:  # images are made while the control plane starts
                cluster = embedded.start(
                    options.name, nodes, images=pool.submit(archives, name, progress), programs=programs,
                    feature_gates=options.feature_gates, scheduler=options.scheduler, progress=progress, run=self.run,
                )  # fmt: skip
        self._note_images(cluster)
        return cluster

    @cached_property
    def asked(self) -> Release:
        """What to install. Made once: for a branch it runs the generator."""
        asked = wanted(self.options.branch, self.options.values, self.options.dedicated)
        if asked.made:
            self.progress.say(asked.made)
        return asked

    def _release_early(self, helm: Helm) -> None:
        """Wrong values or branch names must cost neither a start nor a cluster that is up."""
        asked = self.asked
        if self.options.branch or self.options.values:
            helm.run("template", *asked.argv[1:])

    def _reconcile(self) -> Cluster:
        options, progress = self.options, self.progress
        cluster = providers.attach(self.run, progress)
        if options.provider and options.provider != cluster.provider:
            raise RunError(
                f"PROVIDER: run {options.name} is {cluster.provider}, got {options.provider!r}; make down first"
            )
        progress.say(f"gpu-sim: {cluster.provider} cluster {options.name} is up")
        self._release_early(cluster.helm)
        if isinstance(cluster, embedded.EmbeddedCluster):
            changed = self._changed(cluster)
            if changed:
                progress.say(f"gpu-sim: {changed}; starting anew")
                cluster.stop()
                self.run = Run(options.name)
                self.run.lock()
                return self._start()
            made = archives(cluster.provider, progress)
            self._heal(cluster)
            self._resize(cluster, made)
            self._reload(cluster, made)
        return cluster

    def _changed(self, cluster: embedded.EmbeddedCluster) -> str:
        """Why the cluster cannot be kept; empty if it can."""
        asked, have = self.options, self.run.state["options"]
        lost = [what for what in cluster.broken if what.startswith("machine ")]
        if lost:
            return f"{', '.join(lost)} ended"
        if asked.feature_gates and asked.feature_gates != have["feature_gates"]:
            return "other FEATURE_GATES are asked for"
        if asked.scheduler and embedded.scheduler_config(asked.scheduler) != have["scheduler_config"]:
            return "another SCHEDULER_CONFIG is asked for"
        return ""

    def _heal(self, cluster: embedded.EmbeddedCluster) -> None:
        if cluster.broken:
            with self.progress.step(f"restart: {', '.join(cluster.broken)}"):
                cluster.heal()

    def _resize(self, cluster: embedded.EmbeddedCluster, made: list[Path]) -> None:
        asked = self.options.nodes
        while asked and len(cluster.nodes) > asked:
            with self.progress.step(f"remove node {cluster.nodes[-1]}"):
                cluster.remove_node(cluster.nodes[-1])
        while asked and len(cluster.nodes) < asked:
            with self.progress.step("one node more"):
                cluster.add_node(made)

    def _reload(self, cluster: Cluster, made: list[Path]) -> None:
        """Load what differs from what was loaded; pods of ours with another image behind the same name start anew."""
        before = self.run.state.get("images", {})
        fresh = [archive for archive in made if before.get(archive.name) != _digest(archive)]
        if fresh:
            with self.progress.step(f"load {', '.join(archive.name for archive in fresh)}"):
                for archive in fresh:
                    cluster.load_image(archive)
                for pod in cluster.kube.pods(None, "app.kubernetes.io/name=gpu-sim,app.kubernetes.io/component=node"):
                    cluster.kube.delete("v1", "Pod", pod["metadata"]["name"], pod["metadata"]["namespace"])
            self._note_images(cluster, made)

    def _note_images(self, cluster: Cluster, made: list[Path] | None = None) -> None:
        if cluster.provider == "embedded":
            made = made if made is not None else cluster.loaded
            self.run.save(images={archive.name: _digest(archive) for archive in made})

    # ---- the release ----
    def release(self, cluster: Cluster) -> None:
        options, progress, asked = self.options, self.progress, self.asked
        self._make_room(cluster, asked)
        if asked.dedicated:
            dedicate(cluster, asked)
        state = cluster.helm.heal(asked.name)
        argv = ["upgrade" if state else "install", *asked.argv[1:], *cluster.helm.always]
        progress.say(f"  $ {cluster.helm.display(argv)}")
        with progress.step("helm " + argv[0]):
            cluster.helm.run(*argv)
        self.run.save(release={"name": asked.name, "dedicated": asked.dedicated})
        goal = rollout.Goal.of(asked.name, cluster.helm.values(asked.name))
        if not goal.enabled:
            progress.say("gpu-sim: gpuSim.enabled is false: no GPUs are simulated")
            return
        title = f"{goal.count} GPUs usable" if goal.count else "simulated driver ready"
        with progress.step(title):
            rollout.wait_usable(cluster.kube, goal, options.deadline_s)
        if goal.count:
            with progress.step("a pod with one GPU"):
                item = rollout.daemonset(cluster.kube, asked.name)
                said = demo.run(cluster.kube, asked.name, item, hold=cluster.provider != "current")
            progress.say("\n".join(f"  | {line}" for line in said.splitlines()))

    def _make_room(self, cluster: Cluster, asked: Release) -> None:
        """A node has one owner: the release of an earlier `make up` leaves, unless nodes are dedicated."""
        before = self.run.state.get("release")
        if not before or before["name"] == asked.name or before["dedicated"] or asked.dedicated:
            return
        if cluster.helm.status(before["name"]):
            with self.progress.step(f"helm uninstall {before['name']}"):
                demo.remove(cluster.kube, before["name"])
                cluster.helm.uninstall(before["name"])

    def finish(self, cluster: Cluster) -> None:
        self.run.release()
        print(report.head(cluster) + "\n\n" + report.whole(cluster), file=sys.stdout)


def _digest(archive: Path) -> str:
    return hashlib.sha256(archive.read_bytes()).hexdigest()
