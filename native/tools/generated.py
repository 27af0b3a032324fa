# SPDX-License-Identifier: Apache-2.0
"""For programs that write files of the tree: compares, shows or writes, fills marked parts of texts, lays out JSON."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Callable
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
JSON_WIDTH = 100


def layout(value: object, indent: int = 0) -> str:
    """JSON with everything that fits on a line on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= JSON_WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(key)}: {layout(item, indent + 2)}" for key, item in value.items()]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    return "[\n" + ",\n".join(inner + layout(item, indent + 2) for item in value) + "\n" + " " * indent + "]"


def filled(text: str, path: Path, section: str, content: str, program: str) -> str:
    """`text`, which is that of `path`, with `content` between the marks of the section. SystemExit without these."""
    begin, end = f"<!-- {section}: generated, python {program} --write -->", f"<!-- end of {section} -->"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{path}: the lines `{begin}` and `{end}` are missing; put them back")
    return f"{before}{begin}\n{content}\n{end}{after}"


def _show(path: Path, text: str) -> None:
    name = str(path.relative_to(CHECKOUT))
    old = path.read_text().splitlines(keepends=True) if path.exists() else []
    sys.stdout.writelines(difflib.unified_diff(old, text.splitlines(keepends=True), name, f"{name} (fresh)"))


def main(arguments: list[str], program: str, outputs: Callable[[], dict[Path, str]]) -> int:
    """The command line of `program`, a path from the checkout: shows what is out of date (1 if anything is), with
    --write writes it. 2 for other options."""
    if arguments not in ([], ["--write"]):
        print(f"{program}: unknown option, got {' '.join(arguments)}; give nothing or --write", file=sys.stderr)
        return 2
    stale = {path: text for path, text in outputs().items() if not path.exists() or path.read_text() != text}
    for path, text in stale.items():
        if arguments:
            path.write_text(text)
        else:
            _show(path, text)
    if stale and not arguments:
        print(f"{len(stale)} generated files are out of date; run python {program} --write", file=sys.stderr)
        return 1
    return 0
