"""How many instances can be had, of a type or for a group, and how that changes with time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_ENTRY = re.compile(r"(?P<key>[A-Za-z0-9][A-Za-z0-9.-]*)=(?P<steps>.+)")
_STEP = re.compile(r"(?P<count>\d+)(?:@(?P<seconds>\d+(?:\.\d+)?))?")
_ALLOWED = (
    "write GROUP=COUNT or GROUP=COUNT@SECONDS,COUNT@SECONDS (an instance type such as ml.p5.48xlarge may stand for the "
    "group; seconds rise and count from the first request of that group or type; several entries are separated by "
    "a space or a semicolon), for example worker-gpu-a=2 or worker-gpu-a=2@0,16@60"
)


@dataclass(frozen=True)
class Limit:
    """The most instances that can be held at once, changing with time.

    Args:
        count: The limit at first.
        later: Pairs of seconds (after the first request) and the limit from then on.

    Raises:
        ValueError: A count or a time is negative, or the times do not rise.
    """

    count: int
    later: tuple[tuple[float, int], ...] = ()

    def __post_init__(self) -> None:
        times = [0.0, *(seconds for seconds, _ in self.later)]
        if min(self.count, *(count for _, count in self.later), 0) < 0:
            raise ValueError(f"a capacity cannot be negative: {self}")
        if any(after <= before for before, after in pairwise(times)):
            raise ValueError(f"the times of a capacity must rise from above 0: {times[1:]}")

    def at(self, seconds: float) -> int:
        """The limit so many seconds after the first request."""
        return next((count for time, count in reversed(self.later) if time <= seconds), self.count)


@dataclass
class Capacity:
    """The limits by instance type (`ml.` names) and by group name. What is not named is not limited.

    Where both a group and its type are limited, both hold.
    """

    limits: Mapping[str, Limit] = field(default_factory=dict)
    _first_request: dict[str, float] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.limits = dict(self.limits)

    @classmethod
    def parse(cls, text: str | Iterable[str]) -> Capacity:
        """Read the short text of a command's option.

        Raises:
            ValueError: The text is none; the message says what is allowed.
        """
        entries = [entry for part in ([text] if isinstance(text, str) else text) for entry in re.split(r"[;\s]+", part)]
        limits: dict[str, Limit] = {}
        for entry in filter(None, entries):
            key, limit = _parse_entry(entry)
            if key in limits:
                raise ValueError(f"capacity of {key!r} is given twice: {_ALLOWED}")
            limits[key] = limit
        return cls(limits)

    def replace(self, limits: Mapping[str, Limit]) -> None:
        """Set some limits anew, from now on; the others stay."""
        self.limits = {**self.limits, **limits}
        for key in limits:
            self._first_request.pop(key, None)

    def left(self, key: str, held: Callable[[str], int], now: float) -> bool:
        """Whether one more can be had of a key of which so many are held. Starts the key's time when first asked."""
        limit = self.limits.get(key)
        if limit is None:
            return True
        return held(key) < limit.at(now - self._first_request.setdefault(key, now))

    def next_change(self, after: float) -> float | None:
        """The next time at which a limit that was asked for changes."""
        changes = (
            start + seconds
            for key, start in self._first_request.items()
            for seconds, _ in self.limits[key].later
            if start + seconds > after
        )
        return min(changes, default=None)


def _parse_entry(entry: str) -> tuple[str, Limit]:
    found = _ENTRY.fullmatch(entry)
    steps = [_STEP.fullmatch(step) for step in found["steps"].split(",")] if found else []
    if found is None or not all(steps):
        raise ValueError(f"not a capacity: {entry!r}: {_ALLOWED}")
    pairs = [(float(step["seconds"] or 0), int(step["count"])) for step in steps if step]
    if pairs[0][0] != 0:
        pairs.insert(0, (0.0, 0))
    try:
        return found["key"], Limit(pairs[0][1], tuple(pairs[1:]))
    except ValueError as error:
        raise ValueError(f"not a capacity: {entry!r} ({error}): {_ALLOWED}") from error
