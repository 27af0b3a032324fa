# SPDX-License-Identifier: Apache-2.0
# Reads YAML as Helm does. PyYAML alone would not do: it reads `1e3` and `08` as strings where Helm reads numbers, so a
# file could pass here and fail, or mean something else, in the cluster. Also finds what Helm takes silently: keys
# written twice. Called by check.py and, for the round trip, by render.py. Must agree with the pinned helm; the tests
# compare them.

from __future__ import annotations

import re

import yaml

from generator.errors import NOTHING, Problem

_PLAIN = "plain"
_YAML = "tag:yaml.org,2002:"
_WORDS: dict[str, object] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], float("nan")),
    **dict.fromkeys([sign + word for sign in ("", "+") for word in (".inf", ".Inf", ".INF")], float("inf")),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], float("-inf")),
}
_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_LONGEST_INTEGER = 2**64
_MERGE = "<<"


class _Loader(yaml.SafeLoader):
    def resolve(self, kind, value, implicit):
        # Tells a plain scalar, whose type its text decides, from a quoted or tagged one.
        if kind is yaml.ScalarNode and implicit[0]:
            return _PLAIN
        return super().resolve(kind, value, (False, False) if kind is yaml.ScalarNode else implicit)


def read(text: str, file: str) -> tuple[object, list[Problem]]:
    """The value, and what is wrong with the text itself. The value is worth checking even where keys are doubled."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        what = (
            "holds more than one document"
            if "single document" in (error.context or "")
            else f"is not YAML ({error.problem})"
        )
        return None, [Problem(file, line, what, "mend the YAML" if "YAML" in what else "keep one")]
    except yaml.reader.ReaderError as error:
        what = f"holds a character that YAML does not allow (U+{ord(chr(error.character)):04X})"
        return None, [
            Problem(
                file, f"character {error.position + 1}", what, "remove it, or write it as an escape in double quotes"
            )
        ]
    except RecursionError:
        return None, [Problem(file, "", "is nested too deeply to be read", "write it flatter")]
    builder = _Builder(file)
    return (None if node is None else builder.build(node, ())), builder.problems


def dotted(path: tuple[str | int, ...]) -> str:
    """gpuSim.deviceCount, tolerations[0].key, workload.quota["requests.nvidia.com/gpu"]"""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[A-Za-z0-9_-]+", part):
            text += ("." if text else "") + part
        else:
            text += f'["{part}"]'
    return text


class _Builder:
    def __init__(self, file: str):
        self.file = file
        self.problems: list[Problem] = []
        self._open: list[yaml.Node] = []

    def build(self, node: yaml.Node, path: tuple[str | int, ...]) -> object:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if any(node is parent for parent in self._open):
            return self._wrong(path, "refers to itself through an alias", "remove the alias")
        self._open.append(node)
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
            return self._mapping(node, path)
        finally:
            self._open.pop()

    def _mapping(self, node: yaml.MappingNode, path: tuple[str | int, ...]) -> dict[str, object]:
        result: dict[str, object] = {}
        merged: dict[str, object] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _PLAIN and key_node.value == _MERGE:
                several = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
                for one in reversed(several):
                    value = self.build(one, path)
                    merged.update(value if isinstance(value, dict) else {})
                continue
            key = self._key(key_node, path)
            if key is None:
                continue
            value = self.build(value_node, (*path, key))
            line = key_node.start_mark.line + 1
            if key in lines:
                what = f"the key is written twice, in lines {lines[key]} and {line}"
                self._wrong((*path, key), what, "keep one", value)
            lines[key] = line
            result[key] = value
        return merged | result

    def _key(self, node: yaml.Node, path: tuple[str | int, ...]) -> str | None:
        key = self._scalar(node, path) if isinstance(node, yaml.ScalarNode) else node
        if isinstance(key, str):
            return key
        if isinstance(key, bool):
            return "true" if key else "false"
        if isinstance(key, (int, float)):
            return f"{key:.16g}" if isinstance(key, float) else str(key)
        self._wrong(
            path, f"has a key that is no string, in line {node.start_mark.line + 1}", "write the key as a string"
        )
        return None

    def _scalar(self, node: yaml.ScalarNode, path: tuple[str | int, ...]) -> object:
        tag = node.tag.removeprefix(_YAML)
        value: object = node.value
        if tag in (_PLAIN, "int", "float", "bool", "null"):
            value = plain_scalar(node.value)
            kinds = {"int": int, "float": (int, float), "bool": bool, "null": type(None)}
            if tag in kinds and (not isinstance(value, kinds[tag]) or (isinstance(value, bool) and tag != "bool")):
                return self._wrong(path, f"cannot be read as !!{tag}", "remove the tag", node.value)
            if isinstance(value, float) and (value != value or abs(value) == float("inf")):
                return self._wrong(path, "is no number that Helm can carry", "give a finite number", node.value)
        elif tag in ("binary", "timestamp", "merge"):
            return self._wrong(
                path, f"has the tag !!{tag}, which values files do not need", "write a plain string", node.value
            )
        return value

    def _wrong(self, path: tuple[str | int, ...], what: str, todo: str, value: object = NOTHING) -> None:
        self.problems.append(Problem(self.file, dotted(path), what, todo, value))


def plain_scalar(text: str) -> object:
    """An unquoted scalar by the rules of Helm's parser (go-yaml v2)."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] == ".":
        return float(text) if _FLOAT.fullmatch(text) else text
    if text[0] not in "+-0123456789":
        return text
    plain = text.replace("_", "")
    if number := _INTEGER.fullmatch(plain):
        sign, digits = number.groups()
        base = {"x": 16, "b": 2}.get(digits[1:2].lower(), 8 if digits[0] == "0" else 10)
        whole = int(digits.lower().replace("0o", "0", 1), base) * (-1 if sign == "-" else 1)
        if -(_LONGEST_INTEGER // 2) <= whole < _LONGEST_INTEGER:
            return whole
    if _FLOAT.fullmatch(plain):
        real = float(plain)
        return real if abs(real) != float("inf") else text
    return text
