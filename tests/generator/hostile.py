# SPDX-License-Identifier: Apache-2.0
"""Strings that break generators: read as numbers, as shell, as YAML, or as another branch. Used by several tests."""

# Each of these is a number, a boolean or null to one YAML parser or another.
LOOK_LIKE_SOMETHING_ELSE = (
    *(
        "1e3",
        "12e4",
        "6063e25",
        "00215e6",
        "08",
        "0o17",
        "0x1F",
        "0b11",
        "010",
        "0123",
        "1_000",
        "1.10",
        "1.e3",
        "1e+3",
    ),
    *("y", "n", "Y", "N", "yes", "No", "on", "off", "true", "False", "null", "Null", "NULL", "nan", "inf"),
    *("2001-01-01", "123", "1234567", "9223372036854775808", "0", "00", "5e-324", "1e400"),
)

# All allowed by git; to a shell, to `helm --set` or to YAML each of them is an accident.
SHELL_AND_SET = (
    *(
        "fix/a,b",
        "fix/{a}",
        "a=b",
        "a'b",
        'a"b',
        "$(id)",
        "`id`",
        "a;id",
        "a&b",
        "a|b",
        "a>b",
        "$HOME",
        "a\\b",
        "!!",
        "%s",
    ),
    *("#42", "@me", "a#b", "{{.Values}}", "fix/'\"`$(x)", "'", '"', "a,b=c", "a--", "<a>", "é;è"),
)

BEYOND_ASCII = (
    "日本",
    "한국",
    "feature/é",
    "ﬀ",
    "🚀/start",
    "a\u0301",
    "\u202egnp",
    "a\u2028b",
    "a\u0085b",
    "a\u009bb",
    "\ufeffa",
)

EVERY = tuple(dict.fromkeys(name for name in LOOK_LIKE_SOMETHING_ELSE + SHELL_AND_SET + BEYOND_ASCII if name))
