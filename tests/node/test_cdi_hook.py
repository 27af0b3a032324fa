# SPDX-License-Identifier: Apache-2.0
"""The program as nvidia-cdi-hook: links inside a container's root, nothing outside it, and never a failed container."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.node.bundle import LIBRARY, Bundle

pytestmark = pytest.mark.native
PLANTED = f"planted-{os.getpid()}"


@pytest.fixture(autouse=True)
def nothing_planted():
    """What a hook that does escape has left on this machine."""
    yield
    for folder in ("/", "/etc", "/tmp", "/usr/lib64", "."):
        for name in (PLANTED, f"{PLANTED}-too"):
            Path(folder, name).unlink(missing_ok=True)


def test_links_as_the_plugins_specification_asks(bundle: Bundle) -> None:
    words = ["--link", f"{LIBRARY}::/usr/lib64/libnvidia-ml.so.1"]
    words += ["--link=libnvidia-ml.so.1::/usr/lib64/libnvidia-ml.so"]
    assert bundle.run("create-symlinks", *words) == ""
    assert bundle.names() == [
        "usr/lib64/libnvidia-ml.so -> libnvidia-ml.so.1",
        f"usr/lib64/libnvidia-ml.so.1 -> {LIBRARY}",
    ]
    assert bundle.run("create-symlinks", *words) == "", "again is fine"


def test_missing_folders_are_made_and_what_is_there_is_replaced(bundle: Bundle) -> None:
    (bundle.root / "file").write_text("old")
    (bundle.root / "link").symlink_to("elsewhere")
    bundle.run("create-symlinks", "--link", "../x::/a/b/c", "--link", "y::/file", "--link", "/z::link")
    assert bundle.names() == ["a/b/c -> ../x", "file -> y", "link -> /z"]
    assert not list(bundle.root.rglob(".gpu-sim*"))


def test_a_folder_in_the_way_stays(bundle: Bundle) -> None:
    (bundle.root / "folder/sub").mkdir(parents=True)
    bundle.link("x", "/folder", said="/folder cannot be made a link")
    assert (bundle.root / "folder/sub").is_dir()


@pytest.mark.parametrize(
    "way",
    ["/etc", "/../../../../../../etc", "../../../outside", "{outside}", "/proc/self/root/etc", "/proc/self/cwd"],
)
def test_links_of_an_image_lead_nowhere_outside(bundle: Bundle, tmp_path: Path, way: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    before = sorted(Path("/etc").iterdir()), sorted(Path().iterdir())
    (bundle.root / "evil").symlink_to(way.format(outside=outside))
    bundle.link("x", f"/evil/{PLANTED}")
    bundle.link("x", f"/evil/../{PLANTED}-too")
    assert list(outside.iterdir()) == []
    assert (sorted(Path("/etc").iterdir()), sorted(Path().iterdir())) == before
    planted = [line for line in bundle.names() if line.endswith(" -> x")]
    assert len(planted) == 2, "it belongs where the container itself will see that path"


def test_an_absolute_link_begins_at_the_containers_root(bundle: Bundle) -> None:
    (bundle.root / "a/b").mkdir(parents=True)
    (bundle.root / "a/b/way").symlink_to("/c/d")
    bundle.link("x", "/a/b/way/../name")
    assert bundle.names() == ["a/b/way -> /c/d", "c/name -> x"]


def test_dots_cannot_climb_out(bundle: Bundle, tmp_path: Path) -> None:
    bundle.link("x", f"/../../../../../../../../../../../../../tmp/{PLANTED}")
    bundle.link("x", f"a/../../../b/../../../../{PLANTED}")
    assert f"tmp/{PLANTED} -> x" in bundle.names()
    assert f"{PLANTED} -> x" in bundle.names()
    assert not Path(f"/tmp/{PLANTED}").is_symlink()
    assert not (tmp_path / PLANTED).is_symlink()


def test_the_last_name_is_not_followed(bundle: Bundle, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("kept")
    (bundle.root / "name").symlink_to(target)
    bundle.link("x", "/name")
    assert target.read_text() == "kept"
    assert bundle.names() == ["name -> x"]


def test_rings_of_links_and_long_names_end(bundle: Bundle) -> None:
    (bundle.root / "a").symlink_to("b")
    (bundle.root / "b").symlink_to("a")
    bundle.link("x", "/a/name", said="Too many levels")
    bundle.link("x", "/" + "n" * 300, said="File name too long")
    bundle.link("x", "/" + "d/" * 3000 + "x", said="File name too long")
    (bundle.root / "deep").symlink_to("/".join(["deep"] * 500))
    bundle.link("x", "/deep/x", said="cannot be made")


@pytest.mark.parametrize("link", ["", "x", "::", "x::", "::y", "x::/", "x::/.", "x::/a/.."])
def test_link_specifications_that_are_none(bundle: Bundle, link: str) -> None:
    assert bundle.run("create-symlinks", "--link", link)
    assert bundle.names() == []


@pytest.mark.parametrize(
    "state",
    ["", "{", "null", "[]", '{"bundle":', '{"bundle":7}', '{"bundle":""}', '{"bundle":"/nonexistent"}', "[" * 200000,
     '{"bundle":"/' + "x" * 9000 + '"}', '{"root":"/"}', '{"root":"/../.."}', '{"root":"//"}', "\\", '{"a":"\\u12"}'],
)  # fmt: skip
def test_a_state_that_is_none_changes_nothing(bundle: Bundle, state: str) -> None:
    assert bundle.run("create-symlinks", "--link", f"x::/usr/lib64/{PLANTED}", state=state)
    assert bundle.names() == []
    assert not Path(f"/usr/lib64/{PLANTED}").is_symlink()


@pytest.mark.parametrize(
    "config", ["", "{", '{"root":{}}', '{"root":{"path":""}}', '{"root":{"path":"/"}}', '{"root":[]}']
)
def test_a_specification_that_is_none_changes_nothing(bundle: Bundle, config: str) -> None:
    bundle.configure(config)
    bundle.link("x", f"/usr/lib64/{PLANTED}")
    assert bundle.names() == []
    assert not (bundle.folder / "usr").exists()


def test_roots_named_in_other_ways(bundle: Bundle, tmp_path: Path) -> None:
    other = tmp_path / "other root"
    other.mkdir()
    bundle.configure({"annotations": {"root": {"path": "/wrong"}}, "root": {"path": str(other)}})
    bundle.link("x", "/absolute")
    bundle.link("x", "/by-crun", state={"bundle": "/nonexistent", "root": str(other)})
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"bundle": str(bundle.folder), "annotations": {"text": 'a"}\\ud83d\\ude00{'}}))
    bundle.run("create-symlinks", "--container-spec", str(state), "--link", "x::/by-file", state="garbage")
    assert sorted(path.name for path in other.iterdir()) == ["absolute", "by-crun", "by-file"]


@pytest.mark.parametrize(
    "words",
    [(), ("enable-cuda-compat", "--host-driver-version=550"), ("disable-device-node-modification",), ("noop",),
     ("chmod", "--mode", "755"), ("update-application-profile",), ("hook-of-tomorrow", "--flag"), ("--debug",)],
)  # fmt: skip
def test_other_hooks_do_nothing(bundle: Bundle, words: tuple[str, ...]) -> None:
    assert bundle.run(*words, state="") == ""
    assert bundle.names() == []


def test_unknown_options_are_passed_over(bundle: Bundle) -> None:
    bundle.run("--debug", "create-symlinks", "--new-flag", "--link", "x::/y", "--ldconfig-path")
    assert bundle.names() == ["y -> x"]
