# SPDX-License-Identifier: Apache-2.0
"""What of the chart is written by a program, so that each fact stands once.

`python charts/tools/generate.py` shows what is out of date and exits 1; `--write` writes it. Called by `make check`.
The comments of values.yaml become the descriptions of values.schema.json; both become the tables of README.md;
native/profiles becomes files/profiles.yaml and the schema's list of profiles; the lists of what a fault can be made of
become files/faults.yaml and the schema's list of commands.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
CHART = CHECKOUT / "charts/gpu-sim"
sys.path.insert(0, str(CHECKOUT / "native/tools"))
import fault_lists  # noqa: E402
import generated  # noqa: E402
import profiles as native_profiles  # noqa: E402

PROGRAM = "charts/tools/generate.py"
COMMAND = f"python {PROGRAM} --write"
WIDTH = 120


@dataclass(frozen=True)
class Key:
    path: tuple[str, ...]
    comment: str


def documented_keys(text: str) -> list[Key]:
    """Keys of a values file that have a comment right above them, in order."""
    keys: list[Key] = []
    parents: list[tuple[int, str]] = []
    comment: list[str] = []
    for line in text.splitlines():
        if match := re.match(r"( *)# ?(.*)$", line):
            comment.append(match[2])
            continue
        if match := re.match(r"( *)([A-Za-z][\w./-]*):", line):
            indent = len(match[1])
            parents = [parent for parent in parents if parent[0] < indent] + [(indent, match[2])]
            if comment:
                keys.append(Key(tuple(name for _, name in parents), " ".join(comment)))
        comment = []
    return keys


def load_profiles() -> list[dict]:
    return [yaml.safe_load(file.read_text()) for file in sorted((CHECKOUT / "native/profiles").glob("*.yaml"))]


def profiles_file(profiles: list[dict]) -> str:
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        f"# Generated from native/profiles by {COMMAND}: what the test pod and the notes say of a board, and what a",
        "# fault can set on it: [lowest, highest] in the key's unit; a key that is missing is not told by that board.",
    ]
    for profile in profiles:
        facts = {
            "name": profile["product_name"],
            "memoryMiB": profile["memory"]["total_mib"],
            "reservedMiB": profile["memory"]["reserved_mib"],
            "nvlinks": profile["nvlink"]["links"],
            "set": settable(native_profiles.config(profile)),
        }
        lines.append(f"{json.dumps(profile['name'])}: {json.dumps(facts)}")
    return "\n".join(lines) + "\n"


def settable(config: dict) -> dict[str, list[int]]:
    """As range_on() of ctl_set.c has it. The highest of memory is left out: values may give the board another one."""
    ranges = {}
    for key in fault_lists.set_keys():
        if key.feature and key.feature not in config["features"].split(" | "):
            continue
        low = -(-config[key.least] // key.scale) if key.least else key.low
        of_memory = key.most == "memory_total"
        high = config[key.most] // key.scale if key.most and not of_memory else key.high
        ranges[key.name] = [low] if of_memory else [low, high]
    return ranges


def faults_file() -> str:
    header = fault_lists.header()
    functions = fault_lists.functions(header)
    facts = {
        "verbs": fault_lists.verbs(declarable=True),
        "xidMax": fault_lists.number("GS_XID_MAX"),
        "delaySeconds": fault_lists.number("GS_DELAY_MAX_SECONDS"),
        "xidsOfGpu": fault_lists.number("GS_XIDS"),
        "codesOfGpu": fault_lists.number("GS_FAULTS"),
        "events": fault_lists.number("GS_EVENTS"),
        "reasons": fault_lists.throttle_reasons(),
        "computeModeGone": fault_lists.number("GS_COMPUTE_MODE_GONE"),
        "set": {key.name: {"unit": key.unit, "range": key.kind == "READING"} for key in fault_lists.set_keys()},
        "setKeys": [key.name for key in fault_lists.set_keys()],  # in their order, which Helm's maps do not keep
        "codes": fault_lists.return_codes(header),
        "codeNames": list(fault_lists.return_codes(header)),
        "ofGpu": [name for name, of_gpu in functions.items() if of_gpu],
        "ofNode": [name for name, of_gpu in functions.items() if not of_gpu],
    }
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        f"# Generated from native/node/ctl_lists.h, native/src and nvml.h by {COMMAND}: what a fault can be made of.",
        "# ofGpu, ofNode: the functions that a fault can be injected into, and whose it then is.",
        *(f"{name}: {json.dumps(value)}" for name, value in facts.items()),
    ]
    return "\n".join(lines) + "\n"


def property_of(schema: dict, path: tuple[str, ...]) -> dict:
    """The schema's own entry for a key, references along the way followed, the last one not."""
    node = schema
    for part in path:
        node = resolved(schema, node)["properties"][part]
    return node


def resolved(schema: dict, node: dict) -> dict:
    while "$ref" in node:
        node = schema["definitions"][node["$ref"].removeprefix("#/definitions/")]
    return node


def described_schema(text: str, keys: list[Key], profiles: list[dict]) -> str:
    schema = json.loads(text)
    for key in keys:
        if any("$ref" in property_of(schema, key.path[:depth]) for depth in range(1, len(key.path))):
            continue  # inside a definition that several keys share: it has words of its own
        entry = property_of(schema, key.path)
        rest = {name: value for name, value in entry.items() if name != "description"}
        entry.clear()
        entry.update({"description": key.comment, **rest})
    property_of(schema, ("gpuSim", "profile"))["enum"] = [profile["name"] for profile in profiles]
    verbs = "|".join(fault_lists.verbs(declarable=True))
    property_of(schema, ("gpuSim", "faults"))["items"]["pattern"] = f"^({verbs})( [!-~]+)+$"
    return generated.layout(schema) + "\n"


def shape(schema: dict, node: dict) -> str:
    """Type and range of a key in a few words."""
    node = resolved(schema, node)
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    types = node["type"] if isinstance(node["type"], list) else [node["type"]]
    words = " or ".join({"object": "map", "array": "list"}.get(name, name) for name in types)
    if "minimum" in node and "maximum" in node:
        words += f", {node['minimum']}–{node['maximum']}"
    if "array" in types and "enum" in resolved(schema, node["items"]):
        words += " of " + shape(schema, node["items"])
    return words


def values_table(schema: dict, keys: list[Key], values: dict) -> str:
    rows = ["| key | default | type, range | what it does |", "|---|---|---|---|"]
    paths = {key.path for key in keys}
    for key in keys:
        name = ".".join(key.path)
        if any(path[:-1] == key.path for path in paths):
            rows.append(f"| **{name}** | | | **{key.comment}** |")
            continue
        default = values
        for part in key.path:
            default = default[part]
        kind = shape(schema, property_of(schema, key.path)).replace("|", "\\|")
        comment = key.comment.replace("|", "\\|").replace("<", "&lt;")
        rows.append(f"| `{name}` | `{json.dumps(default)}` | {kind} | {comment} |")
    return "\n".join(rows)


def plugin_table(table: dict) -> str:
    rows = ["| device plugin | Kubernetes, from | built for | `healthChecks.fatalXids` |", "|---|---|---|---|"]
    for version, row in table.items():
        lowest, built_for = row["kubernetes"]["from"], row["kubernetes"]["builtFor"]
        rows.append(f"| {version} | {lowest} | {built_for} | {'yes' if row['fatalXids'] else 'no'} |")
    return "\n".join(rows)


def outputs() -> dict[Path, str]:
    """Every generated file and what should be in it."""
    values_text = (CHART / "values.yaml").read_text()
    keys, values, profiles = documented_keys(values_text), yaml.safe_load(values_text), load_profiles()
    schema_text = described_schema((CHART / "values.schema.json").read_text(), keys, profiles)
    page = CHART / "README.md"
    readme = page.read_text()
    readme = generated.filled(readme, page, "values", values_table(json.loads(schema_text), keys, values), PROGRAM)
    table = yaml.safe_load((CHART / "files/plugin-versions.yaml").read_text())
    return {
        CHART / "files/faults.yaml": faults_file(),
        CHART / "files/profiles.yaml": profiles_file(profiles),
        CHART / "values.schema.json": schema_text,
        page: generated.filled(readme, page, "plugin versions", plugin_table(table), PROGRAM),
    }


if __name__ == "__main__":
    sys.exit(generated.main(sys.argv[1:], PROGRAM, outputs))
