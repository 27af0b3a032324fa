# SPDX-License-Identifier: Apache-2.0
"""GPUs that break and are repaired, on one node: `gpu-sim ctl` from outside, and what the API shows of it.

Called by test_health.py and test_faults.py, through the fixture `patient`.
"""

from __future__ import annotations

import json
import time

from tests.e2e.stage import Stage
from tests.harness import control
from tests.harness.kube import KubeError
from tests.harness.wait import wait_until

# The kubelet of the embedded cluster reports each second; others may take their 10 s.
REPORT_S = 1
SEEN_S = REPORT_S + 2


class Patient:
    def __init__(self, stage: Stage, node: str, count: int):
        self.stage, self.node, self.count = stage, node, count
        self.uuids = [gpu.uuid for gpu in stage.host(node).inventory()]
        self.earlier = stage.plugin_log(node)

    def ctl(self, *words: object, stdin: str | None = None) -> str:
        return control.ctl(self.stage.cluster, self.node, [str(word) for word in words], stdin)

    def told(self, *words: object) -> str:
        """All that a command of ctl says, its notes too."""
        meta = self.stage.node_pod(self.node)["metadata"]
        argv = ["/gpu-sim", "ctl", *map(str, words)]
        code, text = self.stage.kube.exec(meta["namespace"], meta["name"], argv, "agent")
        assert code == 0, text
        return text

    def status(self) -> list[dict]:
        return json.loads(self.ctl("status", "--json"))["gpus"]

    def shown(self) -> tuple[int, int]:
        """(allocatable, capacity)"""
        capacity, allocatable = self.stage.gpus(self.node)
        return allocatable, capacity

    def wait_shown(self, allocatable: int, deadline_s: float = SEEN_S) -> float:
        """That many allocatable, and capacity as ever; how long it took."""
        started = time.monotonic()
        what = f"{allocatable} of {self.count} GPUs to be allocatable on {self.node}"
        wait_until(what, lambda: self.shown() == (allocatable, self.count), deadline_s, seen=self.shown)
        return time.monotonic() - started

    def stays(self, allocatable: int) -> None:
        """For longer than any report takes."""
        until = time.monotonic() + SEEN_S
        wait_until("the time to pass", lambda: self._still(allocatable) and time.monotonic() > until, SEEN_S + 10)

    def _still(self, allocatable: int) -> bool:
        assert self.shown() == (allocatable, self.count)
        return True

    def log(self) -> str:
        """What the plugin has said since this began; all of it where it is another pod by now."""
        return self.stage.plugin_log(self.node).removeprefix(self.earlier)

    def wait_log(self, text: str, times: int = 1, deadline_s: float = 15) -> None:
        retry = (OSError, KubeError, TypeError)  # there may be no such pod, container or log yet
        what, said = f"the plugin to say {text!r}", lambda: self.log().count(text) >= times
        wait_until(what, said, deadline_s, retry=retry)

    def listening(self) -> None:
        """The plugin's health check has begun, after its last start too: what happened before is not seen by it."""

        def begun() -> bool:
            text = self.stage.plugin_log(self.node)
            return 0 < text.count("Registered device plugin") == text.count("Ignoring the following XIDs")

        wait_until("the plugin to listen", begun, 20, seen=self.log)

    def repaired(self) -> None:
        self.ctl("clear", "--gpu", "all")
        self.wait_shown(self.count, 20)

    def held_by(self, namespace: str, pod: str) -> list[int]:
        """Indices of the GPUs that the kubelet gave to the pod."""
        return sorted(self.uuids.index(uuid) for uuid in self.stage.allocated(self.node, namespace, pod))
