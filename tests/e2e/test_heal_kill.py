# SPDX-License-Identifier: Apache-2.0
"""Plugin, agent, containerd and kubelet are killed at random moments, five times each; the node heals every time."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e import accidents
from tests.e2e.healed import healed
from tests.e2e.scenes import gpu_pod

pytestmark = pytest.mark.cluster

ROUNDS = int(os.environ.get("GPU_SIM_HEAL_ROUNDS", "5"))
MOMENTS_S = (0.0, 2.0)  # an upgrade is through in about that time


class Life:
    """One node with four GPUs and a pod that holds one of them through everything that happens."""

    def __init__(self, stage, node, space, plan):
        self.stage, self.node, self.space, self.plan = stage, node, space, plan
        self.values = {"gpuSim": {"deviceCount": 4, "memoryMB": 20001}}
        self.release = stage.simulate(node, **self.values)
        self.uuids = [gpu.uuid for gpu in stage.host(node).inventory()]
        self.holder = f"holder-on-{node}"
        space.create(gpu_pod(self.holder, 1, node))
        space.wait_phase(self.holder, "Running")
        self.held = stage.allocated(node, space.name, self.holder)

    def run(self) -> None:
        for number, (victim, busy, moment) in enumerate(self.plan):
            what = f"{self.node}, round {number}: {victim} killed {moment:.2f} s into {busy}"
            print(f"{time.strftime('%H:%M:%S')} {what}")
            if busy == "allocation":
                with accidents.allocating(self.space, self.node):
                    self.strike(victim, moment)
            else:
                self.values["gpuSim"]["memoryMB"] += 1
                self.stage.install(self.release, self.node, self.values)
                self.strike(victim, moment)
            try:
                healed(self.stage, self.node, self.values, self.space, self.uuids)
            except AssertionError as error:
                raise AssertionError(f"{what}: {error}") from error
            assert self.space.phase(self.holder) == "Running", what
            assert self.stage.allocated(self.node, self.space.name, self.holder) == self.held, what

    def strike(self, victim: str, moment: float) -> None:
        accidents.wait_for_moment(moment)
        accidents.kill(self.stage, self.node, victim)


def test_whatever_is_killed_the_node_heals(stage, node_a, node_b, namespace):
    """Each node has its own victims; both live at the same time, since most of a round is waiting."""
    dice = accidents.seeded()
    lives = []
    for node, victims in ((node_a, ("device-plugin", "kubelet")), (node_b, ("agent", "containerd"))):
        plan = [
            (victim, ("allocation", "upgrade")[number % 2], dice.uniform(*MOMENTS_S))
            for victim in victims
            for number in range(ROUNDS)
        ]
        dice.shuffle(plan)
        lives.append(Life(stage, node, namespace, plan))
    try:
        with ThreadPoolExecutor(max_workers=2) as pool:
            for done in [pool.submit(life.run) for life in lives]:
                done.result()
    finally:
        for life in lives:
            stage.standing[life.node] = (life.release, dict(life.values))
