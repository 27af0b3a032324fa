# SPDX-License-Identifier: Apache-2.0
"""Rules for the text of every file: licence line, no address of one machine, no dead link.

Called by check. What is particular to a machine is asked from it (its checkout, home, package sources), so no list of
such names stands here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tests.harness import cache, command, golang, versions

CODE = {".py", ".c", ".h", ".go", ".sh"}
SPDX = "SPDX-License-Identifier: Apache-2.0"


def files(*suffixes: str) -> list[Path]:
    """Every file that is, or could be, committed, relative to the checkout; by suffix if any is given."""
    listed = command.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=versions.CHECKOUT).out
    found = [Path(name) for name in sorted(set(listed.split("\0"))) if name]
    return [p for p in found if (not suffixes or p.suffix in suffixes) and (versions.CHECKOUT / p).is_file()]


def _text(path: Path) -> str:
    try:
        return (versions.CHECKOUT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""  # not text


def licence_lines() -> Iterator[str]:
    for path in files(*CODE):
        if SPDX not in "\n".join(_text(path).splitlines()[:3]):
            yield f"{path}:1: a source file begins with its licence, got none; add {SPDX}"


def _hosts_in(text: str) -> set[str]:
    return {host for url in re.findall(r"https?://[^\s,|'\"]+", text) if (host := urlsplit(url).hostname)}


def package_hosts() -> set[str]:
    """Where this machine gets packages from, by asking its package tools. No project file needs them."""
    found = set()
    try:
        from pip._internal.models.index import PyPI

        found |= _hosts_in(PyPI.url)
    except ImportError:
        pass
    go = [golang.go(), "env", "GOPROXY", "GOSUMDB"]
    pip = [sys.executable, "-m", "pip", "config", "list"]
    for argv, extra in ((go, golang.environment()), (pip, {})):
        found |= _hosts_in(command.run(argv, extra=extra, check=False).out)
    sources = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    for source in sources:
        if source.is_file():
            found |= _hosts_in(_text(source))
    return found


def machine_names(hosts: set[str] | None = None) -> Iterator[str]:
    """Paths and hosts that only mean something on the machine where they were written."""
    places = {versions.CHECKOUT: "this checkout", cache.root(): "this machine's cache", Path.home(): "a home folder"}
    names = {
        r"(?<![\w.})-])" + re.escape(str(place)) + r"(?![\w.-])": f"{what} as an absolute path"
        for place, what in places.items()
        if len(place.parts) > 2  # /src and /root are names that images and examples use too
    }
    for host in package_hosts() if hosts is None else hosts:
        names[r"(?<![\w.-])" + re.escape(host) + r"(?![\w-]|\.\w)"] = "the host of a package source"
    rules = [(re.compile(pattern), what) for pattern, what in names.items()]
    for path in files():
        for number, line in enumerate(_text(path).splitlines(), 1):
            for pattern, what in rules:
                if match := pattern.search(line):
                    yield f"{path}:{number}: names {what}, got {match[0]}; say it without"


def dead_links() -> Iterator[str]:
    """Relative links of Markdown files that lead nowhere."""
    for path in files(".md"):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", _text(path), flags=re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            name = target.split("#")[0]
            if not name or re.match(r"[a-z]+:", name):
                continue
            if not ((versions.CHECKOUT / path).parent / name).exists():
                yield f"{path}: a link leads nowhere, got {target}; write the path from this file's folder"


def shell_scripts() -> list[Path]:
    """By name or by first line."""
    found = []
    for path in files():
        with (versions.CHECKOUT / path).open("rb") as handle:
            first = handle.readline(80)
        if path.suffix == ".sh" or re.match(rb"#!\s*/(usr/)?bin/(env )?(ba|da)?sh\b", first):
            found.append(path)
    return found


def unknown_targets() -> Iterator[str]:
    """Makefile targets that documents and workflows name but that do not exist."""
    known = set(re.findall(r"^([a-z][a-z0-9-]*):", _text(Path("Makefile")), re.M))
    for path in files(".md", ".yml", ".yaml"):
        for number, line in enumerate(_text(path).splitlines(), 1):
            for target in re.findall(r"(?:^\s*|`|run: |\$ |&& |- )make ([a-z][a-z0-9-]*)", line):
                if target not in known:
                    yield f"{path}:{number}: the Makefile has no such target, got make {target}; see make help"
