"""What a dashboard is made of: titles, units and PromQL, as plain values. Standard library only."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class View(StrEnum):
    """How a panel shows its answers."""

    NUMBER = "number"
    LINES = "lines"
    STACK = "stack"


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """One PromQL expression.

    Attributes:
        expression: with Grafana's variables ``$cluster`` and ``$__rate_interval``.
        legend: of its series, in Grafana's ``{{label}}`` form.
    """

    expression: str
    legend: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One panel.

    Attributes:
        title: what is seen.
        about: what it means, and what to do when it looks wrong.
        queries: at least one.
        unit: Grafana's name of a unit.
        view: how it is shown.
        width: of 24 columns.
    """

    title: str
    about: str
    queries: tuple[Query, ...]
    unit: str = "short"
    view: View = View.LINES
    width: int = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Dashboard:
    """One dashboard.

    Attributes:
        name: of its file, and its Grafana uid after ``hyperpod-``.
        title: as Grafana lists it.
        about: what it is for.
        panels: in reading order.
    """

    name: str
    title: str
    about: str
    panels: tuple[Panel, ...]

    @property
    def queries(self) -> Iterator[tuple[Panel, Query]]:
        """Every expression with its panel."""
        return ((panel, query) for panel in self.panels for query in panel.queries)


def number(title: str, expression: str, about: str, *, unit: str = "short", width: int = 4) -> Panel:
    """A panel with one big number."""
    query = Query(expression=expression, legend=title)
    return Panel(title=title, about=about, queries=(query,), unit=unit, view=View.NUMBER, width=width)


def lines(title: str, expression: str, legend: str, about: str, *, unit: str = "short") -> Panel:
    """A panel with a line for each series of one expression."""
    return Panel(title=title, about=about, queries=(Query(expression=expression, legend=legend),), unit=unit)
