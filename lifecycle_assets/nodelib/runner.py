"""Child processes: bounded in time, output kept, never through a shell, secrets only on standard input."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from nodelib.errors import StepError, StepTimeoutError

# The platform's environment has no HOME and a PATH without Slurm (FACTS 5.7).
SEARCH_PATH = "/opt/slurm/bin:/opt/slurm/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KEPT_BYTES = 64 * 1024


@dataclass(frozen=True)
class Result:
    """How a command ended, with the last 64 KiB of each output."""

    returncode: int
    stdout: str = ""
    stderr: str = ""


class Runner(Protocol):
    """Runs commands; tests replace it."""

    @property
    def count(self) -> int:
        """How many it has started."""

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str = "",
        timeout_seconds: float = 60,
        check: bool = True,
        secret: bool = False,
        environment: Mapping[str, str] | None = None,
        folder: str | None = None,
    ) -> Result:
        """Run one command to its end.

        Args:
            argv: the program and its arguments; no secret among them.
            stdin: text for standard input, the only place for a secret.
            timeout_seconds: after this the command and all its children are killed.
            check: raise if it does not end with 0.
            secret: keep its output out of every message.
            environment: added to the node's own.
            folder: working directory.

        Raises:
            StepError: it cannot be started, or ``check`` and it failed; the text has the end of its output.
            StepTimeoutError: it did not end in time.
        """


class ProcessRunner:
    """Runs real child processes and counts them."""

    def __init__(self) -> None:
        self._count = 0

    @property
    def count(self) -> int:
        """See :meth:`Runner.count`."""
        return self._count

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str = "",
        timeout_seconds: float = 60,
        check: bool = True,
        secret: bool = False,
        environment: Mapping[str, str] | None = None,
        folder: str | None = None,
    ) -> Result:
        """See :meth:`Runner.run`."""
        self._count += 1
        # Files in memory instead of pipes: a daemon that a script leaves behind cannot hold us up by keeping a pipe
        # open, and a full disk does not lose the output.
        with _memory_file("in") as given, _memory_file("out") as out, _memory_file("err") as err:
            given.write(stdin.encode())
            given.seek(0)
            returncode = _run(argv, (given.fileno(), out.fileno(), err.fileno()), timeout_seconds, environment, folder)
            result = Result(returncode or 0, _tail(out.fileno()), _tail(err.fileno()))
        shown = "" if secret else (result.stderr.strip() or result.stdout.strip())
        if returncode is None:
            raise StepTimeoutError(f"{_name(argv)}: not done after {timeout_seconds:g} s{_ending(shown)}")
        if check and returncode != 0:
            raise StepError(f"{_name(argv)}: exit code {returncode}{_ending(shown)}")
        return result


def node_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a child process finds: the platform's environment, a whole PATH, a home, a fixed language."""
    inherited = {key: value for key, value in os.environ.items() if key != "PATH"}
    fixed = {"PATH": SEARCH_PATH, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    return {"HOME": "/root", **inherited, **fixed, **(extra or {})}


def _memory_file(name: str) -> BinaryIO:
    return os.fdopen(os.memfd_create(name), "w+b")


def _run(
    argv: Sequence[str],
    streams: tuple[int, int, int],
    timeout_seconds: float,
    environment: Mapping[str, str] | None,
    folder: str | None,
) -> int | None:
    """Exit code, or ``None`` when the command was killed for being late."""
    given, out, err = streams
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=given,
            stdout=out,
            stderr=err,
            env=node_environment(environment),
            cwd=folder,
            start_new_session=True,
            umask=0o022,
        )
    except OSError as error:
        raise StepError(f"{argv[0]}: cannot be started: {error.strerror}") from error
    try:
        return process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(2)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        # A process in uninterruptible sleep (a dead file server) cannot be waited for: leave it to the kernel.
        process.returncode = -signal.SIGKILL


def _tail(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, KEPT_BYTES, max(0, size - KEPT_BYTES)).decode(errors="replace")


def _name(argv: Sequence[str]) -> str:
    return " ".join(argv[:3])


def _ending(output: str) -> str:
    return ": " + " | ".join(output.splitlines()[-5:])[-1000:] if output else ""
