# SPDX-License-Identifier: Apache-2.0
"""A device plugin and a kubelet in one small program, for repairs: a real client of the library, real sockets, the
checkpoint. As NVIDIA's it dies of a lost GPU while it starts, holds all for healthy at first, takes all away when a
wait for an event fails or the GPU of one does not tell its UUID, never takes one back by itself, and looks anew on
SIGHUP.

Run as a script by plugin() below: FOLDER [--deaf SECONDS] [--stuck] [--mortal] [--early]; the last means that the
kubelet writes its checkpoint for another reason just before the plugin registers, and late after it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

IGNORED = {13, 31, 43, 45, 68, 109}


class Anew(Exception):
    """SIGHUP."""


def report(devices: list[str]) -> None:
    """What the kubelet does with a plugin's list: a new checkpoint renamed over the old one."""
    data = {"Data": {"PodDeviceEntries": None, "RegisteredDevices": {"nvidia.com/gpu": devices}}, "Checksum": 1}
    Path("checkpoint.new").write_text(json.dumps(data))
    Path("checkpoint.new").rename("kubelet_internal_checkpoint")
    with Path("history").open("a") as history:
        history.write(f"{len(devices)}\n")


def at(handle: object) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value


def serve(deaf: float, early: bool) -> None:
    import pynvml as nvml

    nvml.nvmlInit()
    handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
    healthy = {nvml.nvmlDeviceGetUUID(handle): handle for handle in handles}
    if early:
        report(sorted(healthy))
        time.sleep(0.1)
    with contextlib.suppress(FileNotFoundError):
        Path("nvidia-gpu.sock").unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("nvidia-gpu.sock")
        listening.listen(64)
        time.sleep(1 if early else 0)
        report(sorted(healthy))
        time.sleep(deaf)
        try:
            events = nvml.nvmlEventSetCreate()
        except nvml.NVMLError:  # as NVIDIA's, which then hears of nothing
            signal.pause()
        for handle in handles:
            nvml.nvmlDeviceRegisterEvents(handle, nvml.nvmlEventTypeXidCriticalError, events)
        Path("listening").touch()
        while True:
            try:
                event = nvml.nvmlEventSetWait_v2(events, 200)
            except nvml.NVMLError_Timeout:
                continue
            except nvml.NVMLError:  # as NVIDIA's, each time
                if healthy:
                    healthy = {}
                    report([])
                time.sleep(0.05)
                continue
            with Path("xids").open("a") as xids:
                xids.write(f"{event.eventData}\n")
            if event.eventData not in IGNORED:
                try:
                    nvml.nvmlDeviceGetUUID(event.device)
                except nvml.NVMLError:  # as NVIDIA's: it does not know which, so all
                    healthy = {}
                healthy = {uuid: h for uuid, h in healthy.items() if at(h) != at(event.device)}
                time.sleep(0.1)  # the kubelet's own reporting takes its time
                report(sorted(healthy))


def main(folder: str, *options: str) -> None:
    os.chdir(folder)

    def hang_up(*_: object) -> None:
        raise Anew

    signal.signal(signal.SIGHUP, signal.SIG_IGN if "--stuck" in options else hang_up)
    if "--mortal" in options:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    deaf = float(options[options.index("--deaf") + 1]) if "--deaf" in options else 0.0
    while True:
        with contextlib.suppress(Anew):
            serve(deaf, "--early" in options)


class Plugin:
    """A folder as the kubelet's, and a folder as /proc in which only this plugin is found."""

    def __init__(self, root: Path, folder: Path):
        self.root, self.folder = root, folder
        self.proc = folder / "proc"
        self.process: subprocess.Popen | None = None

    def start(self, *options: str) -> None:
        environment = {"LD_LIBRARY_PATH": str(self.root / "driver"), "PATH": os.environ["PATH"]}
        words = [sys.executable, __file__, str(self.folder), *options]
        listening = self.folder / "listening"
        listening.unlink(missing_ok=True)
        self.process = subprocess.Popen(words, env=environment)
        own = self.proc / str(self.process.pid)
        own.mkdir(parents=True)
        (own / "cmdline").write_bytes(b"/usr/bin/nvidia-device-plugin\0--pass-device-specs\0")
        wait_until("the plugin listens", listening.exists)

    def registered(self) -> int:
        history = self.folder / "history"
        return len(history.read_text().split()) if history.exists() else 0

    def history(self) -> list[int]:
        """How many GPUs the kubelet had after each report."""
        return [int(count) for count in (self.folder / "history").read_text().split()]

    def xids(self) -> list[int]:
        path = self.folder / "xids"
        return [int(xid) for xid in path.read_text().split()] if path.exists() else []

    def devices(self) -> list[str]:
        text = (self.folder / "kubelet_internal_checkpoint").read_text()
        return json.loads(text)["Data"]["RegisteredDevices"]["nvidia.com/gpu"]

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            for path in (self.proc / str(self.process.pid) / "cmdline", self.proc / str(self.process.pid)):
                path.unlink() if path.is_file() else path.rmdir()
        self.process = None

    def options(self, timeout: int = 20) -> list[str]:
        return [f"--plugin-dir={self.folder}", f"--proc={self.proc}", f"--timeout={timeout}"]


def wait_until(what: str, predicate, seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not predicate():
        assert time.monotonic() < deadline, f"waited {seconds} s for: {what}"
        time.sleep(0.02)


@contextlib.contextmanager
def plugin(root: Path) -> Iterator[Plugin]:
    """In a folder with a short name: a socket's address is."""
    with tempfile.TemporaryDirectory(prefix="gs") as folder:
        (Path(folder) / "proc").mkdir()
        running = Plugin(root, Path(folder))
        try:
            yield running
        finally:
            running.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
