"""Tells how far CloudFormation is while the CDK CLI waits for it."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from .stacks import describe_event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .account import Account
    from .progress import Progress

_LOOK_SECONDS = 1.0


class DeploymentWatch:
    """Tells the progress how far CloudFormation is, at most once a second."""

    def __init__(
        self, account: Account, progress: Progress, stacks: Sequence[str], seen: frozenset[str], total: int
    ) -> None:
        self._account = account
        self._progress = progress
        self._stacks = stacks
        self._seen = seen
        self._total = total
        self._next_look = time.monotonic() + _LOOK_SECONDS

    def look(self) -> None:
        """Look, if the time has come. A look that fails is only a look: the CLI tells of real trouble."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_SECONDS
        with contextlib.suppress(Exception):
            events = self._account.events_after(self._stacks, self._seen)
            done = {event.logical_id for event in events if event.status.endswith("_COMPLETE")}
            if events:
                self._progress.detail(describe_event(events[-1]), min(len(done), self._total), self._total)
