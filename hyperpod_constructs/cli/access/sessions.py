"""Sessions through the AWS CLI and its Session Manager plugin."""

from __future__ import annotations

import base64
import os
import re
import secrets
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hyperpod_constructs.cli.failures import CommandError
from hyperpod_constructs.cli.live import clock

from .target import COMMAND_DOCUMENT, Target

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAMS = {
    "aws": "install the AWS CLI, version 2",
    "session-manager-plugin": "install the Session Manager plugin of the AWS CLI",
}
_BACK_OFF_SECONDS = (1.0, 2.0, 4.0, 8.0)
"""StartSession is throttled at about three a second (FACTS 9)."""
_THROTTLED = ("ThrottlingException", "TooManyRequests", "Rate exceeded")
COMMAND_TIMEOUT_SECONDS = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What a command on a node came to: its exit code, and what it printed to either stream."""

    exit_code: int
    output: str


def need_programs(*names: str) -> None:
    """Make sure that programs are there.

    Raises:
        CommandError: with those that are not, and what to do.
    """
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        advice = "; ".join(PROGRAMS.get(name, f"install {name}") for name in missing)
        raise CommandError(f"{', '.join(missing)}: not found on PATH; {advice}")


def become(words: Sequence[str]) -> None:
    """Let another program take this one's place, terminal, signals and exit code included.

    Raises:
        CommandError: it cannot be started.
    """
    try:
        os.execvp(words[0], [*words])  # noqa: S606 - a list of words, never a shell
    except OSError as error:
        raise CommandError(f"{words[0]}: cannot be started: {error.strerror}") from None


def run_on_node(target: Target, command: str, *, timeout_seconds: float = COMMAND_TIMEOUT_SECONDS) -> Outcome:
    """Run a shell command on a node and return what it printed.

    The session's own exit code says nothing about the command's, and long output is cut without a word (field report
    T-03), so the command brings marks of its own; without the last one it counts as not run.

    Args:
        target: the node.
        command: for bash, as the user of the session.
        timeout_seconds: after this it is given up.

    Raises:
        CommandError: the session could not be had, or its end did not arrive.
    """
    mark = f"hyperpod-slurm-{secrets.token_hex(8)}"
    encoded = base64.b64encode(command.encode()).decode()
    wrapped = f"echo {mark}-begin; echo {encoded} | base64 -d | bash; code=$?; echo; echo {mark}-end:$code"
    words = target.session_command(COMMAND_DOCUMENT, {"command": [f"bash -c '{wrapped}'"]})
    for delay in (*_BACK_OFF_SECONDS, None):
        answer = _run(words, timeout_seconds)
        if delay is None or not any(text in answer.stderr for text in _THROTTLED):
            return _outcome(answer, mark, target)
        clock.sleep(delay)
    raise AssertionError("the last attempt returns or raises")


def _run(words: Sequence[str], timeout_seconds: float) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [*words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CommandError(f"the session did not end within {timeout_seconds:.0f} s") from None
    except OSError as error:
        raise CommandError(f"{words[0]}: cannot be started: {error.strerror}") from None


def _outcome(answer: subprocess.CompletedProcess[str], mark: str, target: Target) -> Outcome:
    text = answer.stdout.replace("\r\n", "\n")
    match = re.search(rf"{mark}-begin\n(.*?)\n?{mark}-end:(\d+)", text, re.DOTALL)
    if match:
        return Outcome(exit_code=int(match[2]), output=match[1])
    said = " ".join((answer.stderr or text).split())[-300:]
    if "TargetNotConnected" in said:
        raise CommandError(
            f"{target.name} is not connected: the node may still be starting, or its role lacks the ssmmessages "
            "permissions; see hyperpod-slurm nodes"
        )
    if f"{mark}-begin" in text:
        raise CommandError("the output was cut by the session before its end; let the command print less")
    raise CommandError(f"no session with {target.name}: {said or f'exit code {answer.returncode}'}")
