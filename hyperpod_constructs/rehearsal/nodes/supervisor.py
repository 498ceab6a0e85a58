"""The process that owns a bed, outside of its namespaces: starts it, bounds it in time, and clears up after it.

Started by client.py, never by hand: ``python -m hyperpod_constructs.rehearsal.nodes.supervisor SETTINGS``. Its standard
input is a lifeline: when the other end is closed, by the starter or by the starter's death, the bed ends.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType

from hyperpod_constructs.rehearsal.nodes import registry
from hyperpod_constructs.rehearsal.nodes.errors import BedError
from hyperpod_constructs.rehearsal.nodes.paths import bed_dir, python_environment
from hyperpod_constructs.rehearsal.nodes.settings import BedSettings

_SERVER_MODULE = "hyperpod_constructs.rehearsal.nodes.server"


class Interrupted(Exception):  # noqa: N818 - not an error: how a signal ends the wait
    """A signal asked for the end."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def namespace_command(settings: BedSettings, cgroup: str) -> list[str]:
    """The command line that starts the server in namespaces of its own.

    The shell enters the bed's control group before the namespaces are made, so that group is the root of what they
    show. ``--kill-child`` and ``--pdeathsig``: whoever of this chain is killed, the rest goes with it.
    """
    enter = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
    return [
        *("sh", "-c", enter, cgroup, "setpriv", "--pdeathsig=KILL"),
        *("unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--propagation=private"),
        *("--fork", "--kill-child=KILL", "--mount-proc"),
        *(sys.executable, "-m", _SERVER_MODULE, json.dumps(asdict(settings))),
    ]


def wait_for_end(server: "subprocess.Popen[bytes]", lifeline: int, limit_seconds: float) -> None:
    """Return when the server ended, the lifeline was closed, a signal came or the time is over."""
    deadline = time.monotonic() + limit_seconds
    ended = os.pidfd_open(server.pid)
    poll = select.poll()
    for descriptor in (ended, lifeline):
        poll.register(descriptor, select.POLLIN)
    with contextlib.suppress(Interrupted):
        while (left := deadline - time.monotonic()) > 0:
            ready = [number for number, _ in poll.poll(left * 1000)]
            if ended in ready or (lifeline in ready and not os.read(lifeline, 512)):
                break
    os.close(ended)


def last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def say_error(text: str) -> None:
    """Tell the starter, if it still listens."""
    with contextlib.suppress(OSError):
        print(json.dumps({"error": text}), flush=True)  # noqa: T201 - standard output is how the starter is answered


def supervise(settings: BedSettings) -> int:
    """Run a bed to its end."""
    registration = registry.register()
    folder = bed_dir(registration.bed_id)
    try:
        settings = replace(settings, socket=str(folder / "bed.sock"))
        with (folder / "bed.log").open("wb") as log:
            server = subprocess.Popen(
                namespace_command(settings, registration.cgroup),
                stdin=subprocess.DEVNULL,
                stderr=log,
                env=python_environment(),
            )
            wait_for_end(server, sys.stdin.fileno(), settings.limit_seconds)
            if server.poll():  # it ended by itself: the starter may still wait for its first word
                say_error(f"the bed ended with {server.returncode}: {last_line(folder / 'bed.log')}")
            server.kill()
            return server.wait()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        registry.unregister(registration)


def main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        return supervise(BedSettings(**json.loads(sys.argv[1])))
    except Interrupted:
        return 130
    except BedError as error:
        say_error(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
