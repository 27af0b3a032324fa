# SPDX-License-Identifier: Apache-2.0
# How a string is written so that it comes back byte for byte: for Helm's YAML parser, for a POSIX shell and for a
# terminal. Called by render.py, commands.py and errors.py. Which characters are escaped is a fixed list, not what this
# Python's Unicode tables call printable: the same input must give the same bytes under every Python.

from __future__ import annotations

import re
import shlex

# Control, format, bidirectional and private "tag" characters, non-characters, and the surrogates under which Python
# keeps bytes that are not UTF-8. Some of them end a YAML line (U+0085, U+2028), some move a terminal's cursor (U+009B),
# some only deceive.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ud800-\udfff\ufeff"
    "\uffa0\ufff0-\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}-{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
    + "]"
)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def escape_unprintable(text: str) -> str:
    """For messages and comments: one line, nothing that acts on a terminal."""
    return _UNPRINTABLE.sub(_escape, text)


def yaml_string(text: str) -> str:
    """Always in double quotes: parsers differ in what they take for a number or a boolean (1e3, 08, y)."""
    return '"' + escape_unprintable(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def shell_word(text: str) -> str:
    """One word for a POSIX shell, whatever is in it; characters that cannot be shown become bytes inside $'…'."""
    if not _UNPRINTABLE.search(text):
        return shlex.quote(text)

    def as_bytes(match: re.Match[str]) -> str:
        return "".join(f"\\{byte:03o}" for byte in match.group().encode(errors="surrogateescape"))

    return "$'" + _UNPRINTABLE.sub(as_bytes, text.replace("\\", "\\\\").replace("'", "\\'")) + "'"
