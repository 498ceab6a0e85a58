"""Child processes that never outlive the rehearsal, and the few facts about ports and listeners that it needs."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from . import guard
from .failures import RehearsalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LOOPBACK = "127.0.0.1"
_GUARD_EXTRA_SECONDS = 8.0


class GuardedProcess:
    """A command below a guard: stopping it, or the death of this process, ends it and all that it started.

    ``log`` receives both its outputs; without it they are inherited. ``grace_seconds`` is what it gets between
    TERM and KILL.
    Raises RehearsalError if the command cannot be started.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        cwd: Path | None = None,
        log: Path | None = None,
        grace_seconds: float = 2.0,
    ) -> None:
        self.name = name
        self.log = log
        self._grace_seconds = grace_seconds
        reader, self._owner_end = os.pipe()
        try:
            with contextlib.ExitStack() as stack:
                output: IO[bytes] | None = None
                if log is not None:
                    log.parent.mkdir(parents=True, exist_ok=True)
                    output = stack.enter_context(log.open("ab"))
                self._guard = subprocess.Popen(
                    [sys.executable, "-I", "-S", guard.__file__, str(reader), str(grace_seconds), *map(str, command)],
                    env=dict(env),
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT if output else None,
                    pass_fds=[reader],
                    start_new_session=True,
                )
        except OSError as error:
            os.close(self._owner_end)
            raise RehearsalError(f"{name} could not be started: {error}") from error
        finally:
            os.close(reader)

    @property
    def guard_pid(self) -> int:
        """The guard's process id: SIGTERM to it ends the command and everything below it."""
        return self._guard.pid

    def poll(self) -> int | None:
        """The command's exit code, or None while it runs."""
        return self._guard.poll()

    def wait(self, timeout_seconds: float) -> int | None:
        """The command's exit code, or None if it still runs after ``timeout_seconds``."""
        try:
            return self._guard.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> None:
        """End the command and everything it started. Returns when all of it is gone. Harmless when it has ended."""
        self._close_owner_end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(self._grace_seconds + _GUARD_EXTRA_SECONDS)
            return
        self._guard.kill()
        self._guard.wait()

    def keep(self) -> None:
        """Let the command outlive this process; it is then ended by SIGTERM to ``guard_pid``."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._owner_end, b"k")
        self._close_owner_end()
        self._guard.returncode = 0  # ours no longer: no ResourceWarning for a process that is meant to stay

    def log_tail(self, lines: int = 15) -> str:
        """The last lines of its log, an empty text if there is none."""
        if self.log is None or not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _close_owner_end(self) -> None:
        if self._owner_end >= 0:
            os.close(self._owner_end)
            self._owner_end = -1


def end_guard(pid: int, timeout_seconds: float = 40.0) -> bool:
    """Send SIGTERM to a kept guard and wait for its end. True if it is gone."""
    deadline = time.monotonic() + timeout_seconds
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        while time.monotonic() < deadline:
            os.kill(pid, 0)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            time.sleep(0.05)
        return False
    return True


def is_guard(pid: int) -> bool:
    """Whether this process id still belongs to a guard of ours: ids are reused, so its command line is looked at."""
    try:
        if Path("/proc").is_dir():
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        else:
            command = subprocess.run(
                ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
            ).stdout
    except OSError:
        return False
    return guard.__file__ in command


def free_port() -> int:
    """A TCP port of the loopback address that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def require_free_port(port: int) -> int:
    """``port``, if it can be bound on the loopback address. Raises RehearsalError if not."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or "it is not between 1 and 65535"
            raise RehearsalError(
                f"port {port} on {LOOPBACK} cannot be used ({reason}): end what listens there, give another --port, "
                "or leave it out and a free one is taken"
            ) from error
    return port


def process_tree(root: int) -> list[int]:
    """``root`` and every process below it (Linux)."""
    return [root, *guard.descendants(root)]


def listening_addresses(pids: Sequence[int]) -> list[str]:
    """The local addresses, as ``127.0.0.1:5600`` or ``[::1]:80``, on which these processes accept TCP (Linux)."""
    inodes = {inode for pid in pids for inode in _socket_inodes(pid)}
    listening = [*_listeners("/proc/net/tcp", socket.AF_INET), *_listeners("/proc/net/tcp6", socket.AF_INET6)]
    return sorted(address for address, inode in listening if inode in inodes)


def _socket_inodes(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                target = str(descriptor.readlink())
                if target.startswith("socket:["):
                    yield target[len("socket:[") : -1]


def _listeners(table: str, family: socket.AddressFamily) -> Iterator[tuple[str, str]]:
    with contextlib.suppress(OSError):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":  # TCP_LISTEN
                yield _address(fields[1], family), fields[9]


def _address(text: str, family: socket.AddressFamily) -> str:
    packed, _, port = text.partition(":")
    # The kernel prints each 32-bit word of the address in its own byte order.
    words = [bytes.fromhex(packed[start : start + 8]) for start in range(0, len(packed), 8)]
    raw = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    host = socket.inet_ntop(family, raw)
    return f"[{host}]:{int(port, 16)}" if family is socket.AF_INET6 else f"{host}:{int(port, 16)}"
