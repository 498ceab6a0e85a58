"""The loop of ``watch``: look, draw, wait, until the cluster is ready, has failed or is gone."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.cli.account import AccountError, Clients, Kind
from hyperpod_constructs.handlers.cluster.aws import Aws
from hyperpod_constructs.handlers.cluster.diagnosis import reason

from . import clock
from .cluster import Node, describe, newest_events, nodes
from .folding import Folded, folded
from .picture import Ending, Pace, Picture, ReadyWhen, picture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hyperpod_constructs.handlers.cluster.observed import Cluster

EVENT_KINDS = 30
_EVENTS_READ = 300
_NODES_EVERY = 6
"""While nothing moves, nodes are listed at each sixth look only: a thousand of them are ten calls."""
_PASSING = (Kind.THROTTLED, Kind.UNREACHABLE)
_PATIENCE = 20
"""Looks in a row that may fail before watching ends."""


@dataclass
class Watch:
    """One cluster that is watched.

    Args:
        clients: of the account.
        name: of the cluster.
        ready_when: what is waited for.
    """

    clients: Clients
    name: str
    ready_when: ReadyWhen
    cluster: Cluster | None = None
    _began_at: float = field(default_factory=clock.now)
    _pace: Pace = field(default_factory=Pace)
    _looks: int = 0
    _failures: int = 0
    _newest: Picture | None = None
    _nodes: list[Node] | None = None

    def look(self) -> Picture:
        """The cluster now; after a passing failure the picture from before, with a remark.

        Raises:
            AccountError: it cannot be looked at, or not any more for a while.
        """
        try:
            cluster = describe(self.clients, self.name)
        except AccountError as error:
            return self._after_failure(error)
        self._failures = 0
        self.cluster = cluster
        remarks: list[str] = []
        shown = picture(
            cluster,
            self._look_at_nodes(cluster, remarks),
            self._look_at_events(cluster, remarks),
            at=clock.now(),
            began_at=self._began_at,
            ready_when=self.ready_when,
            remarks=remarks,
        )
        self._newest = self._pace.estimated(shown)
        self._looks += 1
        return self._newest

    def _after_failure(self, error: AccountError) -> Picture:
        if self._newest is None:
            raise error
        if error.kind is Kind.NOT_FOUND:
            return replace(self._newest, status="Deleted", ending=Ending.GONE, at=clock.now(), groups=())
        self._failures += 1
        if error.kind not in _PASSING or self._failures > _PATIENCE:
            raise error
        elapsed = self._newest.elapsed_seconds + clock.now() - self._newest.at
        return replace(self._newest, remarks=(str(error),), at=clock.now(), elapsed_seconds=elapsed)

    def _look_at_nodes(self, cluster: Cluster, remarks: list[str]) -> list[Node] | None:
        moving = cluster.status != "InService" or any(one.current != one.target for one in cluster.groups.values())
        if self._nodes is None or moving or self._looks % _NODES_EVERY == 0:
            self._nodes = self._attempt(lambda: nodes(self.clients, cluster), "nodes", remarks)
        return self._nodes

    def _look_at_events(self, cluster: Cluster, remarks: list[str]) -> list[Folded]:
        if cluster.details.get("NodeProvisioningMode") != "Continuous":
            return []

        def read() -> list[Folded]:
            events = newest_events(self.clients, cluster.name)
            return folded((event for event, _ in zip(events, range(_EVENTS_READ), strict=False)), at_most=EVENT_KINDS)

        return self._attempt(read, "events", remarks) or []

    def _attempt(self, look: Callable[[], Any], what: str, remarks: list[str]) -> Any:
        try:
            return look()
        except AccountError as error:
            remarks.append(f"{what}, {error}")
            return None

    def cause(self) -> str:
        """Why the cluster failed: what the stack event of a deployment would say."""
        if self.cluster is None:
            return ""
        aws = Aws(sagemaker=self.clients.client("sagemaker"), logs=self.clients.client("logs"), sleep=clock.sleep)
        text = self.cluster.failure_message or f"cluster {self.cluster.name} has failed"
        # The handler logs to standard output, which belongs to this command.
        with contextlib.redirect_stdout(io.StringIO()):
            return reason(aws, self.cluster, text)


def pictures(watch: Watch, interval_seconds: float, timeout_seconds: float | None) -> Iterator[Picture]:
    """A picture a look, until there is an ending or time is over."""
    deadline = None if timeout_seconds is None else clock.now() + timeout_seconds
    while True:
        shown = watch.look()
        yield shown
        if shown.ending is not None or (deadline is not None and clock.now() + interval_seconds > deadline):
            return
        clock.sleep(interval_seconds)
