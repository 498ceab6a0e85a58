"""Children must end with the rehearsal, however it ends."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal import processes
from hyperpod_constructs.rehearsal.failures import RehearsalError
from hyperpod_constructs.rehearsal.processes import GuardedProcess, free_port, require_free_port

ENVIRONMENT = {"PATH": os.environ["PATH"]}
# A shell that starts one child, and one that leaves its parent, its session and its process group, as a daemon does.
TREE = (
    "import os, signal, subprocess, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "child = subprocess.Popen(['sleep', '300'])\n"
    "daemon = subprocess.Popen(['sh', '-c', 'setsid sleep 300 & echo $!'], stdout=subprocess.PIPE, text=True)\n"
    "open(sys.argv[1] + '.part', 'w').write(f'{os.getpid()} {child.pid} {daemon.stdout.readline()}')\n"
    "os.rename(sys.argv[1] + '.part', sys.argv[1])\n"
    "time.sleep(300)\n"
)


def wait_for(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def alive(pid: int) -> bool:
    """Whether it runs: a zombie that nobody has collected yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def pids_in(file: Path) -> list[int]:
    assert wait_for(file.exists), "the tree of processes did not start"
    return [int(word) for word in file.read_text().split()]


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[tuple[GuardedProcess, list[int]]]:
    pids = tmp_path / "pids"
    process = GuardedProcess("tree", [sys.executable, "-c", TREE, pids], env=ENVIRONMENT, grace_seconds=0.2)
    yield process, pids_in(pids)
    process.stop()


def test_stopping_ends_children_that_ignore_term_and_daemons_too(tree: tuple[GuardedProcess, list[int]]) -> None:
    process, pids = tree
    assert len(pids) == 3
    assert all(map(alive, pids))
    process.stop()
    assert [pid for pid in pids if alive(pid)] == []


OWNER = (
    "import os, sys, time\n"
    "from hyperpod_constructs.rehearsal.processes import GuardedProcess\n"
    "command = [sys.executable, '-c', sys.argv[1], sys.argv[2]]\n"
    "process = GuardedProcess('tree', command, env=dict(os.environ), grace_seconds=0.2)\n"
    "print(process.guard_pid, flush=True)\n"
    "if sys.argv[3] == 'keep': process.keep(); sys.exit(0)\n"
    "time.sleep(300)\n"
)


def start_owner(pids: Path, then: str) -> tuple[subprocess.Popen[str], int]:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, TREE, pids, then], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    return owner, int(owner.stdout.readline())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_death_of_the_owner_ends_everything_even_by_kill(number: signal.Signals, tmp_path: Path) -> None:
    owner, guard = start_owner(tmp_path / "pids", "wait")
    pids = [*pids_in(tmp_path / "pids"), guard]
    owner.send_signal(number)
    owner.communicate(timeout=10)
    assert wait_for(lambda: not any(map(alive, pids))), [pid for pid in pids if alive(pid)]


def test_a_kept_process_outlives_its_owner_until_its_guard_is_ended(tmp_path: Path) -> None:
    owner, guard = start_owner(tmp_path / "pids", "keep")
    assert owner.wait(10) == 0
    assert owner.stdout is not None
    owner.stdout.close()
    pids = pids_in(tmp_path / "pids")
    assert all(map(alive, pids))
    assert processes.is_guard(guard)
    assert processes.end_guard(guard)
    assert [pid for pid in pids if alive(pid)] == []
    assert not processes.is_guard(guard)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -9 $$"], 137),
        (["no-such-program-anywhere"], 127),
    ],
)
def test_the_exit_code_is_the_commands(command: list[str], code: int, tmp_path: Path) -> None:
    process = GuardedProcess("command", command, env=ENVIRONMENT, log=tmp_path / "log")
    assert process.wait(10) == code
    process.stop()


def test_a_program_that_is_not_there_is_named_in_the_log(tmp_path: Path) -> None:
    process = GuardedProcess("command", ["no-such-program-anywhere"], env=ENVIRONMENT, log=tmp_path / "log")
    process.wait(10)
    process.stop()
    assert process.log_tail() == "no-such-program-anywhere: No such file or directory"


def test_a_command_that_leaves_a_child_behind_does_not_leave_it_running(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    process = GuardedProcess("command", ["sh", "-c", f"setsid sleep 300 & echo $! > {pids}"], env=ENVIRONMENT)
    assert process.wait(10) == 0
    assert wait_for(lambda: not alive(int(pids.read_text())))
    process.stop()


def test_a_wait_that_is_over_gives_none_and_leaves_the_command_alone(tmp_path: Path) -> None:
    process = GuardedProcess("command", ["sleep", "300"], env=ENVIRONMENT)
    assert process.wait(0.1) is None
    assert process.poll() is None
    process.stop()
    assert process.poll() is not None


def test_a_port_in_use_is_refused_with_the_port_and_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            RehearsalError, match=rf"port {port} on 127\.0\.0\.1 cannot be used \(Address already in use\).*--port"
        ):
            require_free_port(port)


@pytest.mark.parametrize("port", [65536, -1])
def test_a_port_that_cannot_exist_is_refused(port: int) -> None:
    with pytest.raises(RehearsalError, match="between 1 and 65535"):
        require_free_port(port)


def test_a_free_port_can_be_bound() -> None:
    assert require_free_port(free_port()) > 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")
def test_listeners_are_found_with_the_address_that_they_are_bound_to() -> None:
    with socket.socket() as loopback, socket.socket() as anywhere, socket.socket(socket.AF_INET6) as six:
        loopback.bind(("127.0.0.1", 0))
        anywhere.bind(("0.0.0.0", 0))  # noqa: S104 - it must be seen
        six.bind(("::1", 0))
        for listener in (loopback, anywhere, six):
            listener.listen()
        found = processes.listening_addresses([os.getpid()])
        assert f"127.0.0.1:{loopback.getsockname()[1]}" in found
        assert f"0.0.0.0:{anywhere.getsockname()[1]}" in found
        assert f"[::1]:{six.getsockname()[1]}" in found
    assert f"127.0.0.1:{loopback.fileno()}" not in found
