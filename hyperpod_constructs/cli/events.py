"""``hyperpod-slurm events``."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import account
from .account import ProfileOption, RegionOption  # noqa: TC001 - Typer reads the annotations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .account import Clients
    from .live.cluster import Event

HELP = """Show the events of a cluster, oldest first, the newest last.

With --details the failure text of each Error event is looked up, which the list itself does not hold. Clusters
without continuous provisioning have no events.

Example: hyperpod-slurm events my-training-cluster --level error --details

Example: hyperpod-slurm events my-training-cluster --group worker-gpu-a --since 2h --follow
"""

_SECONDS = 5.0


class Level(enum.StrEnum):
    """How bad."""

    INFO = "info"
    WARN = "warn"
    ERROR = "error"


_WORSE = {Level.INFO: ("Info", "Warn", "Error"), Level.WARN: ("Warn", "Error"), Level.ERROR: ("Error",)}


def events(
    cluster: Annotated[str, typer.Argument(help="Name or ARN of the cluster.", show_default=False)],
    group: Annotated[str | None, typer.Option("--group", help="Events of this instance group only.")] = None,
    node: Annotated[str | None, typer.Option("--node", help="Events of this instance id only.")] = None,
    level: Annotated[Level, typer.Option("--level", help="This level and worse ones.")] = Level.INFO,
    since: Annotated[str | None, typer.Option("--since", help="Not before: 30m, 2h, 3d, or an ISO time.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="The newest so many.")] = 100,
    details: Annotated[bool, typer.Option("--details", help="Look up the failure texts.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new ones until interrupted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    profile: ProfileOption = None,
    region: RegionOption = None,
) -> None:
    """Show events (the help text is HELP)."""
    from .live.clock import moment, sleep
    from .live.cluster import describe

    clients = account.connect(profile, region)
    name = describe(clients, cluster).name
    filters: dict[str, Any] = {"InstanceGroupName": group, "NodeId": node}
    if since is not None:
        filters["EventTimeAfter"] = moment(since)
    given = {key: value for key, value in filters.items() if value is not None}
    shown: set[str] = set()
    _show(clients, name, _new(clients, name, given, shown, level, limit), details, as_json)
    while follow:
        sleep(_SECONDS)
        _show(clients, name, _new(clients, name, given, shown, level, limit), details, as_json)


def _new(
    clients: Clients, name: str, filters: dict[str, Any], shown: set[str], level: Level, limit: int
) -> list[Event]:
    """Those not shown yet, oldest first."""
    found = []
    for event in _until_known(clients, name, filters, shown):
        if event.level in _WORSE[level]:
            found.append(event)
        if len(found) == limit:
            break
    shown.update(event.event_id for event in found)
    return found[::-1]


def _until_known(clients: Clients, name: str, filters: dict[str, Any], shown: set[str]) -> Iterator[Event]:
    from .live.cluster import newest_events

    for event in newest_events(clients, name, **filters):
        if event.event_id in shown:
            return
        yield event


def _show(clients: Clients, name: str, found: Sequence[Event], details: bool, as_json: bool) -> None:
    import json
    import sys

    from .live.clock import shown_time
    from .screen import json_value, printable

    for event in found:
        cause = _cause(clients, name, event) if details and event.level == "Error" else ""
        if as_json:
            line = json.dumps({**event.as_dict(), **({"cause": cause} if cause else {})}, default=json_value)
        else:
            where = " ".join(part for part in (event.group, event.instance_id) if part)
            line = f"{shown_time(event.time)}  {event.level:5}  {where}{': ' if where else ''}{event.description}"
            line += f"\n{'':19}  cause: {cause}" if cause else ""
        sys.stdout.write(f"{printable(line)}\n")
    sys.stdout.flush()


def _cause(clients: Clients, name: str, event: Event) -> str:
    from hyperpod_constructs.handlers.cluster.diagnosis import failure_message

    from .live.cluster import event_details

    try:
        text = failure_message(event_details(clients, name, event.event_id))
    except account.AccountError as error:
        return str(error)
    return "" if text == event.description else " ".join(text.split())
