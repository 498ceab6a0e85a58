"""Real child processes: bounds, output, secrets."""

import sys
import time

import pytest
from nodelib.errors import StepError, StepTimeoutError
from nodelib.runner import ProcessRunner

RUNNER = ProcessRunner()


def test_late_command_is_killed_with_its_children() -> None:
    start = time.monotonic()
    with pytest.raises(StepTimeoutError, match=r"sh -c echo begun; sleep 30 & wait: not done after 0\.3 s: begun"):
        RUNNER.run(["sh", "-c", "echo begun; sleep 30 & wait"], timeout_seconds=0.3)
    assert time.monotonic() - start < 5


def test_daemon_left_behind_does_not_hold_the_step_up() -> None:
    start = time.monotonic()
    result = RUNNER.run(["sh", "-c", "sleep 2 & echo done"])
    assert (result.stdout, time.monotonic() - start < 1.5) == ("done\n", True)


def test_failure_carries_exit_code_and_the_end_of_the_output() -> None:
    with pytest.raises(StepError, match=r"exit code 3: one \| two$"):
        RUNNER.run(["sh", "-c", "echo one >&2; echo two >&2; exit 3"])


def test_secret_output_is_in_no_message() -> None:
    with pytest.raises(StepError) as caught:
        RUNNER.run(["sh", "-c", "cat; exit 1"], stdin="hunter2", secret=True)
    assert "hunter2" not in str(caught.value)


def test_missing_program_is_named() -> None:
    with pytest.raises(StepError, match="no-such-program: cannot be started: No such file or directory"):
        RUNNER.run(["no-such-program"])


def test_child_finds_home_slurm_and_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    result = RUNNER.run(["sh", "-c", 'cat; echo "$HOME $PATH"'], stdin="given ")
    assert result.stdout.startswith("given /root /opt/slurm/bin:/opt/slurm/sbin:")


def test_only_the_end_of_a_long_output_is_kept() -> None:
    result = RUNNER.run([sys.executable, "-c", "print('x' * 200_000 + 'end')"])
    assert len(result.stdout) == 64 * 1024
    assert result.stdout.endswith("xend\n")
