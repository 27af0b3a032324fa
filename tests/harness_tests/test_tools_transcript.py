# SPDX-License-Identifier: Apache-2.0
"""The README's session: what is shown of a run, and that a README without its marks is left alone."""

from __future__ import annotations

import pytest

from tests.harness import transcript

pytestmark = pytest.mark.unit


def test_each_command_stands_before_what_it_printed():
    printed = "unseen\n\x1emake up\n  4 GPUs  \n\nready\n\x1ekubectl get pods\n"
    assert transcript.shown(printed) == "    $ make up\n      4 GPUs\n\n    ready\n\n    $ kubectl get pods"


def test_what_runs_unseen_is_not_shown_and_quotes_survive():
    script = transcript.script()
    assert "\n{ kubectl wait pod first second --for=condition=Ready --timeout=60s; } >/dev/null\n" in script
    assert "printf '\\x1e%s\\n' 'eval \"$(make env)\"'\neval \"$(make env)\"" in script


def test_a_readme_without_marks_is_named_and_nothing_runs(monkeypatch, tmp_path, capsys):
    readme = tmp_path / "README.md"
    readme.write_text("no marks\n")
    monkeypatch.setattr(transcript, "README", readme)
    monkeypatch.setattr(transcript.subprocess, "run", lambda *_, **__: pytest.fail("a command was run"))
    assert transcript.main() == 1
    assert "needs one '<!-- transcript: generated, make transcript -->'" in capsys.readouterr().err
    assert readme.read_text() == "no marks\n"


def test_the_readme_holds_the_session_as_it_is_now():
    block = transcript.README.read_text().split(transcript.BEGIN)[1].split(transcript.END)[0]
    commands = [line[6:] for line in block.splitlines() if line.startswith("    $ ")]
    assert commands == [shown for shown, _ in transcript.SESSION]
