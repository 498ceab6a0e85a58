"""Starting a bed and ending it."""

import json
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Self

from hyperpod_constructs.rehearsal.nodes.client import BedClient
from hyperpod_constructs.rehearsal.nodes.errors import BedError, BedUnavailable
from hyperpod_constructs.rehearsal.nodes.host import Say
from hyperpod_constructs.rehearsal.nodes.paths import nodes_cache_dir, python_environment
from hyperpod_constructs.rehearsal.nodes.settings import DEFAULT_LIMIT_SECONDS, DEFAULT_MAXIMUM_NODES, BedSettings
from hyperpod_constructs.rehearsal.nodes.suites import DEFAULT_SUITE, suite_named
from hyperpod_constructs.rehearsal.nodes.tree import ensure_tree

START_TIMEOUT_SECONDS = 30.0
STOP_TIMEOUT_SECONDS = 30.0
_SUPERVISOR_MODULE = "hyperpod_constructs.rehearsal.nodes.supervisor"


def _silent(text: str) -> None:
    """Say nothing."""


class Bed(BedClient):
    """A bed of Slurm nodes that lives as long as this object, as a context manager.

    Args:
        suite: Debian release: ``trixie`` (Slurm 24.11, default) or ``forky`` (26.05).
        cache: folder for the Debian trees; by default ``nodes`` in the rehearsal's folder.
        limit_seconds: after this the bed ends, whatever goes on in it.
        maximum_nodes: more are refused.
        say: is told what takes time (building the tree).

    Raises (on entering):
        BedUnavailable: this machine cannot carry a bed; one sentence.
        BedError: it did not start.
    """

    def __init__(
        self,
        suite: str = DEFAULT_SUITE,
        *,
        cache: Path | None = None,
        limit_seconds: float = DEFAULT_LIMIT_SECONDS,
        maximum_nodes: int = DEFAULT_MAXIMUM_NODES,
        say: Say = _silent,
    ) -> None:
        super().__init__(Path())
        self.suite = suite_named(suite)
        self._cache = cache or nodes_cache_dir()
        self._limit_seconds = limit_seconds
        self._maximum_nodes = maximum_nodes
        self._say = say
        self._supervisor: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Build the tree if need be and start the bed."""
        tree = ensure_tree(self.suite, self._cache, say=self._say)
        settings = BedSettings(
            suite=tree.suite,
            tree=str(tree.root),
            nspawn=str(tree.nspawn),
            libraries=str(tree.libraries or ""),
            limit_seconds=self._limit_seconds,
            maximum_nodes=self._maximum_nodes,
        )
        # A session of its own: Ctrl-C in a terminal is for us, and we end the bed in our own time.
        self._supervisor = subprocess.Popen(
            [sys.executable, "-m", _SUPERVISOR_MODULE, json.dumps(asdict(settings))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=python_environment(),
            start_new_session=True,
        )
        try:
            self.socket = Path(self._first_answer(self._supervisor))
        except BaseException:
            self.close()
            raise

    def _first_answer(self, supervisor: "subprocess.Popen[bytes]") -> str:
        assert supervisor.stdout is not None  # noqa: S101 - for the type checker
        ready, _, _ = select.select([supervisor.stdout], [], [], START_TIMEOUT_SECONDS)
        line = supervisor.stdout.readline() if ready else b""
        answer = json.loads(line) if line else {"error": f"the bed did not start in {START_TIMEOUT_SECONDS:.0f} s"}
        if "error" in answer:
            raise BedUnavailable(answer["error"])
        return str(answer["ready"])

    def close(self) -> None:
        """End the bed; returns when nothing of it is left.

        Raises:
            BedError: it did not end.
        """
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is None:
            return
        for pipe in (supervisor.stdin, supervisor.stdout):
            if pipe:
                pipe.close()  # the lifeline: the supervisor ends the bed
        try:
            supervisor.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            supervisor.kill()
            raise BedError(f"the bed did not end in {STOP_TIMEOUT_SECONDS:.0f} s; its processes were killed") from None


def wait_for(clients: Iterable[Callable[[], None]]) -> None:
    """Do several things with a bed at the same time, booting nodes for example; the first failure is raised."""
    failures: list[BaseException] = []

    def attempt(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=attempt, args=(work,)) for work in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
