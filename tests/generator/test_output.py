# SPDX-License-Identifier: Apache-2.0
"""Files are replaced as a whole or not at all, nobody's work is lost, and every way out has its own exit code."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from generator import render
from tests.generator.conftest import REPOSITORY

pytestmark = pytest.mark.unit


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_written_once_then_unchanged(generate) -> None:
    first = generate("--branch", "feat-x", "--gpus", "3")
    written = Path("values/feat-x.yaml").stat()
    again = generate("--branch", "feat-x", "--gpus", "3")
    assert first.out.startswith(
        "wrote     values/feat-x.yaml\nbranch    feat-x  (from --branch)\nrelease   gpu-sim-feat-x\n"
    )
    assert again.out == first.out.replace("wrote    ", "unchanged")
    assert (first.code, again.code) == (0, 0)
    now = Path("values/feat-x.yaml").stat()
    assert (now.st_ino, now.st_mtime_ns) == (written.st_ino, written.st_mtime_ns), "the file was touched"


def test_other_content_is_kept_without_force(generate) -> None:
    generate("--branch", "feat-x", "--gpus", "3")
    with Path("values/feat-x.yaml").open("a") as file:
        file.write("hostRoot: /opt/mine\n")
    mine = Path("values/feat-x.yaml").read_text()
    refused = generate("--branch", "feat-x", "--gpus", "5")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        "values/feat-x.yaml: exists with other content; add --force to replace it, or give another name with --output\n"
    )
    assert Path("values/feat-x.yaml").read_text() == mine
    forced = generate("--branch", "feat-x", "--gpus", "5", "--force")
    assert (forced.code, forced.err) == (0, "")
    assert "deviceCount: 5\n" in Path("values/feat-x.yaml").read_text()
    assert names_in(Path("values")) == ["feat-x.yaml"]


@pytest.mark.parametrize("name", ["branch", "a100-x4", "faults", "h100-x8", "h100-x16", "t4-x2", "everything"])
def test_a_shipped_file_is_never_taken(generate, folder: Path, name: str) -> None:
    for more in ([], ["--force"]):
        ran = generate("--branch", name, "--gpus", "3", *more)
        assert ran.code == 1
        what = "is the name of a file that comes with gpu-sim; name another file with --output FILE"
        assert ran.err == f"values/{name}.yaml: {what}\n"
        assert list(folder.iterdir()) == []
    ran = generate("--branch", name, "--gpus", "3", "--output", "mine.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert f"release   gpu-sim-{name}\n" in ran.out
    assert names_in(folder) == ["mine.yaml"]


def test_what_the_generator_wrote_is_not_shipped(generate, folder: Path, monkeypatch) -> None:
    """In a checkout the branches' files lie beside the shipped ones."""
    root = folder / "checkout"
    root.mkdir()
    for name in ("charts", "native"):
        (root / name).symlink_to(REPOSITORY / name)
    (root / "values").mkdir()
    (root / "values" / "taken.yaml").write_text("gpuSim: {deviceCount: 2}\n")
    monkeypatch.chdir(root)
    assert generate("--branch", "feat-x", "--gpus", "3").code == 0
    assert generate("--branch", "feat-x", "--gpus", "5", "--force").code == 0
    assert "comes with gpu-sim" in generate("--branch", "taken", "--gpus", "5").err


def test_stdout_is_the_file_and_nothing_else(generate, folder: Path) -> None:
    printed = generate("--branch", "feat-x", "--gpus", "3", "--stdout")
    assert list(folder.iterdir()) == []
    generate("--branch", "feat-x", "--gpus", "3")
    assert printed.out == Path("values/feat-x.yaml").read_text()
    assert "release   gpu-sim-feat-x\n" in printed.err
    assert printed.command("helm install") == f"helm install gpu-sim-feat-x {REPOSITORY}/charts/gpu-sim -f -"


def test_through_a_link_the_target_is_replaced(generate, folder: Path) -> None:
    (folder / "real").write_text("old: 1\n")
    (folder / "link.yaml").symlink_to("real")
    assert generate("--branch", "feat-x", "--gpus", "3", "--output", "link.yaml", "--force").code == 0
    assert (folder / "link.yaml").is_symlink()
    assert "deviceCount: 3" in (folder / "real").read_text()
    assert names_in(folder) == ["link.yaml", "real"]


def test_the_mode_of_a_file_stays(generate, folder: Path) -> None:
    file = folder / "x.yaml"
    file.write_text("")
    file.chmod(0o640)
    assert generate("--branch", "feat-x", "--output", "x.yaml", "--force").code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    before = os.umask(0o027)
    try:
        assert generate("--branch", "feat-x", "--output", "y.yaml").code == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "y.yaml").stat().st_mode) == 0o640


@pytest.mark.parametrize("output", ["", "-"])
def test_what_is_no_file_name(generate, folder: Path, output: str) -> None:
    ran = generate("--branch", "feat-x", f"--output={output}")
    assert (ran.code, ran.err) == (1, f'command line:--output: is no file\'s name, got "{output}"; use --stdout\n')
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (
            "missing/x.yaml",
            "missing/x.yaml: cannot be written (No such file or directory); choose a writable place with --output\n",
        ),
        (
            "a-file/x.yaml",
            "a-file/x.yaml: cannot be written (Not a directory); choose a writable place with --output\n",
        ),
        (".", ".: is no regular file; give another name with --output, or use --stdout\n"),
        ("/dev/null", "/dev/null: is no regular file; give another name with --output, or use --stdout\n"),
        ("x" * 300, f"{'x' * 300}: cannot be written (File name too long); choose a writable place with --output\n"),
    ],
)
def test_where_no_file_can_be(generate, folder: Path, output: str, message: str) -> None:
    (folder / "a-file").write_text("")
    for more in ([], ["--force"]):
        ran = generate("--branch", "feat-x", "--output", output, *more)
        assert (ran.code, ran.out, ran.err) == (1, "", message)
    assert names_in(folder) == ["a-file"]


def test_where_values_is_a_file(generate, folder: Path) -> None:
    (folder / "values").write_text("")
    ran = generate("--branch", "feat-x")
    assert (ran.code, ran.err) == (1, "values: cannot be made (File exists); name a file with --output FILE\n")


def test_a_failed_write_leaves_the_old_file(generate, folder: Path, monkeypatch) -> None:
    generate("--branch", "feat-x", "--gpus", "3")
    old = Path("values/feat-x.yaml").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(render.os, "fsync", full)
    ran = generate("--branch", "feat-x", "--gpus", "5", "--force")
    assert ran.code == 1
    assert (
        ran.err
        == "values/feat-x.yaml: cannot be written (No space left on device); choose a writable place with --output\n"
    )
    assert Path("values/feat-x.yaml").read_bytes() == old
    assert names_in(Path("values")) == ["feat-x.yaml"]


def test_a_text_that_would_not_come_back_is_our_bug(generate, folder: Path, monkeypatch) -> None:
    """Were a string not quoted, helm would read a number: that never reaches a file."""
    monkeypatch.setattr(render, "yaml_string", lambda text: text)
    ran = generate("--branch", "1e3", "--gpus", "3")
    assert ran.code == 3
    assert ran.err.startswith(
        "generator: this is a bug (AssertionError: the file would not come back as it was meant: "
    )
    assert ran.err.endswith("; please report it, with what GPU_SIM_DEBUG=1 adds\n")
    assert "Traceback" not in ran.err
    assert not list(folder.rglob("*.yaml"))
    monkeypatch.setenv("GPU_SIM_DEBUG", "1")
    assert "Traceback" in generate("--branch", "1e3", "--gpus", "3").err


def test_a_closed_reader_and_a_full_disk(generate_apart) -> None:
    read, write = os.pipe()
    os.close(read)
    closed = subprocess.run(
        [sys.executable, "-m", "generator", "--list-profiles"],
        stdout=write,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        check=False,
    )
    os.close(write)
    assert (closed.returncode, closed.stderr) == (1, b"")
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "generator", "--branch", "x", "--stdout"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
            check=False,
        )
    assert ran.returncode == 1
    assert ran.stderr.decode() == "standard output: cannot be written (No space left on device); write it elsewhere\n"


def test_interrupted(folder: Path) -> None:
    """SIGINT while git is asked: exit code 130, silently."""
    slow = folder / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\n: > asked\nexec sleep 60\n")
    slow.chmod(0o755)
    environment = os.environ | {"PATH": f"{slow.parent}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY)}
    running = subprocess.Popen(
        [sys.executable, "-m", "generator"], stderr=subprocess.PIPE, env=environment, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a background job ignores it
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not (folder / "asked").exists():
        assert time.monotonic() < deadline, "git was not asked within 30 s"
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)
    assert (running.wait(30), running.stderr.read()) == (130, b"")


def test_in_a_directory_that_is_gone(generate, folder: Path, monkeypatch) -> None:
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    ran = generate("--branch", "feat-x")
    monkeypatch.chdir(folder)
    assert (ran.code, ran.err) == (1, "current directory: does not exist any more; go to another one\n")


def test_version_and_help(generate) -> None:
    version = generate("--version")
    assert (version.code, version.out.split()[0]) == (0, "0.1.0")
    text = generate("--help")
    assert text.code == 0
    for option in ("--gpus", "--dedicated", "--quota", "--output", "check FILE"):
        assert option in text.out
