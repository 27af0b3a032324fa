# SPDX-License-Identifier: Apache-2.0
"""Our reading of YAML is the pinned helm's: scalars, keys, merges and strings; and what helm refuses is told."""

from __future__ import annotations

import pytest

from generator import helm_yaml
from generator.quoting import yaml_string
from tests.generator import hostile

SCALARS = (
    "1e3 12e4 08 010 0o17 0O17 0x10 0X10 0xG 0b11 0B1 -0b11 0b2 0b 0x +5 --5 -08 +08 0_8 1_000 1__0 _1 1_0.5 09.5 0777 "
    "y Y n N yes Yes yEs no on off On OFF true TRUE True tRUE ~ null Null NULL nULL .5 .5e3 5. 5.e1 1.e3 1e+3 1e-2 +.5 "
    "-.5 .e3 . .. = 1:30 190:20:30 2001-01-01 2001-12-14t21:59:43.10-05:00 00215e6 6063e25 0 00 -0 1e400 -1e400 1.10 "
    "+0x10 -0x10 -0o17 2147483648 -2147483649 1e15 NaN inf nan 0x1p3 1e 1e+ e3 !!str 9.9 - -- 0.1 123456789012345"
).split()


@pytest.mark.helm
def test_plain_scalars_are_read_as_helm_reads_them(helm_reads) -> None:
    scalars = [scalar for scalar in SCALARS if scalar not in ("-", "!!str")] + ["!!str 8", "!!int '8'", "!!float 8"]
    text = "".join(f"k{number}: {scalar}\n" for number, scalar in enumerate(scalars))
    theirs, (ours, problems) = helm_reads(text), helm_yaml.read(text, "f")
    assert problems == []
    different = {
        scalar: (ours[f"k{number}"], theirs.get(f"k{number}"))
        for number, scalar in enumerate(scalars)
        if not same(ours[f"k{number}"], theirs.get(f"k{number}"))
    }
    assert different == {}


def same(ours: object, theirs: object) -> bool:
    """JSON has one kind of number, Python two; True is no 1."""
    numbers = isinstance(ours, (int, float)) and isinstance(theirs, (int, float))
    return ours == theirs and (type(ours) is type(theirs) or (numbers and bool not in (type(ours), type(theirs))))


@pytest.mark.helm
@pytest.mark.parametrize(
    "text",
    [
        "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n",
        "a: &x {b: 1}\ne: &y {b: 2, f: 4}\nd:\n  <<: [*x, *y]\n",
        "8: a\ntrue: b\n1.5: c\nnested: {08: d, y: e}\n",
        "a:\n- 1\n- [x, {y: z}]\n",
        "\ufeffa: b\r\nc: d\r\n",
        "a: |\n  two\n  lines\nb: >-\n  folded\n  text\n",
        "? a\n: b\n",
    ],
)
def test_structures_are_read_as_helm_reads_them(helm_reads, text: str) -> None:
    ours, problems = helm_yaml.read(text.removeprefix("\ufeff"), "f")
    assert problems == []
    assert ours == helm_reads(text)


@pytest.mark.helm
def test_helm_gives_every_quoted_string_back(helm_reads) -> None:
    texts = [*hostile.EVERY, "", " a ", "\t", "a\nb", "\\", '\\"', "\x1b[31m", "\U000e0041", "\U0001f680", "\ufdd0"]
    written = "".join(f"k{number}: {yaml_string(text)}\n" for number, text in enumerate(texts))
    assert list(helm_reads(written).items()) == sorted((f"k{number}", text) for number, text in enumerate(texts))


REFUSED_BY_HELM_TOO = [
    ("a: .nan", 'f:a: is no number that Helm can carry, got ".nan"; give a finite number'),
    ("a: -.inf", 'f:a: is no number that Helm can carry, got "-.inf"; give a finite number'),
    ("~: b", "f: has a key that is no string, in line 1; write the key as a string"),
    ("a: !!int x", 'f:a: cannot be read as !!int, got "x"; remove the tag'),
    ("a: &a [*a]", "f:a[0]: refers to itself through an alias; remove the alias"),
    ("a: [", "f:line 1, column 5: is not YAML"),
    ("a: b\n\tc: d", "f:line 2, column 1: is not YAML"),
    ('a: "\x07"', "f:character 5: holds a character that YAML does not allow (U+0007)"),
]


@pytest.mark.helm
@pytest.mark.parametrize(("text", "message"), REFUSED_BY_HELM_TOO)
def test_what_helm_refuses_is_told(helm_reads, text: str, message: str) -> None:
    _, problems = helm_yaml.read(text, "f")
    assert [str(problem) for problem in problems] != []
    assert str(problems[0]).startswith(message), problems[0]
    assert str(helm_reads(text)).startswith("Error"), "helm takes it"


@pytest.mark.unit
@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "gpuSim:\n  deviceCount: 8\n  profile: tesla-t4\n  deviceCount: 4\n",
            ["f:gpuSim.deviceCount: the key is written twice, in lines 2 and 4, got 4; keep one"],
        ),
        (
            "a: {b: 1, b: 2}\na: 3",
            [
                "f:a.b: the key is written twice, in lines 1 and 1, got 2; keep one",
                "f:a: the key is written twice, in lines 1 and 2, got 3; keep one",
            ],
        ),
        ("8: a\n'8': b\n", ['f:8: the key is written twice, in lines 1 and 2, got "b"; keep one']),
        ("a: b\n---\nc: d\n", ["f:line 2, column 1: holds more than one document; keep one"]),
        (
            "a: !!binary aGk=\n",
            ['f:a: has the tag !!binary, which values files do not need, got "aGk="; write a plain string'],
        ),
        ("[" * 5000, ["f: is nested too deeply to be read; write it flatter"]),
    ],
)
def test_what_helm_takes_silently_is_told(text: str, messages: list[str]) -> None:
    assert [str(problem) for problem in helm_yaml.read(text, "f")[1]] == messages


@pytest.mark.unit
def test_paths_can_be_told_apart() -> None:
    assert helm_yaml.dotted(("tolerations", 0, "key")) == "tolerations[0].key"
    assert (
        helm_yaml.dotted(("workload", "quota", "requests.nvidia.com/gpu"))
        == 'workload.quota["requests.nvidia.com/gpu"]'
    )
