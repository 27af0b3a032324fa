# SPDX-License-Identifier: Apache-2.0
"""A developer's machine with a real driver: the embedded nodes share its /usr, and are simulated all the same."""

from __future__ import annotations

import pytest

from tests.harness.embedded import host_driver
from tests.harness.helm import Helm

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("there", ["nothing", "version", "lib/x86_64-linux-gnu/libnvidia-ml.so.1", "lib/libother.so.1"])
def test_a_driver_is_seen_as_the_installer_would_see_it(tmp_path, there: str) -> None:
    version, usr = tmp_path / "version", tmp_path / "usr"
    if there == "version":
        version.touch()
    elif there != "nothing":
        (usr / there).parent.mkdir(parents=True)
        (usr / there).touch()
    assert host_driver.found(version, usr) is (there in ("version", "lib/x86_64-linux-gnu/libnvidia-ml.so.1"))


def test_every_install_and_upgrade_allows_it(monkeypatch) -> None:
    monkeypatch.setattr(host_driver, "found", lambda: True)
    helm, ran = Helm("helm", always=host_driver.options()), []
    monkeypatch.setattr(helm, "run", lambda *words: ran.append(words))
    helm.install("r", "chart", values=["file"])
    helm.upgrade("r", "chart", values=["file"])
    assert [words[0] for words in ran] == ["install", "upgrade"]
    assert all(words[-2:] == ("--set", "allowForeign=true") for words in ran)
    monkeypatch.setattr(host_driver, "found", lambda: False)
    assert host_driver.options() == []
