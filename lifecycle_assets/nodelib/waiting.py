"""Bounded waiting, with a clock that tests replace."""

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from nodelib.errors import StepTimeoutError

T = TypeVar("T")


class Clock(Protocol):
    """Time as the steps see it."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    def sleep(self, seconds: float) -> None:
        """Pause between two looks at a condition."""


class SystemClock:
    """The machine's clock."""

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Pause between two looks at a condition."""
        time.sleep(seconds)


def wait_for(
    probe: Callable[[], T | None],
    *,
    what: str,
    timeout_seconds: float,
    clock: Clock,
    first_pause_seconds: float = 0.1,
    longest_pause_seconds: float = 5.0,
) -> T:
    """Call ``probe`` until it returns something other than ``None``; the pauses double up to a limit.

    A condition that is already met costs no pause at all.

    Raises:
        StepTimeoutError: ``what`` did not come about within ``timeout_seconds``.
    """
    end = clock.monotonic() + timeout_seconds
    pause = first_pause_seconds
    while True:
        result = probe()
        if result is not None:
            return result
        left = end - clock.monotonic()
        if left <= 0:
            raise StepTimeoutError(f"waited {timeout_seconds:g} s for {what}")
        clock.sleep(min(pause, left))
        pause = min(pause * 2, longest_pause_seconds)
