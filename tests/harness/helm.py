# SPDX-License-Identifier: Apache-2.0
"""Helm for one cluster, through pyhelm3: always with that cluster's kubeconfig, never with the user's.

Called by cli and tests. A release that a killed helm left half-way is put right before it is used.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyhelm3
import yaml
from pyhelm3.command import Command

logging.getLogger("pyhelm3").setLevel(logging.CRITICAL)  # what it logs is in our errors

STUCK_NEW = ("pending-install", "uninstalling")
STUCK_CHANGE = ("pending-upgrade", "pending-rollback")


class HelmError(Exception):
    """Helm's own text, with the command as it can be pasted."""

    def __init__(self, shown: str, text: str, code: int):
        self.shown, self.text, self.code = shown, text, code
        super().__init__(f"helm failed with exit code {code}\n  $ {shown}\n" + _indent(text))


def _indent(text: str) -> str:
    return "\n".join(f"  | {line}" for line in text.strip().splitlines())


class Helm:
    def __init__(self, program: Path, kubeconfig: Path | None = None, kube: Any = None, always: Sequence[str] = ()):
        """`always` stands at the end of every install and upgrade: what the cluster itself makes necessary."""
        self.program, self.kubeconfig, self.kube, self.always = program, kubeconfig, kube, list(always)
        # What helm remembers of a cluster would go to ~/.kube, or without HOME to the current folder; here it goes
        # with the kubeconfig. The first word is env, since pyhelm3 gives programs its own environment.
        cache = [f"KUBECACHEDIR={kubeconfig.parent / 'helm-cache'}"] if kubeconfig else []
        self._words = [*cache, str(program)]
        self._command = Command(executable="env", kubeconfig=kubeconfig)

    def run(self, *words: object) -> str:
        """Any helm command; its standard output."""
        argv = [str(word) for word in words]
        try:
            return asyncio.run(self._command.run([*self._words, *argv])).decode()
        except pyhelm3.Error as error:
            text = (error.stdout + b"\n" + error.stderr).decode(errors="replace")
            raise HelmError(self.display(argv), text, error.returncode) from None

    @staticmethod
    def display(argv: list[str]) -> str:
        return shlex.join(["helm", *argv])

    # ---- releases ----
    def install(self, release: str, chart: Path | str = "charts/gpu-sim", **options) -> str:
        """As documented: helm install RELEASE CHART -f FILE. `values`: files; `set`: key → value; `namespace`."""
        return self.run(*self.install_argv(release, chart, **options), *self.always)

    def upgrade(self, release: str, chart: Path | str = "charts/gpu-sim", **options) -> str:
        return self.run("upgrade", *self.install_argv(release, chart, **options)[1:], *self.always)

    @staticmethod
    def install_argv(
        release: str,
        chart: Path | str = "charts/gpu-sim",
        *,
        values: list[Path | str] | tuple[Path | str, ...] = (),
        set: dict[str, object] | None = None,
        namespace: str | None = None,
        extra: list[str] | tuple[str, ...] = (),
    ) -> list[str]:
        argv = ["install", release, str(chart)]
        for file in values:
            argv += ["-f", str(file)]
        for key, value in (set or {}).items():
            argv += ["--set-json", f"{key}={json.dumps(value)}"]
        if namespace:
            argv += ["-n", namespace]
        return [*argv, *extra]

    def apply(self, release: str, chart: Path | str = "charts/gpu-sim", **options) -> str:
        """Install, or upgrade what is there, after healing what was left half-way."""
        state = self.heal(release, options.get("namespace"))
        return (self.upgrade if state else self.install)(release, chart, **options)

    def uninstall(self, release: str, namespace: str | None = None, wait: bool = True) -> str:
        words = ["uninstall", release, *(["-n", namespace] if namespace else []), *(["--wait"] if wait else [])]
        return self.run(*words)

    def test(self, release: str, namespace: str | None = None, timeout_s: int = 120) -> str:
        words = ["test", release, "--logs", "--timeout", f"{timeout_s}s", *(["-n", namespace] if namespace else [])]
        return self.run(*words)

    def template(self, release: str, chart: Path | str = "charts/gpu-sim", **options) -> list[dict]:
        text = self.run("template", *self.install_argv(release, chart, **options)[1:])
        return [document for document in yaml.safe_load_all(text) if document]

    # ---- state ----
    def releases(self) -> list[dict]:
        """Every release of every namespace, whatever its state."""
        return json.loads(self.run("list", "--all", "--all-namespaces", "-o", "json") or "[]")

    def status(self, release: str, namespace: str | None = None) -> str | None:
        """Helm's word for the release's state; None if there is no such release."""
        try:
            text = self.run("status", release, "-o", "json", *(["-n", namespace] if namespace else []))
        except HelmError as error:
            if "release: not found" in error.text:
                return None
            raise
        return json.loads(text)["info"]["status"]

    def values(self, release: str, namespace: str | None = None) -> dict:
        """What the release was given, over the chart's defaults."""
        words = ["get", "values", release, "--all", "-o", "json", *(["-n", namespace] if namespace else [])]
        return json.loads(self.run(*words))

    def heal(self, release: str, namespace: str | None = None) -> str | None:
        """Make a release that was abandoned half-way usable again; returns the state it is in afterwards."""
        state = self.status(release, namespace)
        where = ["-n", namespace] if namespace else []
        if state in STUCK_NEW:
            self.run("uninstall", release, "--wait", *where)
            return None
        if state in STUCK_CHANGE:
            history = json.loads(self.run("history", release, "-o", "json", *where))
            good = [entry["revision"] for entry in history if entry["status"] in ("deployed", "superseded")]
            if not good:
                self.run("uninstall", release, "--wait", *where)
                return None
            self.run("rollback", release, str(good[-1]), *where)
            return "deployed"
        if state == "failed" and not self._was_deployed(release, where):
            # A first install that failed: an upgrade would find no revision to start from.
            self.run("uninstall", release, "--wait", *where)
            return None
        return state

    def _was_deployed(self, release: str, where: list[str]) -> bool:
        history = json.loads(self.run("history", release, "-o", "json", *where))
        return any(entry["status"] in ("deployed", "superseded") for entry in history)
