# SPDX-License-Identifier: Apache-2.0
"""The files in values/: right, rendered by helm, headed by what they simulate, with nothing beside the point."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from generator import chart, check
from generator.profiles import all_profiles
from tests.generator.conftest import CHART, REPOSITORY

FILES = [file for file in sorted((REPOSITORY / "values").glob("*.yaml")) if not chart.is_generated(file)]
EACH = pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in FILES])
MODELS = {"a100": "a100-sxm4-40gb", "h100": "h100-80gb-hbm3", "t4": "tesla-t4"}

# everything.yaml keeps these at their defaults: another value would take other options away, or exclude them.
KEPT = {"gpuSim.enabled", "gpuSim.uuidFormat", "devicePlugin.enabled", "devicePlugin.healthChecks.enabled"}
KEPT |= {"namespace.create", "workload.create", "tests.enabled"}


def leaves(tree: dict, path: str = "") -> Iterator[tuple[str, object]]:
    """Every option; an empty map counts as one."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


@pytest.mark.unit
def test_they_are_here() -> None:
    assert {"branch", "a100-x4", "faults", "h100-x8", "h100-x16", "t4-x2", "everything"} <= {
        file.stem for file in FILES
    }


@pytest.mark.unit
@EACH
def test_each_passes_check(file: Path) -> None:
    assert [str(problem) for problem in check.check_file(str(file))] == []


@pytest.mark.unit
@EACH
def test_each_says_what_it_simulates(file: Path) -> None:
    first, second, *_ = file.read_text().splitlines()
    assert first == "# SPDX-License-Identifier: Apache-2.0"
    assert second.startswith("# ")
    assert len(second) > 40
    assert file.name in (REPOSITORY / "values" / "README.md").read_text()


@pytest.mark.unit
@EACH
def test_each_names_the_gpus_it_is_called_after(file: Path) -> None:
    values = yaml.safe_load(file.read_text())
    model, _, count = file.stem.partition("-x")
    if count:
        assert values == {"gpuSim": {"deviceCount": int(count), "profile": MODELS[model]}}
        (profile,) = [profile for profile in all_profiles() if profile.name == MODELS[model]]
        assert profile.product_name in file.read_text()
    else:
        assert file.stem in ("branch", "everything", "faults")


@pytest.mark.unit
def test_branch_yaml_is_the_documented_example() -> None:
    text = (REPOSITORY / "values" / "branch.yaml").read_text()
    assert yaml.safe_load(text) == {"gpuSim": {"deviceCount": 4, "profile": "a100-sxm4-40gb"}}
    assert "helm install gpu-sim charts/gpu-sim -f values/branch.yaml" in text


@pytest.mark.unit
def test_everything_yaml_sets_every_option_to_something_else() -> None:
    defaults = dict(leaves(chart.defaults()))
    everything = yaml.safe_load((REPOSITORY / "values" / "everything.yaml").read_text())
    given = dict(leaves(everything))
    # an option that is empty by default is a map to fill
    filled = {path for path in defaults if any(other.startswith(f"{path}.") for other in given)}
    assert sorted(set(defaults) - set(given) - filled) == [], "options that everything.yaml does not set"
    same = {path for path in defaults if given.get(path, defaults[path]) == defaults[path]} - filled
    same = {path for path in same if not path.startswith(("nodeSelector.", "tests.resources", "installer.resources"))}
    assert same == KEPT


@pytest.mark.helm
@EACH
def test_helm_renders_each(helm_template, file: Path) -> None:
    objects = helm_template("gpu-sim", file)
    (daemonset,) = [item for item in objects if item["kind"] == "DaemonSet"]
    spec = daemonset["spec"]["template"]["spec"]
    (installer,) = [each for each in spec["initContainers"] if each["name"] == "installer"]
    words = [*installer.get("command", []), *installer.get("args", [])]
    values = yaml.safe_load(file.read_text())["gpuSim"]
    assert words[words.index("--count") + 1] == str(values["deviceCount"])
    assert words[words.index("--profile") + 1] == values["profile"]


@pytest.mark.helm
def test_everything_yaml_renders_every_template(helm, helm_template) -> None:
    done = helm("template", "r", CHART, "-f", REPOSITORY / "values" / "everything.yaml", "--kube-version", "1.34.4")
    rendered = {
        line.removeprefix("# Source: gpu-sim/") for line in done.stdout.splitlines() if line.startswith("# Source: ")
    }
    templates = {str(file.relative_to(CHART)) for file in (CHART / "templates").rglob("*.yaml")}
    # validation.yaml renders to nothing unless it fails
    assert sorted(templates - rendered - {"templates/validation.yaml"}) == []
