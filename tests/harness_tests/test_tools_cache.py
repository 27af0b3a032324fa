# SPDX-License-Identifier: Apache-2.0
"""The cache: whole entries only, one maker at a time."""

import subprocess
import sys
import textwrap
import time

import pytest

from tests.harness import cache

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GPU_SIM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_root_follows_the_environment(tmp_path, monkeypatch):
    assert cache.root() == tmp_path / "cache"
    monkeypatch.delenv("GPU_SIM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert str(cache.root()) == "/somewhere/gpu-sim"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/of/someone")
    assert str(cache.root()) == "/home/of/someone/.cache/gpu-sim"


def test_digest_depends_on_every_part_and_on_where_it_ends():
    names = {cache.digest(*parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["c", "ab"])}
    assert len(names) == 4
    assert cache.digest("ab", b"c") == cache.digest(b"ab", "c")


def test_an_entry_is_made_once():
    made = []

    def build(folder):
        made.append(folder)
        (folder / "file").write_text("content")

    first = cache.entry("kind", "key", build)
    second = cache.entry("kind", "key", build)
    assert made == [first] and second == first
    assert (first / "file").read_text() == "content"
    assert cache.entry("kind", "other", build) != first and len(made) == 2


def test_a_failed_entry_is_not_used_and_starts_empty():
    def fails(folder):
        (folder / "half").write_text("")
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        cache.entry("kind", "key", fails)
    assert not cache.is_complete(cache.root() / "kind" / "key")
    seen = []
    cache.entry("kind", "key", lambda folder: seen.extend(folder.iterdir()))
    assert seen == []


MAKER = """
    import pathlib, sys, time
    from tests.harness import cache
    def build(folder):
        pathlib.Path(sys.argv[1]).open("a").write("made\\n")
        (folder / "half").write_text("")
        time.sleep(float(sys.argv[2]))
        (folder / "half").rename(folder / "whole")
    folder = cache.entry("kind", "key", build)
    assert (folder / "whole").is_file()
"""


def _maker(log, seconds):
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(MAKER), str(log), str(seconds)])


def test_two_processes_make_one_entry(tmp_path):
    makers = [_maker(tmp_path / "log", 0.5) for _ in range(3)]
    assert [maker.wait(30) for maker in makers] == [0, 0, 0]
    assert (tmp_path / "log").read_text() == "made\n"


def test_an_entry_whose_maker_was_killed_is_made_again(tmp_path, own_cache):
    maker = _maker(tmp_path / "log", 60)
    deadline = time.monotonic() + 20
    while not (own_cache / "kind" / "key" / "half").exists():
        assert time.monotonic() < deadline, "the maker did not begin within 20 s"
        time.sleep(0.02)
    maker.kill()
    maker.wait()
    assert _maker(tmp_path / "log", 0).wait(30) == 0
    assert (tmp_path / "log").read_text() == "made\nmade\n"


def test_who_waits_for_another_maker_is_told(tmp_path):
    with cache.locked("name"):
        script = """if True:
            from tests.harness import cache
            with cache.locked("name", lambda: print("waits", flush=True)):
                print("in")"""
        other = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert other.stdout.readline() == "waits\n"
    assert other.stdout.readline() == "in\n" and other.wait(10) == 0
