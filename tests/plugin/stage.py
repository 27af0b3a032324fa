# SPDX-License-Identifier: Apache-2.0
"""A device plugin without a cluster: a driver root, a fake kubelet, and the plugin, in a mount namespace of their own.

Called by the tests here. The plugin's folders are constants of the real one (/var/lib/kubelet/device-plugins and
/var/run/cdi), so both are covered by file systems of the namespace; nothing of the machine's own is touched.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import threading
from pathlib import Path

from tests.harness import go_build, needs
from tests.harness.wait import wait_until

FOLDERS = (Path("/var/lib/kubelet"), Path("/var/run/cdi"))
DRIVER = "550.163.01"
SCRIPT = """
set -e
for folder in /var/lib/kubelet /var/run/cdi; do mount -t tmpfs gpu-sim "$folder"; done
mkdir /var/lib/kubelet/device-plugins
exec "$@"
"""


def driver_root(folder: Path, library: Path, gpus: int) -> Path:
    """Laid out as on a node: the library under its version, character devices, one tool."""
    lib, dev, bin_ = folder / "usr/lib64", folder / "dev", folder / "usr/bin"
    for path in (lib, dev, bin_):
        path.mkdir(parents=True)
    shutil.copy(library, lib / f"libnvidia-ml.so.{DRIVER}")
    (lib / "libnvidia-ml.so.1").symlink_to(f"libnvidia-ml.so.{DRIVER}")
    (bin_ / "nvidia-smi").write_text("#!/bin/sh\n")
    (bin_ / "nvidia-smi").chmod(0o755)
    for name in [*(f"nvidia{i}" for i in range(gpus)), "nvidiactl", "nvidia-uvm"]:
        os.mknod(dev / name, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    return folder


class Stage:
    """`with Stage(folder) as stage`: the kubelet listens; start the plugin with stage.plugin(…)."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.events: list[dict] = []
        self.log = folder / "plugin.log"
        self._plugin: subprocess.Popen | None = None
        self._made: list[Path] = []

    def __enter__(self) -> Stage:
        if os.geteuid() or not shutil.which("unshare") or not shutil.which("nsenter"):
            needs.skip("root", "the plugin's folders are constants, so it runs in a mount namespace")
        for path in FOLDERS:
            if not path.exists():
                path.mkdir(parents=True)
                self._made.append(path)
        argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh", go_build.fakekubelet()]
        self.kubelet = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()
        self.expect("listening")
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            self.kubelet.kill()
            self.kubelet.wait()
            for path in self._made:
                path.rmdir()

    def _read(self) -> None:
        for line in self.kubelet.stdout:
            self.events.append(json.loads(line))

    def inside(self, *words: object) -> list[object]:
        """The command that runs `words` in the namespace."""
        return ["nsenter", "--target", str(self.kubelet.pid), "--mount", *words]

    def plugin(self, program: Path, **environment: str) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("NVML_MOCK_", "GPU_SIM_"))}
        with self.log.open("a") as log:
            self._plugin = subprocess.Popen(
                self.inside(program), env=clean | environment, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder
            )

    def signal(self, number: signal.Signals) -> None:
        self._plugin.send_signal(number)

    def stop(self) -> int | None:
        """SIGTERM, and the plugin's exit code."""
        if self._plugin is None:
            return None
        if self._plugin.poll() is None:
            self._plugin.terminate()
        try:
            return self._plugin.wait(10)
        except subprocess.TimeoutExpired:
            self._plugin.kill()
            raise
        finally:
            self._plugin = None

    def ended(self, deadline_s: float = 10) -> int:
        """The exit code of a plugin that ends by itself."""
        process, self._plugin = self._plugin, None
        wait_until("the end of the plugin", lambda: process.poll() is not None, deadline_s, seen=self.said)
        return process.returncode

    def said(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def expect(self, event: str, after: int = 0, deadline_s: float = 15) -> dict:
        """The first such event from position `after` on."""
        return wait_until(
            f"event {event!r} of the kubelet",
            lambda: next((one for one in self.events[after:] if one["event"] == event), None),
            deadline_s,
            seen=lambda: f"{self.events[after:]}\n{self.said()[-3000:]}",
        )

    def ask(self, line: str, event: str) -> dict:
        """A command to the kubelet, and its answer; an error answers too."""
        after = len(self.events)
        self.kubelet.stdin.write(line + "\n")
        self.kubelet.stdin.flush()
        wait_until(
            f"the answer to {line!r}",
            lambda: [one for one in self.events[after:] if one["event"] in (event, "error")],
            35,
            seen=lambda: f"{self.events[after:]}\n{self.said()[-3000:]}",
        )
        return next(one for one in self.events[after:] if one["event"] in (event, "error"))

    def output(self, *words: str) -> str:
        """What a command prints in the namespace."""
        return subprocess.run(self.inside(*words), check=True, capture_output=True, text=True).stdout
