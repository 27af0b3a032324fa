# SPDX-License-Identifier: Apache-2.0
# From a branch's name to its slug (a DNS label) and its Helm release. Called by values.py and cli.py. Two branches
# never share a slug: a name that already is a slug is kept, any other gets a hash of its bytes; a kept one never ends
# like a hashed one. Nothing here may depend on the version of Python or Unicode: clusters hold releases named by it.

from __future__ import annotations

import hashlib
import re
import unicodedata

RELEASE_PREFIX = "gpu-sim-"
# The chart names its DaemonSet like the release, up to 52 characters (Helm would allow 53). The prefix keeps the
# release apart from the team's own, which is often named by the branch too.
MAX_RELEASE = 52
MAX_SLUG = MAX_RELEASE - len(RELEASE_PREFIX)
HASH_DIGITS = 10

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_HASHED = re.compile(rf".*-[0-9a-f]{{{HASH_DIGITS}}}")
# Latin letters with marks, whose decomposition has long been fixed: é reads as e.
_LATIN = re.compile("[\u00c0-\u024f\u1e00-\u1eff]")
_MARKS = re.compile("[\u0300-\u036f]")


def slug_of(branch: str) -> str:
    if len(branch) <= MAX_SLUG and _LABEL.fullmatch(branch) and not _HASHED.fullmatch(branch):
        return branch
    plain = _LATIN.sub(lambda letter: unicodedata.normalize("NFKD", letter.group()), branch)
    words = re.sub("[^a-z0-9]+", "-", _MARKS.sub("", plain).lower()).strip("-")
    digest = hashlib.sha256(branch.encode(errors="surrogateescape")).hexdigest()[:HASH_DIGITS]
    stem = words[: MAX_SLUG - HASH_DIGITS - 1].strip("-") or "branch"
    return f"{stem}-{digest}"


def release_of(slug: str) -> str:
    return RELEASE_PREFIX + slug
