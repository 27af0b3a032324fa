# SPDX-License-Identifier: Apache-2.0
"""Two branches never share a release, a slug is a DNS label, and neither ever changes."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from generator.slug import MAX_SLUG, release_of, slug_of
from tests.generator import hostile

pytestmark = pytest.mark.unit

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@pytest.mark.parametrize(
    "names",
    [
        ("feature/foo", "feature-foo", "feature_foo", "feature.foo", "feature--foo", "feature/Foo", "-feature-foo-"),
        ("Feature/Foo", "feature/foo"),
        ("x" * 32 + "/and-more", "x" * 32 + "-bc80a99005"),
        ("release/1.10", "release/1-10", "release-1-10"),
        ("a" * 60 + "x", "a" * 60 + "y", "a" * 60),
        ("a" * MAX_SLUG, "a" * (MAX_SLUG + 1), "a" * (MAX_SLUG + 2)),
        ("é", "è", "e", "e\u0301", "É"),
        ("日本", "한국", "branch"),
        ("a\udcff", "a\udcfe", "a\\xff", "a"),
        ("\u212a", "k", "K"),
        hostile.EVERY,
    ],
    ids=lambda names: names[0].encode("ascii", "backslashreplace").decode()[:20],
)
def test_branches_that_a_careless_mapping_mixes_up_stay_apart(names: tuple[str, ...]) -> None:
    slugs = {name: slug_of(name) for name in names}
    same = [pair for pair in itertools.combinations(names, 2) if slugs[pair[0]] == slugs[pair[1]]]
    assert same == []


def test_a_branch_cannot_be_named_like_the_slug_of_another() -> None:
    """Somebody pushes a branch called as the first one's slug: it must not take over that release."""
    first = slug_of("feature/foo")
    second = slug_of(first)
    assert second not in (first, slug_of(second))
    assert len({slug_of(name) for name in ("feature/foo", first, second)}) == 3


@pytest.mark.parametrize("name", ["feat-x", "a", "0", "1e3", "main", "a--b", "fix-123", "x" * MAX_SLUG, "a-0123abcde"])
def test_a_branch_that_is_a_label_keeps_its_name(name: str) -> None:
    assert slug_of(name) == name


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("feature/foo", "feature-foo-f932032607"),
        ("Ünïcode/Çase", "unicode-case-fd857da31e"),
        ("日本", "branch-cf2abf0c5b"),
        ("x" * 32 + "/and-more", "x" * 32 + "-bc80a99005"),
        ("release/1.10", "release-1-10-ce4af05604"),
    ],
)
def test_slugs_never_change(name: str, slug: str) -> None:
    """Clusters hold releases by these names; who changes the mapping orphans them. (printf %s NAME | sha256sum)"""
    assert slug_of(name) == slug


def random_name(source: random.Random) -> str:
    """Short names over few characters, so that near misses are common, and long ones that need cutting."""
    alphabet = source.choice(["ab-/", "aA-_.", "0123456789abcdef-", "aéÉe\u0301", "日本ab-", "abc-" * 3 + "/"])
    return "".join(source.choice(alphabet) for _ in range(source.choice([1, 2, 3, 4, 11, 43, 44, 45, 60])))


def test_no_two_of_many_random_branches_meet() -> None:
    source = random.Random(20)
    slugs: dict[str, str] = {}
    for _ in range(20_000):
        name = random_name(source)
        slug = slug_of(name)
        assert LABEL.fullmatch(slug), (name, slug)
        assert len(slug) <= MAX_SLUG, (name, slug)
        assert len(release_of(slug)) <= 52, (name, slug)
        assert slugs.setdefault(slug, name) == name, (name, slugs[slug], slug)
        # and a branch that is called like this slug is another branch
        twin = slug_of(slug)
        assert slugs.setdefault(twin, slug) == slug, (name, slug, twin)
    assert len(slugs) > 10_000


@pytest.mark.parametrize("name", (*hostile.EVERY, "a" * 300, "/".join("x" * 50), "---", "-a", "a-"))
def test_every_slug_is_a_dns_label(name: str) -> None:
    slug = slug_of(name)
    assert LABEL.fullmatch(slug), slug
    assert len(release_of(slug)) <= 52
