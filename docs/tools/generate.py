# SPDX-License-Identifier: Apache-2.0
"""What of docs/ is written by a program: the tables of ctl-status.md from ctl-status.schema.json, and in that the
enumerations from the lists of native/.

`python docs/tools/generate.py` shows what is out of date and exits 1; `--write` writes it. Called by `make check`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "native/tools"))
import fault_lists  # noqa: E402
import generated  # noqa: E402

DOCS = CHECKOUT / "docs"
PROGRAM = "docs/tools/generate.py"


def enumerated(schema: dict) -> dict:
    """With the lists of today."""
    gpu = schema["properties"]["gpus"]["items"]["properties"]
    kinds = {name: entry["properties"] for name, entry in schema["definitions"].items()}
    reasons, keys = fault_lists.throttle_reasons(), fault_lists.set_keys()
    gpu["throttle"]["items"]["enum"] = kinds["throttle"]["reason"]["enum"] = reasons
    gpu["xids"]["items"]["maximum"] = kinds["xid"]["xid"]["maximum"] = fault_lists.number("GS_XID_MAX")
    kinds["ecc"]["location"]["enum"] = fault_lists.ecc_locations()
    kinds["set"]["key"]["enum"] = [key.name for key in keys]
    kinds["set"]["unit"]["enum"] = list(dict.fromkeys(key.unit for key in keys))
    kinds["fault"]["code"]["enum"] = list(fault_lists.return_codes(fault_lists.header()))
    kinds["fault"]["delay_ms"]["maximum"] = fault_lists.number("GS_DELAY_MAX_SECONDS") * 1000
    return schema


def shape(entry: dict) -> str:
    """Type and range in a few words."""
    if "const" in entry:
        return f"`{entry['const']}`"
    if "enum" in entry:
        return ", ".join(f"`{value}`" if value else "empty" for value in entry["enum"])
    if entry["type"] == "array" and "type" in entry["items"] and entry["items"]["type"] != "object":
        return f"list of {shape(entry['items'])}"
    if "minimum" in entry:
        high = entry.get("maximum")
        return f"{entry['type']}, {entry['minimum']}" + ("–" + str(high) if high is not None else " or more")
    return {"array": "list", "object": "map"}.get(entry["type"], entry["type"])


def rows(properties: dict) -> Iterator[str]:
    yield "| field | type, range | what it is |"
    yield "|---|---|---|"
    for name, entry in properties.items():
        yield f"| `{name}` | {shape(entry)} | {entry['description']} |"


def tables(schema: dict) -> str:
    parts = ["## The node", *rows(schema["properties"])]
    parts += ["", "## `gpus`: each GPU", *rows(schema["properties"]["gpus"]["items"]["properties"])]
    parts += ["", "## `faults`, by `kind`"]
    for name, entry in schema["definitions"].items():
        parts += ["", f"### {name}", entry["description"], "", *rows(entry["properties"])]
    return "\n".join(parts)


def outputs() -> dict[Path, str]:
    """Every generated file and what should be in it."""
    schema_file, page = DOCS / "ctl-status.schema.json", DOCS / "ctl-status.md"
    schema = enumerated(json.loads(schema_file.read_text()))
    return {
        schema_file: generated.layout(schema) + "\n",
        page: generated.filled(page.read_text(), page, "fields", tables(schema), PROGRAM),
    }


if __name__ == "__main__":
    sys.exit(generated.main(sys.argv[1:], PROGRAM, outputs))
