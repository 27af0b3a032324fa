# SPDX-License-Identifier: Apache-2.0
"""The schema, its descriptions, and the program that writes what follows from elsewhere."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.chart.rendering import CHART, CHECKOUT

pytestmark = pytest.mark.unit

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
PROGRAM = CHECKOUT / "charts/tools/generate.py"


def load():
    spec = importlib.util.spec_from_file_location("generate", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate"] = module
    spec.loader.exec_module(module)
    return module


def run(program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, program, *options], capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """charts/ and what of it is generated from, to be spoilt."""
    for part in ("charts", "native/profiles", "native/tools"):
        shutil.copytree(CHECKOUT / part, tmp_path / part)
    for part in ("native/node/ctl_lists.h", "native/src/return_codes.h", "native/src/inventory.h", "pyproject.toml"):
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CHECKOUT / part, tmp_path / part)
    return tmp_path


def test_everything_is_fresh() -> None:
    done = run(PROGRAM)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("file", "old", "new", "stale"),
    [
        ("charts/gpu-sim/values.yaml", "GPUs on each selected node", "Devices", ["README.md", "values.schema.json"]),
        ("charts/gpu-sim/values.yaml", "deviceCount: 4", "deviceCount: 5", ["README.md"]),
        ("charts/gpu-sim/values.schema.json", '"maximum": 64', '"maximum": 65', ["README.md"]),
        ("native/profiles/tesla-t4.yaml", "15360", "15361", ["profiles.yaml"]),
        (
            "native/profiles/tesla-t4.yaml",
            "name: tesla-t4",
            "name: t4",
            ["README.md", "profiles.yaml", "values.schema.json"],
        ),
        ("native/profiles/tesla-t4.yaml", "max_mw: 70000", "max_mw: 71000", ["profiles.yaml"]),
        ("native/node/ctl_lists.h", '"hw-power-brake"', '"brake"', ["faults.yaml"]),
        ("native/node/ctl_lists.h", "temperature, 1, 0, 150", "temperature, 1, 0, 151", ["profiles.yaml"]),
        ("native/node/ctl_lists.h", '"nvlink-down"', '"link-down"', ["faults.yaml", "values.schema.json"]),
        ("native/src/inventory.h", "GS_XIDS 8u", "GS_XIDS 9u", ["faults.yaml"]),
        ("charts/gpu-sim/files/plugin-versions.yaml", '"0.18"', '"0.21"', ["README.md"]),
        ("charts/gpu-sim/README.md", "| `gpuSim.deviceCount` |", "| `gpuSim.count` |", ["README.md"]),
    ],
)
def test_what_is_out_of_date_is_shown_and_mended(copied: Path, file: str, old: str, new: str, stale: list[str]) -> None:
    text = (copied / file).read_text()
    assert old in text
    (copied / file).write_text(text.replace(old, new))
    program = copied / "charts/tools/generate.py"
    done = run(program)
    assert done.returncode == 1
    assert sorted({Path(line.split()[1]).name for line in done.stdout.splitlines() if line.startswith("--- ")}) == stale
    assert "run python charts/tools/generate.py --write" in done.stderr
    assert run(program, "--write").returncode == 0
    assert run(program).returncode == 0


def test_an_unknown_option_is_refused(copied: Path) -> None:
    done = run(copied / "charts/tools/generate.py", "--wirte")
    assert done.returncode == 2
    assert "got --wirte" in done.stderr


def test_the_schema_is_a_schema() -> None:
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.Draft7Validator(SCHEMA).validate(VALUES)


def test_every_map_is_closed_but_global() -> None:
    open_maps = [path for path, node in nodes(SCHEMA) if is_map(node) and node.get("additionalProperties") is not False]
    free_keys = {"nodeSelector", "podLabels", "podAnnotations"}
    assert {path for path in open_maps if path not in free_keys} == {"global"}
    for path, node in nodes(SCHEMA):
        if path in free_keys:
            assert "propertyNames" in node and isinstance(node["additionalProperties"], dict), path


def test_every_key_is_described_and_in_both_files() -> None:
    described = {path: node for path, node in nodes(SCHEMA) if "[]" not in path}
    documented = {".".join(key.path) for key in load().documented_keys((CHART / "values.yaml").read_text())}
    assert documented <= set(described)
    for path, node in described.items():
        assert node.get("description"), f"{path} has no description"
        if "resources." not in path and not path.startswith("seLinuxOptions."):
            assert path in documented, f"{path} is in the schema, and not in values.yaml with a comment"


def test_units_are_named() -> None:
    described = dict(nodes(SCHEMA))
    assert "MiB" in described["gpuSim.memoryMB"]["description"]
    assert "Seconds" in described["tolerations[].tolerationSeconds"]["description"]


def nodes(schema: dict) -> Iterator[tuple[str, dict]]:
    """Every key of the schema with its entry, references merged in."""

    def walk(node: dict, path: str) -> Iterator[tuple[str, dict]]:
        while "$ref" in node:
            target = schema["definitions"][node["$ref"].removeprefix("#/definitions/")]
            node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
        if path:
            yield path, node
        for key, child in node.get("properties", {}).items():
            yield from walk(child, f"{path}.{key}".removeprefix("."))
        if isinstance(node.get("items"), dict) and is_map(node["items"]):
            yield from walk(node["items"], f"{path}[]")

    yield from ((path, node) for path, node in walk(schema, "") if not path.endswith("[]"))


def is_map(node: dict) -> bool:
    types = node.get("type", [])
    return "object" in ([types] if isinstance(types, str) else types)
