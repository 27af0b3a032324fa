# SPDX-License-Identifier: Apache-2.0
"""The chart through the real helm, without a cluster: what it renders, or what it says when it refuses.

Called by every test here through the fixture `chart`. Objects are read with Helm's own ideas of YAML, under which an
unquoted `1e3` or `08` is a number and a key written twice is a mistake.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from generator import helm_yaml
from tests.harness import versions

CHECKOUT = Path(__file__).resolve().parents[2]
CHART = CHECKOUT / "charts/gpu-sim"
TRACES = ("nil pointer", "can't evaluate", "wrong type for value", "<no value>", "%!", "error calling")


class Rendered:
    """What one render put out."""

    def __init__(self, text: str):
        self.text = text
        self.objects = list(_documents(text))

    def of(self, kind: str) -> list[dict]:
        return [item for item in self.objects if item["kind"] == kind]

    def one(self, kind: str, name: str | None = None) -> dict:
        found = [item for item in self.of(kind) if name in (None, item["metadata"]["name"])]
        assert len(found) == 1, f"{len(found)} of {kind} {name or ''} in {[_title(item) for item in self.objects]}"
        return found[0]

    @property
    def pod(self) -> dict:
        """The template of the node pods."""
        return self.one("DaemonSet")["spec"]["template"]

    def container(self, name: str) -> dict:
        spec = self.pod["spec"]
        (found,) = [item for item in [*spec["initContainers"], *spec["containers"]] if item["name"] == name]
        return found

    def arguments(self, name: str) -> dict[str, str]:
        """The options of a container of the node pods."""
        return options_of([word for word in self.container(name)["args"][1:] if not word.startswith("--fault=")])

    def faults(self) -> list[str]:
        """The agent's one option that may stand more than once."""
        return [word[8:] for word in self.container("agent")["args"] if word.startswith("--fault=")]

    def environment(self, name: str) -> dict[str, str]:
        return {item["name"]: item["value"] for item in self.container(name)["env"] if "value" in item}

    def test_pod(self, name: str) -> dict:
        (found,) = [item for item in self.of("Pod") if item["metadata"]["name"].endswith(name)]
        return found


def options_of(words: list[str]) -> dict[str, str]:
    """`--name value`, `--name=value` and switches, as the node program takes them."""
    options: dict[str, str] = {}
    waiting = iter(words)
    for word in waiting:
        name, equals, value = word.partition("=")
        assert name.startswith("--"), f"{word} is no option, in {words}"
        assert name not in options, f"{name} is given twice, in {words}"
        options[name] = value if equals else ("" if name == "--allow-foreign" else next(waiting))
    return options


def _title(item: dict) -> str:
    return f"{item['kind']}/{item['metadata']['name']}"


def _documents(text: str) -> Iterable[dict]:
    for part in text.split("\n---\n"):
        value, problems = helm_yaml.read(part.removeprefix("---\n"), "rendered")
        assert not problems, f"{[str(problem) for problem in problems]} in:\n{part}"
        if value is not None:
            yield value


@dataclass(frozen=True)
class Charts:
    helm: Path

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        command = [str(self.helm), *(str(word) for word in words)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def template(
        self,
        *files: Path,
        chart: Path = CHART,
        release: str = "gpu-sim",
        namespace: str = "default",
        kubernetes: str = versions.version("kubernetes"),
        options: Iterable[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        values = [word for file in files for word in ("-f", file)]
        return self.run("template", release, chart, "-n", namespace, "--kube-version", kubernetes, *values, *options)

    def render(self, *files: Path, **how: object) -> Rendered:
        done = self.template(*files, **how)
        assert done.returncode == 0, f"helm refused {[file.name for file in files]}, {how}:\n{done.stderr}"
        return Rendered(done.stdout)

    def refuse(self, *files: Path, **how: object) -> str:
        """What helm says of values that must not render: a message, not a trace."""
        error = self.refuse_in_helms_words(*files, **how)
        assert not [trace for trace in TRACES if trace in error], f"a trace is no message:\n{error}"
        return error

    def refuse_in_helms_words(self, *files: Path, **how: object) -> str:
        """The same where helm refuses before the chart is asked."""
        done = self.template(*files, **how)
        assert done.returncode != 0, f"helm rendered {[file.name for file in files]}, {how}"
        return done.stderr


def sets(text: str) -> list[str]:
    """`--set …` as a message or a case names it, as words."""
    return shlex.split(text)
