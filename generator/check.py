# SPDX-License-Identifier: Apache-2.0
# Is a values file right? Laid over the chart's defaults as Helm lays it, then judged by the chart's schema and by the
# rules between keys. Called by cli.py (`check FILE…`) and by values.py for what the generator is about to write. Finds
# every problem in one go and never says yes where helm, with the same chart, says no.

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema
from jsonschema.exceptions import ValidationError

from generator import chart, helm_yaml, rules
from generator.errors import NOTHING, Problem, shown

_KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a string",
    "boolean": "true or false",
    "null": "null",
}
_KINDS |= {"object": "a map", "array": "a list"}


def check_file(file: str) -> list[Problem]:
    try:
        text = Path(file).read_bytes().decode("utf-8-sig")
    except OSError as error:
        return [Problem(file, "", f"cannot be read ({error.strerror})", "give the name of a values file")]
    except UnicodeDecodeError as error:
        return [Problem(file, f"byte {error.start + 1}", "is not UTF-8", "save the file as UTF-8")]
    values, problems = helm_yaml.read(text, file)
    if values is None:  # an empty file is a fine values file
        return problems
    if not isinstance(values, dict):
        return [*problems, Problem(file, "", "is no map of values", "write keys as in the chart's values.yaml", values)]
    return problems + problems_of(values, file)


def problems_of(values: dict, file: str) -> list[Problem]:
    whole = laid_over(values, chart.defaults())
    errors = sorted(_validator().iter_errors(whole), key=lambda error: [str(part) for part in error.absolute_path])
    # A value of the wrong type breaks its other rules too: one line is enough.
    mistyped = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    errors = [error for error in errors if error.validator == "type" or tuple(error.absolute_path) not in mistyped]
    problems = [problem for error in errors for problem in _told(error, file)]
    # The rules look at whole values: where the shape is wrong they would only repeat it, or stumble.
    if not problems:
        problems = [Problem(file, rule.path, rule.what, rule.todo, rule.value) for rule in rules.broken(whole)]
    return problems


def laid_over(values: dict, defaults: dict) -> dict:
    """Helm's merge: maps go together key by key, null takes a default away, anything else replaces it."""
    result = dict(values)
    for key, default in defaults.items():
        if key not in values:
            result[key] = default
        elif values[key] is None:
            del result[key]
        elif isinstance(values[key], dict) and isinstance(default, dict):
            result[key] = laid_over(values[key], default)
    return result


def _pattern(validator, pattern: str, instance: object, schema: dict) -> Iterator[ValidationError]:
    # Helm's `$` is the end of the text; Python's also matches before a last newline.
    if isinstance(instance, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), instance):
        yield ValidationError(f"does not match {pattern!r}")


_VALIDATOR = jsonschema.validators.extend(jsonschema.Draft7Validator, {"pattern": _pattern})


def _validator() -> jsonschema.Validator:
    return _VALIDATOR(chart.schema())


def _told(error: ValidationError, file: str) -> Iterator[Problem]:
    path = tuple(error.absolute_path)
    value = error.instance
    wanted = error.validator_value
    described = _description(path)

    def problem(what: str, todo: str, value: object = value, path: tuple = path) -> Problem:
        return Problem(file, helm_yaml.dotted(path), what, todo, value)

    match error.validator:
        case "additionalProperties" if wanted is False:
            known = list(error.schema.get("properties", {}))
            for key in (key for key in value if key not in known):
                yield problem("there is no such key", _instead(key, known), value[key], (*path, key))
        case "required":
            key = next(key for key in wanted if key not in value and f"'{key}'" in error.message)
            default = _default((*path, key))
            what = "is required, and null (or an empty map above it) takes the chart's value away"
            yield problem(
                what,
                f"give a value{'' if default is NOTHING else f', such as the default {shown(default)}'}",
                None,
                (*path, key),
            )
        case "type":
            kinds = [wanted] if isinstance(wanted, str) else wanted
            yield problem("must be " + " or ".join(_KINDS[kind] for kind in kinds), _other_kind(kinds, value))
        case "enum":
            yield problem("is not one of the possible values", "choose one of " + ", ".join(str(one) for one in wanted))
        case "minimum" | "maximum":
            yield problem(
                f"must be {'at least' if error.validator == 'minimum' else 'at most'} {wanted}", _range(error.schema)
            )
        case "maxLength":
            yield problem(f"must have at most {wanted} characters, and has {len(value)}", described or "shorten it")
        case "pattern" if "propertyNames" in error.absolute_schema_path:
            yield problem(
                "is no valid label key",
                "use letters, digits, '-', '_' and '.', with an optional prefix such as example.com/",
            )
        case "pattern":
            yield problem(
                f"must match {wanted}", described or f"see {helm_yaml.dotted(path)} in the chart's values.yaml"
            )
        case "minItems" | "minProperties":
            yield problem(
                f"must have at least {wanted} {'entry' if wanted == 1 else 'entries'}", described or "add one"
            )
        case "uniqueItems":
            yield problem("holds the same entry twice", "keep one")
        case _:
            yield problem(error.message, described or "see the chart's values.yaml")


def _instead(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key.lower(), [name.lower() for name in known], n=1, cutoff=0.6)
    meant = next((name for name in known if near and name.lower() == near[0]), None)
    return f"did you mean {meant}?" if meant else f"remove it, or use one of {', '.join(known)}"


def _other_kind(kinds: list[str], value: object) -> str:
    if isinstance(value, str) and ("integer" in kinds or "number" in kinds) and re.fullmatch("[0-9]+", value):
        return "write it without quotes"
    if "string" in kinds and isinstance(value, (int, float, bool)):
        return "put it in double quotes"
    return "see the chart's values.yaml for its form"


def _range(schema: dict) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None or high is None:
        return f"give {'at most' if low is None else 'at least'} {high if low is None else low}"
    return f"give {low} to {high}"


def _description(path: tuple[str | int, ...]) -> str:
    """What the schema says about the value, or about the map or list around it."""
    found, schema = "", chart.schema()
    for part in path:
        schema = schema.get("items", {}) if isinstance(part, int) else schema.get("properties", {}).get(part, {})
        found = schema.get("description", found)
        if "$ref" in schema:
            schema = chart.schema()["definitions"][schema["$ref"].removeprefix("#/definitions/")]
    return found.rstrip(".")


def _default(path: tuple[str | int, ...]) -> object:
    value: object = chart.defaults()
    for part in path:
        if not isinstance(value, dict) or part not in value:
            return NOTHING
        value = value[part]
    return value
