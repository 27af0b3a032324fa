# SPDX-License-Identifier: Apache-2.0
"""Commands: what a reader of a failure is shown."""

import sys
import time

import pytest

from tests.harness import command

pytestmark = pytest.mark.unit


def test_the_shown_command_can_be_pasted(tmp_path):
    odd = ["printf", "%s|", "two words", "quo'te", "$HOME", ""]
    shown = command.display(odd, cwd=tmp_path, extra={"A": "b c"})
    assert shown == f"""cd {tmp_path} && A='b c' printf '%s|' 'two words' 'quo'"'"'te' '$HOME' ''"""
    assert command.run(["sh", "-c", shown]).out == "two words|quo'te|$HOME||"


def test_a_failure_shows_command_code_and_both_streams():
    with pytest.raises(command.CommandError) as failed:
        command.run(["sh", "-c", "echo to-out; echo to-err >&2; exit 7"])
    text = str(failed.value)
    assert "sh failed with exit code 7" in text and failed.value.code == 7
    assert "$ sh -c 'echo to-out; echo to-err >&2; exit 7'" in text
    assert "| to-out" in text and "| to-err" in text


def test_long_output_keeps_its_end():
    with pytest.raises(command.CommandError) as failed:
        command.run(["sh", "-c", "seq 500; exit 1"])
    lines = str(failed.value).splitlines()
    assert lines[-1] == "  | 500" and "… 440 lines before" in lines[2] and len(lines) == 2 + 1 + command.SHOWN


def test_a_signal_is_named():
    with pytest.raises(command.CommandError, match="was ended by signal SIGTERM"):
        command.run(["sh", "-c", "kill -TERM $$"])


def test_a_program_that_is_not_there():
    with pytest.raises(command.CommandError, match="no-such-program could not be started: No such file"):
        command.run(["no-such-program", "--flag"])


def test_a_time_out_ends_the_whole_group(tmp_path):
    began = time.monotonic()
    with pytest.raises(command.CommandError, match=r"sh did not end within 0.3 s"):
        command.run(["sh", "-c", f"(sleep 2; touch {tmp_path}/alive) & wait"], timeout=0.3)
    assert time.monotonic() - began < 1.5
    time.sleep(max(0, began + 2.5 - time.monotonic()))
    assert not (tmp_path / "alive").exists()


def test_input_environment_and_unchecked_codes():
    done = command.run(["sh", "-c", "cat; echo $ADDED; exit 3"], stdin="given ", extra={"ADDED": "value"}, check=False)
    assert (done.code, done.out, done.err) == (3, "given value\n", "")


def test_follow_hands_over_lines_and_fails_like_run():
    seen = []
    program = "import sys; print('one', flush=True); print('two', file=sys.stderr, flush=True); sys.exit(5)"
    with pytest.raises(command.CommandError, match="failed with exit code 5") as failed:
        command.follow([sys.executable, "-c", program], seen.append)
    assert seen == ["one", "two"] and "| two" in str(failed.value)
