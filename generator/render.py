# SPDX-License-Identifier: Apache-2.0
# From values to the text of a file, and the text to disk. Called by cli.py.
# Every string is quoted and the text is read back before it is used: what Helm will read is what was meant. A file is
# replaced as a whole or not at all.

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from pathlib import Path

import yaml

from generator import helm_yaml
from generator.chart import GENERATED_MARK
from generator.errors import InputError, Problem
from generator.quoting import escape_unprintable, yaml_string


def to_text(values: dict, branch: str, command: str) -> str:
    """The whole file. `command` is what makes it again; the same values and command give the same bytes."""
    lines = [
        f"{GENERATED_MARK} for branch {escape_unprintable(branch)}.",
        "# To change it, run this with other options and --force:",
        f"#   {escape_unprintable(command)}",
        *_mapping(values, ""),
    ]
    text = "\n".join(lines) + "\n"
    for parse in (_as_helm, yaml.safe_load):
        if (back := parse(text)) != values:
            raise AssertionError(f"the file would not come back as it was meant: {back!r} instead of {values!r}")
    return text


def _as_helm(text: str) -> object:
    value, problems = helm_yaml.read(text, "generated file")
    return problems if problems else value


def _mapping(values: dict, indent: str) -> list[str]:
    lines: list[str] = []
    for key, value in values.items():
        head = f"{indent}{_key(key)}:"
        if isinstance(value, dict) and value:
            lines += [head, *_mapping(value, indent + "  ")]
        elif isinstance(value, list):
            lines += [head, *(f"{indent}  - {_scalar(item)}" for item in value)]
        else:
            lines.append(f"{head} {_scalar(value)}")
    return lines


def _key(key: str) -> str:
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", key) and isinstance(helm_yaml.plain_scalar(key), str)
    return key if plain else yaml_string(key)


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return yaml_string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    raise TypeError(f"no way to write {value!r}")


def write(text: str, file: Path, shown: str, force: bool) -> bool:
    """Whether anything changed. A file with other content is left alone unless `force`."""
    target = Path(os.path.realpath(file))  # through a link: replace what it points at, not the link
    try:
        old = target.lstat() if os.path.lexists(target) else None
        if old and not stat.S_ISREG(old.st_mode):
            raise InputError(
                Problem(shown, "", "is no regular file", "give another name with --output, or use --stdout")
            )
        if old and target.read_bytes() == text.encode():
            return False
        if old and not force:
            raise InputError(
                Problem(
                    shown,
                    "",
                    "exists with other content",
                    "add --force to replace it, or give another name with --output",
                )
            )
        _replace(target, text, stat.S_IMODE(old.st_mode) if old else None)
    except OSError as error:
        raise InputError(
            Problem(shown, "", f"cannot be written ({error.strerror})", "choose a writable place with --output")
        ) from None
    return True


def _replace(target: Path, text: str, mode: int | None) -> None:
    if mode is None:
        umask = os.umask(0)
        os.umask(umask)
        mode = 0o666 & ~umask
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as temporary:
            temporary.write(text.encode())
            temporary.flush()
            os.fchmod(handle, mode)
            os.fsync(handle)
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
