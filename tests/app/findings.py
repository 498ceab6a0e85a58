"""Reads docs/findings.md, the one list of accepted findings."""

from dataclasses import dataclass

from tests.app.support import ROOT

PAGE = ROOT / "docs/findings.md"
_COLUMNS = 4


@dataclass(frozen=True)
class Accepted:
    """A row of the list; ``on`` is a resource type, or ``*``."""

    tool: str
    check: str
    on: str
    why: str


def accepted(tool: str) -> list[Accepted]:
    """The rows of a tool."""
    rows = [[cell.strip() for cell in line.strip("|\n ").split(" | ")] for line in PAGE.read_text().splitlines()]
    return [Accepted(*row) for row in rows if len(row) == _COLUMNS and row[0] == tool]


def unexplained(tool: str, found: set[tuple[str, str]]) -> tuple[set[tuple[str, str]], list[Accepted]]:
    """Findings (check, resource type) that no row accepts, and rows that no finding needs."""
    rows = accepted(tool)
    strangers = {item for item in found if not any(row.check == item[0] and row.on in ("*", item[1]) for row in rows)}
    stale = [row for row in rows if not any(row.check == check and row.on in ("*", kind) for check, kind in found)]
    return strangers, stale
