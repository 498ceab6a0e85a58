"""Two clocks. Time is handed to the logic by the service; nothing below it reads a clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where the service takes the time from."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...


class RealClock:
    """The wall clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()


class ManualClock:
    """A clock that stands still until it is moved.

    Args:
        start: Seconds since the epoch; the default is some day in January 2027.
    """

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move on by so many seconds.

        Raises:
            ValueError: The number is negative.
        """
        if seconds < 0:
            raise ValueError(f"a clock cannot go back: {seconds} seconds, give 0 or more")
        self._now += seconds


def epoch_seconds(value: object) -> float:
    """A timestamp of a request (number, ISO 8601 text or datetime) as seconds since the epoch.

    Raises:
        ValueError: The value is none of these.
    """
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return epoch_seconds(datetime.fromisoformat(value))
    raise ValueError(f"not a timestamp: {value!r}, give seconds since the epoch, ISO 8601 text or a datetime")
