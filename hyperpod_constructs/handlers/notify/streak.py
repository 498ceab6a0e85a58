"""When to speak of something that happens again and again: pure functions over a small record.

Two questions with the same shape. `repeated` is for single notices: the first is told, the same again only after a
quiet time, with how often it came meanwhile. `failed_again` is the cost guard's: told when a group's scripts failed so
and so often within a window, then at intervals for as long as it goes on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

KEPT_FAILURES = 200
"""Of one group in one window; far above any threshold, and small enough for one record."""

SAME_FAILURE_SECONDS = 60
"""Within this time a second event about the same instance is the same failure: the service sends two for each (field
report C-05), EventBridge may repeat either. Later it is another try on the same instance (software updates try again).
"""


@dataclass(frozen=True, kw_only=True)
class Quiet:
    """The record of one notice: when it was told last, and how often it came since without being told."""

    told_at: float = 0
    untold: int = 0

    @classmethod
    def read(cls, value: Mapping[str, Any] | None) -> "Quiet":
        """From what `as_record` wrote; a new one from nothing."""
        value = value or {}
        return cls(told_at=float(value.get("told_at", 0)), untold=int(value.get("untold", 0)))

    def as_record(self) -> dict[str, Any]:
        """As plain values."""
        return {"told_at": self.told_at, "untold": self.untold}


def repeated(record: Quiet, now: float, quiet_seconds: float) -> tuple[Quiet, int | None]:
    """Whether to tell of it now.

    Returns:
        The new record, and how often it came untold before; None when it is not to be told.
    """
    if record.told_at and now - record.told_at < quiet_seconds:
        return replace(record, untold=record.untold + 1), None
    return Quiet(told_at=now), record.untold


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One failed run of a lifecycle script.

    Attributes:
        at: seconds since the epoch, by the event's own clock.
        instance: its id; the event's id when the event names none.
    """

    at: float
    instance: str

    def is_same(self, other: "Failure") -> bool:
        """Whether two events tell of the same failure."""
        return self.instance == other.instance and abs(self.at - other.at) < SAME_FAILURE_SECONDS


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When the guard speaks.

    Attributes:
        failures: within the window.
        window_seconds: a group that is quiet for a whole window has recovered.
        remind_seconds: between two messages while it goes on.
    """

    failures: int
    window_seconds: float
    remind_seconds: float


@dataclass(frozen=True, kw_only=True)
class Streak:
    """The record of one group.

    Attributes:
        failures: those within the window, oldest first.
        told_at: when people were told last in this streak; 0 if not yet.
        since: when the streak began.
        total: failures since then.
    """

    failures: tuple[Failure, ...] = ()
    told_at: float = 0
    since: float = 0
    total: int = 0

    @classmethod
    def read(cls, value: Mapping[str, Any] | None) -> "Streak":
        """From what `as_record` wrote; a new one from nothing."""
        value = value or {}
        return cls(
            failures=tuple(Failure(at=float(at), instance=str(name)) for at, name in value.get("failures", ())),
            told_at=float(value.get("told_at", 0)),
            since=float(value.get("since", 0)),
            total=int(value.get("total", 0)),
        )

    def as_record(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "failures": [[item.at, item.instance] for item in self.failures],
            "told_at": self.told_at,
            "since": self.since,
            "total": self.total,
        }


def failed_again(record: Streak, failure: Failure, limits: Limits) -> tuple[Streak, bool]:
    """Add a failure to the record of its group.

    A success ends nothing: of sixteen nodes fifteen may come up while one fails all night. Only a whole quiet window
    ends a streak, so a group that comes and goes around the threshold is not told at every crossing.

    Returns:
        The new record, and whether people are to be told now.
    """
    if any(failure.is_same(item) for item in record.failures):
        return record, False
    recent = tuple(item for item in record.failures if failure.at - item.at < limits.window_seconds)
    if not recent:
        record = Streak(since=failure.at)
    kept = (*recent, failure)[-KEPT_FAILURES:]
    record = replace(record, failures=kept, total=record.total + 1)
    is_due = not record.told_at or failure.at - record.told_at >= limits.remind_seconds
    if len(kept) < limits.failures or not is_due:
        return record, False
    return replace(record, told_at=failure.at), True


def forgotten(record: Streak, failure: Failure) -> Streak:
    """The record as if the failure had not been told: the message could not be sent, and the event will come again."""
    kept = tuple(item for item in record.failures if not failure.is_same(item))
    return replace(record, failures=kept, told_at=0, total=record.total - (len(record.failures) - len(kept)))
