# SPDX-License-Identifier: Apache-2.0
"""What the system's packages bring: found by program, said before it is installed, advised where it cannot be."""

import shutil
from pathlib import Path

import pytest

from tests.harness import command, debian

pytestmark = pytest.mark.unit


def need(name, package, found):
    return debian.Need(name, package, f"why {name}", lambda: found["found"])


@pytest.fixture
def apt(monkeypatch):
    """A root with apt-get that makes a need found."""
    calls, state = [], {"found": False, "works": True}

    def run(argv, **_):
        calls.append([str(word) for word in argv])
        state["found"] = state["works"] and "install" in argv
        return command.Result(0, "", "")

    monkeypatch.setattr(debian.command, "run", run)
    monkeypatch.setattr(debian, "which", lambda program: f"/usr/bin/{program}" if program == "apt-get" else None)
    monkeypatch.setattr(debian.os, "geteuid", lambda: 0)
    return calls, state


def test_nothing_missing_runs_nothing(apt):
    said = []
    debian.install([], said.append)
    assert apt[0] == [] and said == []


def test_it_is_said_before_it_is_done(apt):
    calls, state = apt
    said = []

    def say(text):
        assert calls == []
        said.append(text)

    debian.install([need("runc", "runc-package", state), need("nft", "nft-package", state)], say)
    assert said == ["gpu-sim: installing Debian packages with apt-get:\n"
                    "  runc: why runc (Debian: runc-package)\n  nft: why nft (Debian: nft-package)"]  # fmt: skip
    assert [call[-1] for call in calls] == ["update", "runc-package"]
    assert calls[1][-5:] == ["install", "-y", "--no-install-recommends", "nft-package", "runc-package"]


def test_an_installation_that_brought_nothing_fails(apt):
    apt[1]["works"] = False
    with pytest.raises(debian.MissingError, match=r"installed, but still not found:\n  runc \(from runc-package\)"):
        debian.install([need("runc", "runc-package", apt[1])], lambda text: None)


def test_not_root_gets_the_whole_list_and_the_command(apt, monkeypatch):
    monkeypatch.setattr(debian.os, "geteuid", lambda: 1000)
    with pytest.raises(debian.MissingError) as refused:
        debian.install([need("runc", "one", apt[1]), need("nft", "two", apt[1])], lambda text: None)
    text = str(refused.value)
    assert "runc: why runc" in text and "nft: why nft" in text
    assert text.endswith("not root, so nothing was installed; apt-get install one two")
    assert apt[0] == []


def test_another_distribution_is_told_to_use_its_own(apt, monkeypatch):
    monkeypatch.setattr(debian, "which", lambda program: None)
    with pytest.raises(
        debian.MissingError, match=r"no apt-get here, .*your system's package manager \(Debian calls them one\)"
    ):
        debian.install([need("runc", "one", apt[1])], lambda text: None)


def test_every_need_is_looked_for_by_what_it_brings(monkeypatch):
    """Nothing on PATH and no folder: all of them are missing, none by package name."""
    monkeypatch.setattr(debian, "which", lambda program: None)
    monkeypatch.setattr(debian, "CNI_FOLDERS", ())
    assert {n.package for n in debian.missing("cluster")} == {
        "runc", "containernetworking-plugins", "iptables", "nftables", "conntrack", "iproute2", "kmod", "mount",
        "util-linux", "busybox-static"}  # fmt: skip


def test_sbin_is_searched_though_path_lacks_it(monkeypatch, tmp_path):
    program = tmp_path / "runc"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(debian, "SYSTEM_PATH", str(tmp_path))
    assert debian.which("runc") == str(program)


def test_a_cni_folder_needs_every_plugin(monkeypatch, tmp_path):
    monkeypatch.setattr(debian, "CNI_FOLDERS", (tmp_path / "a", tmp_path / "b"))
    for folder, names in (("a", ["ptp"]), ("b", ["ptp", "host-local", "loopback"])):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_text("")
    assert debian.cni_folder() == tmp_path / "b"


def test_static_and_dynamic_programs_are_told_apart(tmp_path):
    assert not debian.is_static(Path(shutil.which("sh")))
    (tmp_path / "script").write_text("#!/bin/sh\n")
    assert not debian.is_static(tmp_path / "script")
    header = bytearray(64 + 56)
    header[:5] = b"\x7fELF\x02"
    header[32:40] = (64).to_bytes(8, "little")  # program headers right behind
    header[54:58] = (56).to_bytes(2, "little") + (1).to_bytes(2, "little")
    header[64:68] = (1).to_bytes(4, "little")  # one PT_LOAD
    (tmp_path / "static").write_bytes(header)
    assert debian.is_static(tmp_path / "static")
    header[64:68] = (3).to_bytes(4, "little")  # PT_INTERP
    (tmp_path / "dynamic").write_bytes(header)
    assert not debian.is_static(tmp_path / "dynamic")
