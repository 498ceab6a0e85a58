"""One line a check. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.cli.failures import DONE, FAILED, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence


class Outcome(StrEnum):
    """What came of a check."""

    PASSED = "passed"
    WARNING = "warning"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        outcome: what came of it; a warning does not fail the whole.
        text: what was looked at, and if it did not pass what is wrong and what to do.
        rule: stable id of the rule, "" for a look at the account.
        place: file, line and column, "" where there is none.
    """

    outcome: Outcome
    text: str
    rule: str = ""
    place: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "outcome": self.outcome.value}


def passed(text: str) -> Check:
    """It is as it should be."""
    return Check(outcome=Outcome.PASSED, text=text)


def warning(text: str) -> Check:
    """It is probably a mistake."""
    return Check(outcome=Outcome.WARNING, text=text)


def failed(text: str) -> Check:
    """It is wrong."""
    return Check(outcome=Outcome.FAILED, text=text)


def unknown(text: str) -> Check:
    """It could not be looked at; the text says what was missing."""
    return Check(outcome=Outcome.UNKNOWN, text=text)


def verdict(checks: Sequence[Check]) -> Outcome:
    """The outcome of all together: the worst, warnings left out."""
    outcomes = {check.outcome for check in checks}
    return next((worst for worst in (Outcome.FAILED, Outcome.UNKNOWN) if worst in outcomes), Outcome.PASSED)


def exit_code(checks: Sequence[Check]) -> int:
    """0 only when everything passed; 3 when nothing failed but something is not known."""
    return {Outcome.FAILED: FAILED, Outcome.UNKNOWN: UNKNOWN}.get(verdict(checks), DONE)
