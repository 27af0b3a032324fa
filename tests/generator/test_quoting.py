# SPDX-License-Identifier: Apache-2.0
"""A string comes back byte for byte from YAML and from a shell, and is harmless on a terminal."""

from __future__ import annotations

import random
import subprocess

import pytest
import yaml

from generator import helm_yaml
from generator.quoting import escape_unprintable, shell_word, yaml_string
from tests.generator import hostile

pytestmark = pytest.mark.unit

AWKWARD = (
    *hostile.EVERY,
    "",
    " a ",
    "\ttab",
    "a\nb",
    "a\r\n",
    "\\",
    '\\"',
    "\x1b[31m",
    "\U000e0041",
    "\ufdd0",
    "\U0001fffe",
)


def random_text(source: random.Random) -> str:
    return "".join(
        chr(source.choice([source.randrange(0x20, 0x7F), source.randrange(1, 0x250), source.randrange(0x2000, 0x2100)]))
        for _ in range(source.randrange(12))
    )


SOME_TEXTS = tuple(random_text(random.Random(seed)) for seed in range(300))


def test_yaml_gives_every_string_back() -> None:
    for text in AWKWARD + SOME_TEXTS:
        written = f"key: {yaml_string(text)}\n"
        assert helm_yaml.read(written, "f") == ({"key": text}, []), text
        assert yaml.safe_load(written) == {"key": text}
        assert written.count("\n") == 1
        assert escape_unprintable(written[:-1]) == written[:-1], "something in it would act on a terminal"


def test_a_shell_gives_every_word_back() -> None:
    words = [*AWKWARD, *SOME_TEXTS]
    script = "printf '%s\\0' " + " ".join(shell_word(word) for word in words)
    said = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
    assert said.decode().split("\0")[:-1] == words


@pytest.mark.parametrize("name", ["caf\udce9", "\udcff\udcfe'$(id)"])
def test_a_shell_gives_bytes_back_that_are_not_utf8(name: str) -> None:
    said = subprocess.run(["bash", "-c", f"printf %s {shell_word(name)}"], capture_output=True, check=True).stdout
    assert said == name.encode(errors="surrogateescape")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a\x00b\nc\td", "a\\x00b\\x0ac\\x09d"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\u0085b\u009bc", "a\\x85b\\x9bc"),
        ("\u202eevil", "\\u202eevil"),
        ("line\u2028line", "line\\u2028line"),
        ("caf\udce9", "caf\\xe9"),
        ("\U000e0041", "\\U000e0041"),
        ("日本 🚀 é", "日本 🚀 é"),
    ],
)
def test_nothing_acts_on_a_terminal(text: str, escaped: str) -> None:
    assert escape_unprintable(text) == escaped
