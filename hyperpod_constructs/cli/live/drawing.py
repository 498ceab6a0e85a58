"""The picture of ``watch`` as Rich draws it, and as plain lines where there is no terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hyperpod_constructs.cli.screen import printable

from .clock import duration, shown_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table
    from rich.text import Text

    from .folding import Folded
    from .picture import GroupPicture, Picture

_STATUS_STYLES = {
    "InService": "green",
    "Failed": "bold red",
    "Degraded": "red",
    "Creating": "cyan",
    "Updating": "cyan",
    "SystemUpdating": "cyan",
    "RollingBack": "yellow",
    "Deleting": "yellow",
}
_LEVEL_STYLES = {"Error": "bold red", "Warn": "yellow"}
_BAR_WIDTH = 30
_OTHER_LINES = 8
"""Lines of the screen beside groups and events: headings, remarks, gaps."""
_FEWEST_EVENTS = 3


def bar_text(current: int, target: int, minimum: int, width: int, *, ascii_only: bool = False) -> str:
    """A bar: what is there of what is wanted, the minimum marked while it is not reached.

    Args:
        current: there.
        target: wanted; with 0 the bar is empty.
        minimum: waited for; 0 for none.
        width: in characters.
        ascii_only: for terminals without block characters.
    """
    full, empty, mark = ("#", ".", "|") if ascii_only else ("█", "░", "┊")
    filled = min(width, width * current // target) if target else 0
    # One instance of a thousand is something.
    filled = max(filled, 1) if current and target else filled
    cells = [full] * filled + [empty] * (width - filled)
    if 0 < minimum < target and current < minimum:
        cells[min(width - 1, width * minimum // target)] = mark
    return "".join(cells)


class Screen:
    """The picture at a moment: drawn anew at each refresh, so that the time goes on between two looks.

    Args:
        shown: the newest picture.
        seconds_since: since that look.
    """

    def __init__(self, shown: Picture, seconds_since: float = 0.0) -> None:
        self._shown, self._since = shown, seconds_since

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lines of the screen, as many as it has."""
        height = options.height or options.max_height
        room = max(_FEWEST_EVENTS, height - _OTHER_LINES)
        events = self._shown.events[: max(_FEWEST_EVENTS, room - len(self._shown.groups))]
        groups = max(1, room - len(events))
        yield heading(self._shown, self._since)
        yield group_table(self._shown.groups[:groups], ascii_only=options.ascii_only)
        if len(self._shown.groups) > groups:
            yield f"... and {len(self._shown.groups) - groups} more groups"
        yield from event_lines(events, console.width)
        for remark in self._shown.remarks:
            yield _text(f"not known: {remark}", "magenta")


def heading(shown: Picture, seconds_since: float = 0.0) -> Text:
    """Name, status, counts and time."""
    from rich.text import Text

    text = Text()
    text.append(printable(shown.name), style="bold")
    text.append("  ")
    text.append(shown.status, style=_STATUS_STYLES.get(shown.status, ""))
    text.append(f"  {shown.current} of {shown.target} instances  {duration(shown.elapsed_seconds + seconds_since)}")
    if shown.remaining_seconds is not None:
        left = max(0.0, shown.remaining_seconds - seconds_since)
        text.append(f"  about {duration(left)} left at this pace", style="dim")
    return text


def group_table(groups: tuple[GroupPicture, ...], *, ascii_only: bool = False) -> Table:
    """One line a group."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for group in groups:
        style = "green" if group.is_complete else _STATUS_STYLES.get(group.status, "")
        table.add_row(
            printable(group.name),
            _text(bar_text(group.current, group.target, group.minimum, _BAR_WIDTH, ascii_only=ascii_only), style),
            counts(group),
            _text(group.status, _STATUS_STYLES.get(group.status, "")),
            states(group),
        )
    return table


def counts(group: GroupPicture) -> str:
    """``2/16``, and the minimum while it is not reached."""
    waits = f" (min {group.minimum})" if group.current < group.minimum < group.target else ""
    return f"{group.current}/{group.target}{waits}"


def states(group: GroupPicture) -> str:
    """Nodes by state, the frequent ones first; nothing while all run."""
    others = {state: count for state, count in group.states.items() if state != "Running"}
    if not others:
        return ""
    return ", ".join(f"{count} {state}" for state, count in group.states.items())


def event_lines(events: tuple[Folded, ...], width: int) -> Iterator[Text]:
    """One line an event, the newest first, repeats counted."""
    for folded in events:
        text = event_text(folded)
        yield _text(text if len(text) <= width else f"{text[: width - 1]}…", _LEVEL_STYLES.get(folded.event.level, ""))


def event_text(folded: Folded) -> str:
    """An event as one line."""
    event = folded.event
    where = f"{event.group}: " if event.group else ""
    times = f" ({folded.count} times)" if folded.count > 1 else ""
    return printable(f"{shown_time(event.time)[11:]}  {event.level:5}  {where}{event.description}{times}")


def plain_lines(before: Picture | None, shown: Picture) -> Iterator[str]:
    """What is new since the last look, a line each, with the time in front: for logs and pipes."""
    stamp = shown_time(shown.at)
    known = {group.name: group for group in before.groups} if before else {}
    if before is None or before.status != shown.status:
        yield f"{stamp}  cluster {shown.name}: {shown.status}, {shown.current} of {shown.target} instances"
    for group in shown.groups:
        if known.get(group.name) != group:
            nodes = states(group)
            yield f"{stamp}  {group.name}: {counts(group)} {group.status}{', nodes: ' if nodes else ''}{nodes}"
    told = {folded.event.event_id for folded in before.events} if before else set()
    for folded in reversed(shown.events):
        if folded.event.event_id not in told:
            yield f"{stamp}  event {event_text(folded)}"
    for remark in shown.remarks:
        if before is None or remark not in before.remarks:
            yield f"{stamp}  not known: {remark}"


def _text(text: str, style: str) -> Text:
    from rich.text import Text

    return Text(text, style=style, no_wrap=True, overflow="ellipsis")
