"""What commands print: lines of checks, JSON, and one message a failure. Rich is imported where it is used."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .checking.outcome import Check, Outcome, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

MARKS = {Outcome.PASSED: "✔️ ", Outcome.WARNING: "⚠️ ", Outcome.FAILED: "✖️ ", Outcome.UNKNOWN: "❔"}
PLAIN_MARKS = {
    Outcome.PASSED: "ok     ",
    Outcome.WARNING: "warning",
    Outcome.FAILED: "failed ",
    Outcome.UNKNOWN: "unknown",
}
STYLES = {Outcome.PASSED: "green", Outcome.WARNING: "yellow", Outcome.FAILED: "bold red", Outcome.UNKNOWN: "magenta"}


def console(*, errors: bool = False) -> Console:
    """A Rich console for standard output, or for standard error."""
    from rich.console import Console

    return Console(stderr=errors, highlight=False, emoji=False, markup=False, soft_wrap=True)


def tell(text: str) -> None:
    """A line for the person, on standard error: standard output holds the answer only."""
    sys.stderr.write(f"{printable(text)}\n")


def print_json(value: Any) -> None:
    """The answer for machines."""
    sys.stdout.write(json.dumps(value, indent=2, default=json_value, ensure_ascii=False) + "\n")


def json_value(value: Any) -> Any:
    """What JSON has no kind for: times in ISO form, everything else as text."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def print_checks(checks: Sequence[Check], *, subject: str) -> None:
    """One line a check, and the verdict last."""
    out = console()
    for check in checks:
        out.print(check_line(check), style=None if check.outcome is Outcome.PASSED else STYLES[check.outcome])
    out.print(verdict_line(checks, subject), style=STYLES[verdict(checks)])


def check_line(check: Check) -> str:
    """The line of a check, as the service's own validator writes them."""
    where = f"{check.place}: " if check.place else ""
    rule = f" [{check.rule}]" if check.rule and check.outcome is not Outcome.PASSED else ""
    return printable(f"{marks()[check.outcome]} {where}{check.text}{rule}")


def verdict_line(checks: Sequence[Check], subject: str) -> str:
    """The last line."""
    counts = {outcome: sum(check.outcome is outcome for check in checks) for outcome in Outcome}
    warned = counts[Outcome.WARNING]
    extra = f", with {warned} warning{'s' if warned > 1 else ''}" if warned else ""
    match verdict(checks):
        case Outcome.FAILED:
            return _final("❌", f"{subject} failed: {counts[Outcome.FAILED]} of {len(checks)} checks{extra}")
        case Outcome.UNKNOWN:
            number = counts[Outcome.UNKNOWN]
            return _final("❔", f"{subject}: nothing failed, {number} of {len(checks)} checks not known{extra}")
        case _:
            return _final("✅", f"{subject} succeeded{extra}")


def _final(mark: str, text: str) -> str:
    return f"{mark} {text}" if can_show(mark) else text


def marks() -> dict[Outcome, str]:
    """Symbols, or words where the terminal has only ASCII."""
    return MARKS if all(can_show(mark) for mark in MARKS.values()) else PLAIN_MARKS


def can_show(text: str) -> bool:
    """Whether standard output's encoding has these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def printable(text: str) -> str:
    """The text without what could steer a terminal: it may come from a file, a node or somebody else's tag."""
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in text)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table; plain columns when not on a terminal, so that every row stays one line."""
    rows = [[printable(cell) for cell in row] for row in rows]
    out = console()
    if not out.is_terminal:
        widths = [max(len(row[column]) for row in [headings, *rows]) for column in range(len(headings))]
        for row in [[heading.upper() for heading in headings], *rows]:
            sys.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
            sys.stdout.write("\n")
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    shown = Table(*headings, box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for row in rows:
        shown.add_row(*row)
    out.print(shown)
