"""Runs a bed of Slurm nodes (nodes/) in a process of its own, so that it can outlive the command that started it.

Started by ``start_bed``, never by hand: ``python -m hyperpod_constructs.rehearsal.bed_process READY_FILE OPTIONS``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .emulator import did_not_come_up
from .failures import RehearsalError
from .processes import GuardedProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .nodes import BedClient

DEFAULT_SUITE = "trixie"
DEFAULT_OF_EACH_GROUP = 2
START_TIMEOUT_SECONDS = 40.0
STOP_SECONDS = 30.0
_POLL_SECONDS = 0.05
_LAUNCHER = "hyperpod_constructs.rehearsal.agent.from_options:launcher"


class NodesUnavailableError(RehearsalError):
    """This machine cannot carry Slurm nodes; everything else of the rehearsal works without them."""


@dataclass(frozen=True, kw_only=True)
class RealNodes:
    """Which instances become real Slurm nodes; the others are simulated.

    Args:
        of_each_group: How many of each instance group, the first ones by number; by group name, others have none.
        at_most: How many of all groups and clusters together; a node with Slurm takes about 60 MiB of memory.
        suite: The Debian release that they run: ``trixie`` (Slurm 24.11) or ``forky`` (26.05).
        limit_seconds: After this they end, whatever goes on; a day by default, which is meant for rehearsals left up.
    """

    of_each_group: int | Mapping[str, int] = DEFAULT_OF_EACH_GROUP
    at_most: int = 12
    suite: str = DEFAULT_SUITE
    limit_seconds: float = 24 * 3600.0

    def of_group(self, name: str) -> int:
        """How many instances of that group are real at most."""
        return self.of_each_group if isinstance(self.of_each_group, int) else self.of_each_group.get(name, 0)

    def service_arguments(self, socket: Path, aws_endpoint: str, region: str, account: str) -> list[str]:
        """What tells the HyperPod service to launch its instances on the bed that answers at ``socket``."""
        counts = self.of_each_group
        by_group = [str(counts)] if isinstance(counts, int) else [f"{name}={count}" for name, count in counts.items()]
        options = {"bed": str(socket), "aws-endpoint": aws_endpoint, "region": region, "account": account}
        return [
            f"--launcher={_LAUNCHER}",
            *(f"--launcher-option={name}={value}" for name, value in options.items()),
            *(f"--real-nodes={count}" for count in by_group),
            f"--real-nodes-at-most={self.at_most}",
        ]


class NodesBed:
    """A running bed: ``client`` speaks to it."""

    def __init__(self, process: GuardedProcess, client: BedClient) -> None:
        self.process = process
        self.client = client

    def stop(self) -> None:
        """End it with all nodes."""
        self.process.stop()


def trees_folder(root: Path) -> Path:
    """Where the Debian trees of a rehearsal's root are kept."""
    return root / "nodes"


def machine_problem(root: Path) -> str:
    """Why this machine cannot carry Slurm nodes, in words; empty if nothing speaks against it."""
    from .nodes.doctor import examine

    return next((finding.problem for finding in examine(trees_folder(root)) if finding.problem), "")


def prepare_tree(root: Path, suite: str, tell: Callable[[str], None]) -> None:
    """Build the Debian tree of the nodes unless it is there: about a minute and 650 MiB, once.

    Raises NodesUnavailableError in one sentence if it cannot be built here, RehearsalError if there is no such suite.
    """
    from .nodes.errors import BedError
    from .nodes.suites import suite_named
    from .nodes.tree import ensure_tree

    try:
        wanted = suite_named(suite)
    except BedError as error:
        raise RehearsalError(str(error)) from error
    try:
        ensure_tree(wanted, trees_folder(root), say=tell)
    except BedError as error:
        raise NodesUnavailableError(str(error)) from error


def start_bed(nodes: RealNodes, *, root: Path, folder: Path) -> NodesBed:
    """Start a bed, with its log and its ready file in ``folder``, and wait until it answers.

    Raises NodesUnavailableError with the bed's own sentence if it does not start.
    """
    from .nodes import BedClient
    from .nodes.paths import python_environment

    ready = folder / "bed.ready"
    ready.unlink(missing_ok=True)
    options = {"cache": str(trees_folder(root)), "nodes": asdict(nodes)}
    process = GuardedProcess(
        "the bed of Slurm nodes",
        [sys.executable, "-m", "hyperpod_constructs.rehearsal.bed_process", ready, json.dumps(options)],
        env=python_environment(),
        cwd=folder,
        log=folder / "bed.log",
        grace_seconds=STOP_SECONDS,
    )
    try:
        return NodesBed(process, BedClient(Path(_wait_until_ready(process, ready))))
    except BaseException:
        process.stop()
        raise


def _wait_until_ready(process: GuardedProcess, ready: Path) -> str:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if ready.exists():
            answer = json.loads(ready.read_text())
            if "error" in answer:
                raise NodesUnavailableError(answer["error"])
            return str(answer["socket"])
        if process.poll() is not None:
            raise NodesUnavailableError(did_not_come_up(process, f"it ended with exit code {process.poll()}"))
        time.sleep(_POLL_SECONDS)
    raise NodesUnavailableError(did_not_come_up(process, f"it did not answer within {START_TIMEOUT_SECONDS:.0f} s"))


def _answer(ready: Path, content: dict[str, str]) -> None:
    """Whole or not at all: whoever waits for the file must not read half of it."""
    part = ready.with_name(f".{ready.name}.{os.getpid()}")
    part.write_text(json.dumps(content))
    part.replace(ready)


def main(arguments: list[str]) -> int:
    """Hold a bed until SIGTERM or the end of its time. Exit code 1 if it could not be started."""
    from .nodes import Bed, BedError

    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    ready, options = Path(arguments[0]), json.loads(arguments[1])
    nodes = RealNodes(**options["nodes"])
    bed = Bed(
        nodes.suite,
        cache=Path(options["cache"]),
        limit_seconds=nodes.limit_seconds,
        # A replacement may come before the node that it replaces is gone.
        maximum_nodes=nodes.at_most + 4,
    )
    try:
        with bed:
            _answer(ready, {"socket": str(bed.socket)})
            ended.wait(nodes.limit_seconds)
    except BedError as error:
        _answer(ready, {"error": str(error)})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
