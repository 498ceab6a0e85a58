"""Runs one command so that it, and everything it starts, ends with its owner.

Run as a file with the standard library only: ``python guard.py OWNER_FD GRACE_SECONDS COMMAND...``. OWNER_FD is
the reading end of a pipe that only the owner writes to. The owner's death, by whatever signal, closes that pipe;
the guard then ends the command and all its descendants. The byte ``k`` on the pipe means "keep": from then on
only SIGTERM to the guard ends the command.

On Linux the guard is a subreaper, so that a descendant whose parent died is still found below it. Elsewhere the
command's process group is signalled.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_KILL_PATIENCE_SECONDS = 5.0
_ON_LINUX = sys.platform.startswith("linux")


def _prctl(option: int, argument: int) -> None:
    if _ON_LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, argument, 0, 0, 0)


def _start(command: list[str]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.execvp(command[0], command)  # noqa: S606 - a list, never a shell
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def parent_of(pid: int) -> int | None:
    """The parent of a Linux process, None once it is gone. The name in field 2 may hold spaces and parentheses."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None


def descendants(root: int) -> list[int]:
    """Every living process below ``root``, by the parents in /proc; empty where there is no /proc."""
    try:
        pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208 - 10 times quicker
    except OSError:
        return []
    parents = {pid: parent_of(pid) for pid in pids}
    found: list[int] = []
    frontier = {root}
    while frontier:
        frontier = {pid for pid, parent in parents.items() if parent in frontier}
        found.extend(frontier)
    return found


def _reap() -> dict[int, int]:
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended[pid] = os.waitstatus_to_exitcode(status)
    return ended


def _signal_all(child: int, number: signal.Signals) -> None:
    for pid in descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, number)


def _gone(child: int) -> bool:
    _reap()
    if _ON_LINUX:
        return not descendants(os.getpid())
    try:
        os.killpg(child, 0)
    except (ProcessLookupError, PermissionError):
        return True
    return False


def _end(child: int, grace_seconds: float) -> None:
    """TERM, then KILL to whatever is left; a process started meanwhile is caught by the next round."""
    for number, patience in ((signal.SIGTERM, grace_seconds), (signal.SIGKILL, _KILL_PATIENCE_SECONDS)):
        _signal_all(child, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if _gone(child):
                return
            if number is signal.SIGKILL:
                _signal_all(child, number)
            time.sleep(0.02)


def main(arguments: list[str]) -> int:
    owner, grace_seconds, command = int(arguments[0]), float(arguments[1]), arguments[2:]
    os.set_inheritable(owner, False)
    asked_to_end: list[int] = []
    wake_reader, wake_writer = os.pipe()
    os.set_blocking(wake_writer, False)
    signal.set_wakeup_fd(wake_writer)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, _frame: asked_to_end.append(got))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = _start(command)
    watched = [owner, wake_reader]
    code: int | None = None
    while code is None and not asked_to_end:
        ready, _, _ = select.select(watched, [], [], 60)
        if owner in ready:
            if os.read(owner, 1) != b"k":
                break
            watched.remove(owner)
        if wake_reader in ready:
            os.read(wake_reader, 512)
        code = _reap().get(child)
    _end(child, grace_seconds)
    if code is None:
        return 128 + signal.SIGTERM
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
