# SPDX-License-Identifier: Apache-2.0
"""A machine of the embedded cluster: namespaces held by one process, and programs running in them.

Called by controlplane and node. The holder is the first process of a pid namespace: ending it ends everything in the
machine, and its network, mounts and interfaces go with it. It starts only after its id is in the run's record.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import threading
from pathlib import Path

from tests.harness import command
from tests.harness.embedded import process
from tests.harness.embedded.process import Process
from tests.harness.runs import Run
from tests.harness.wait import wait_until

UNSHARE = ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
# Ignoring SIGCHLD makes the kernel reap the orphans for which this process is the parent of last resort; without that a
# pod whose containers share a process namespace never ends when its shim has died. Debian's sh cannot ignore it.
HOLD = (
    'echo up; read -r go || exit 1; echo "$1" >/proc/sys/kernel/hostname; '
    "exec env --ignore-signal=CHLD sleep infinity </dev/null >/dev/null 2>&1"
)
MARK = "GPU_SIM_RUN"  # in the environment of every process of a run, for the leak check
PATH = "/run/gpu-sim/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

FILES = Path(__file__).with_name("machine_files.sh")


class Machine:
    """One machine of a run; its record is `run.state["machines"][name]`."""

    saving = threading.Lock()  # machines start in parallel and share one state file

    def __init__(self, run: Run, name: str):
        self.run, self.name = run, name
        self.folder = run.folder / "machines" / name
        self.log_folder = run.folder / "log"

    @property
    def record(self) -> dict:
        return self.run.state.setdefault("machines", {}).setdefault(self.name, {"services": {}})

    def _save(self, **changes) -> None:
        with self.saving:
            self.record.update(changes)
            self.run.save()

    # ---- life ----
    def create(self, cni: str, programs: dict[str, Path]) -> None:
        """Make the namespaces and the file tree. Safe to be killed at any point."""
        (self.folder / "etc").mkdir(parents=True, exist_ok=True)
        (self.folder / "fs").mkdir(exist_ok=True)
        self.log_folder.mkdir(exist_ok=True)
        with (self.log_folder / f"{self.name}-machine").open("ab") as log:
            holder = subprocess.Popen(
                [*UNSHARE, "sh", "-c", HOLD, "gpu-sim-machine", self.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={"PATH": PATH, MARK: self.run.name},
                start_new_session=True,
            )
        try:
            self._save(holder=[holder.pid, process.of(holder.pid).started])
            if holder.stdout.readline() != b"up\n":
                raise command.CommandError(
                    shlex.join(UNSHARE), "namespaces cannot be made", self.log("machine"), holder.wait()
                )
            inner = process.of(process.children(holder.pid)[0])
            self._save(inner=[inner.pid, inner.started])
            self._remember_namespace(inner.pid)
            holder.stdin.write(b"go\n")
        finally:
            with contextlib.suppress(BrokenPipeError):
                holder.stdin.close()
            holder.stdout.close()
        pairs = [f"{name}={path}" for name, path in programs.items()]
        enter = ["nsenter", "-t", self.pid, "-m", "-p", "--", "sh", FILES]
        command.run([*enter, self.folder / "fs", self.folder / "etc", cni, *pairs])

    def _remember_namespace(self, pid: int) -> None:
        with self.saving:
            self.run.state.setdefault("namespaces", []).append(str(Path(f"/proc/{pid}/ns/pid").readlink()))
            self.run.save()

    def destroy(self) -> None:
        """End everything in the machine."""
        holder = self.record.get("holder")
        if holder:
            process.end(Process(*holder))

    @property
    def pid(self) -> int:
        """The first process in the machine, by its id on the host."""
        inner = self.record.get("inner")
        if not inner or not process.alive(Process(*inner)):
            raise ProcessLookupError(f"machine {self.name} of run {self.run.name} is not running")
        return inner[0]

    @property
    def alive(self) -> bool:
        with contextlib.suppress(ProcessLookupError):
            return bool(self.pid)
        return False

    # ---- inside ----
    def enter(self, argv: list[str], namespaces: str = "mnuip") -> list[str]:
        """The command line that runs `argv` in the machine."""
        flags = [f"-{letter}" for letter in namespaces]
        return ["nsenter", "-t", str(self.pid), *flags, "--", *(str(word) for word in argv)]

    def run_in(self, argv: list[str], **options) -> command.Result:
        extra = {"PATH": PATH, **options.pop("extra", {})}
        return command.run(self.enter(["env", "-C", "/", *argv]), extra=extra, **options)

    def path(self, inside: str) -> Path:
        """A path of the machine as a path of this host. Links are followed as the machine would."""
        root, parts = Path(f"/proc/{self.pid}/root"), [p for p in inside.split("/") if p]
        done: list[str] = []
        for _ in range(200):
            if not parts:
                return root.joinpath(*done)
            part = parts.pop(0)
            if part == "..":
                done = done[:-1]
            elif part != ".":
                here = root.joinpath(*done, part)
                if here.is_symlink():
                    target = str(here.readlink())
                    done = [] if target.startswith("/") else done
                    parts = [p for p in target.split("/") if p] + parts
                else:
                    done.append(part)
        raise OSError(f"{inside}: too many symbolic links in machine {self.name}")

    # ---- services ----
    def start(self, service: str, argv: list[str], env: dict[str, str] | None = None) -> None:
        """Start a program that stays. Its output goes to the run's log folder."""
        if self.service_alive(service):
            return
        log = os.open(self.log_folder / f"{self.name}-{service}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            # By descriptor, since the machine does not see the host's /run.
            started = subprocess.run(
                self.enter(["env", "-C", "/", "sh", "-c", 'setsid "$@" </dev/null >&2 & echo $!', "sh", *argv]),
                stdout=subprocess.PIPE,
                stderr=log,
                env={"PATH": PATH, MARK: self.run.name, "HOME": "/root", **(env or {})},
                check=True,
            )
        finally:
            os.close(log)
        inside = int(started.stdout)
        found = wait_until(f"{service} in {self.name}", lambda: self._by_inner_pid(inside), 5)
        self._save(services={**self.record["services"], service: [found.pid, found.started]})

    def _by_inner_pid(self, inside: int) -> Process | None:
        for pid in process.children(self.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if process.inner_pid(pid) == inside:
                    return process.of(pid)
        return None

    def service(self, name: str) -> Process | None:
        recorded = self.record["services"].get(name)
        return Process(*recorded) if recorded else None

    def service_alive(self, name: str) -> bool:
        recorded = self.service(name)
        return recorded is not None and process.alive(recorded)

    def stop(self, service: str, how: int = signal.SIGTERM, deadline_s: float = 20.0) -> None:
        recorded = self.service(service)
        if recorded:
            process.end(recorded, how, deadline_s)

    def log(self, service: str, lines: int | None = None) -> str:
        path = self.log_folder / f"{self.name}-{service}"
        text = path.read_text(errors="replace") if path.exists() else ""
        return text if lines is None else "\n".join(text.splitlines()[-lines:])
