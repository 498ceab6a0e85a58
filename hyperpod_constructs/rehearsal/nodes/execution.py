"""Running commands on a node, from outside of it."""

import contextlib
import itertools
import os
import select
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TIMED_OUT_EXIT_CODE = 124
_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A command for a node.

    Attributes:
        arguments: program and arguments.
        timeout_seconds: after this it is killed and its exit code is 124.
        environment: added to PATH, which is all there is otherwise (no HOME).
        folder: working directory on the node; its root when empty.
        umask: octal, as text.
        as_service: run as a transient systemd service, with a control group of its own, as an agent of the platform
            would be; False runs it without (faster: 10 instead of 60 ms).
    """

    arguments: tuple[str, ...]
    timeout_seconds: float = 120.0
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    umask: str = "022"
    as_service: bool = True


def entered(leader: int, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> list[str]:
    """The command line that runs arguments inside all namespaces of a node."""
    settings = [f"{name}={value}" for name, value in {"PATH": PATH, **(environment or {})}.items()]
    return ["nsenter", f"--target={leader}", "--all", "env", "-i", *settings, *arguments]


def command_line(leader: int, command: Command, unit: str) -> list[str]:
    """The command line that runs that command on the node."""
    if not command.as_service:
        shell = ["sh", "-c", 'umask "$0" && cd "$1" && shift && exec "$@"', command.umask, command.folder or "/"]
        return entered(leader, [*shell, *command.arguments], command.environment)
    options = [
        *(
            "--quiet",
            "--collect",
            "--pipe",
            "--wait",
            "--expand-environment=no",
            f"--unit={unit}",
            f"--property=UMask={command.umask}",
        ),
        *("--property=LimitCORE=0", "--service-type=exec"),
        *([f"--working-directory={command.folder}"] if command.folder else []),
        *(f"--setenv={name}={value}" for name, value in {"PATH": PATH, **command.environment}.items()),
    ]
    return entered(leader, ["systemd-run", *options, "--", *command.arguments])


def run(leader: int, command: Command, streams: Sequence[int], caller: socket.socket) -> int:
    """Run a command on a node to its end; it is killed when its time is over or when the caller hangs up.

    Args:
        leader: process id of the node's systemd.
        command: what to run.
        streams: standard input, output and error; missing ones are /dev/null.
        caller: the connection of the one who asked.
    """
    unit = f"rehearsal-{next(_numbers)}"
    given = dict(zip(("stdin", "stdout", "stderr"), streams, strict=False))
    process = subprocess.Popen(
        command_line(leader, command, unit),
        stdin=given.get("stdin", subprocess.DEVNULL),
        stdout=given.get("stdout", subprocess.DEVNULL),
        stderr=given.get("stderr", subprocess.DEVNULL),
        start_new_session=True,
    )
    if _wait(process, command.timeout_seconds, caller):
        return process.returncode
    if command.as_service:
        stop = entered(leader, ["systemctl", "kill", "--signal=KILL", f"{unit}.service"])
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(stop, capture_output=True, timeout=10, check=False)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait()
    return TIMED_OUT_EXIT_CODE


def _wait(process: "subprocess.Popen[bytes]", timeout_seconds: float, caller: socket.socket) -> bool:
    """Wait for the end of the process; False when the time is over or the caller is gone before."""
    deadline = time.monotonic() + timeout_seconds
    descriptor = os.pidfd_open(process.pid)
    poll = select.poll()
    for watched in (descriptor, caller.fileno()):
        poll.register(watched, select.POLLIN)
    try:
        while (left := deadline - time.monotonic()) > 0:
            ready = [number for number, _ in poll.poll(left * 1000)]
            if descriptor in ready:
                process.wait()
                return True
            if ready:
                return False
        return False
    finally:
        os.close(descriptor)
