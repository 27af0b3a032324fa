# SPDX-License-Identifier: Apache-2.0
"""Where Debian packages come from, the real nvidia-smi too: the machine's own source in either form, or nowhere."""

from __future__ import annotations

import pytest

from tests.harness import cache, debian_packages, nvidia_smi

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sources.list", "# deb http://old.example/debian x main\ndeb http://a.example/debian bookworm main\n"),
        (
            "sources.list",
            "deb [signed-by=/k.gpg arch=amd64] https://a.example:8443/mirror/debian/ bookworm main contrib\n",
        ),
        ("sources.list.d/debian.sources", "Types: deb\nURIs: http://a.example/debian\nSuites: bookworm\n"),
        (
            "sources.list.d/debian.list",
            "deb http://a.example/debian-security x main\ndeb http://a.example/debian x main\n",
        ),
    ],
)
def test_the_machines_own_source(tmp_path, name, text):
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / name).write_text(text)
    found = debian_packages.mirror(tmp_path)
    assert found in text
    assert found.rstrip("/").endswith("/debian")
    assert "//a.example" in found


@pytest.mark.parametrize(
    "text", ["", "deb http://a.example/ubuntu noble main\n", "#deb http://a.example/debian x main\n"]
)
def test_no_source_of_debian(tmp_path, text):
    (tmp_path / "sources.list").write_text(text)
    with pytest.raises(debian_packages.UnavailableError, match=r"no source of Debian packages.*they cannot be fetched"):
        debian_packages.mirror(tmp_path)


def test_without_apt_it_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(debian_packages.UnavailableError, match="apt-get, dpkg-deb: not on this machine"):
        nvidia_smi.program("bookworm")


def test_a_fetch_that_fails_is_told_with_its_command_and_nothing_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("GPU_SIM_CACHE", str(tmp_path))
    monkeypatch.setattr(debian_packages, "mirror", lambda: "http://127.0.0.1:1/debian")
    monkeypatch.setattr(debian_packages.shutil, "which", lambda name: "/usr/bin/true")
    monkeypatch.setattr(nvidia_smi.command, "run", failing)
    with pytest.raises(debian_packages.UnavailableError, match=r"apt-get failed\n  \$ apt-get update"):
        nvidia_smi.program("bookworm")
    assert not cache.is_complete(tmp_path / "nvidia-smi" / "bookworm")


def failing(argv, **options):
    raise nvidia_smi.command.CommandError("apt-get update", "apt-get failed")
