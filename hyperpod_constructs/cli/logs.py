"""``hyperpod-slurm logs``."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated

import typer

from . import account
from .account import ProfileOption, RegionOption  # noqa: TC001 - Typer reads the annotations

if TYPE_CHECKING:
    from hyperpod_constructs.handlers.cluster.observed import Cluster

    from .account import Clients
    from .live.logs import Tail

HELP = """Show the log of a node's lifecycle script, or of the service's health checks on it.

NODE is controller, login, a group of one node, an instance id, a logical id, or a host name. An instance id of a
node that is gone works too: logs outlive their nodes, and clusters.

Example: hyperpod-slurm logs my-training-cluster controller

Example: hyperpod-slurm logs my-training-cluster i-0123456789abcdef0 --follow --grep FAILED
"""


class Kind(enum.StrEnum):
    """Which log."""

    LIFECYCLE = "lifecycle"
    HEALTH = "health"
    DEEP_HEALTH_CHECK = "deep-health-check"


def logs(
    cluster: Annotated[str, typer.Argument(help="Name or ARN of the cluster.", show_default=False)],
    node: Annotated[str, typer.Argument(help="The node.", show_default=False)],
    kind: Annotated[Kind, typer.Option("--kind", help="Which log of the node.")] = Kind.LIFECYCLE,
    group: Annotated[str | None, typer.Option("--group", help="Group of a node that is gone.")] = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=10_000, help="The last so many.")] = 200,
    since: Annotated[str | None, typer.Option("--since", help="Not before: 30m, 2h, 3d, or an ISO time.")] = None,
    grep: Annotated[str | None, typer.Option("--grep", help="Lines with this text only.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new lines until interrupted.")] = False,
    profile: ProfileOption = None,
    region: RegionOption = None,
) -> None:
    """Show logs (the help text is HELP)."""
    import sys

    from .live.clock import moment, sleep
    from .live.cluster import describe
    from .screen import printable

    clients = account.connect(profile, region)
    tail = _tail(clients, describe(clients, cluster), node, kind, group)
    after = moment(since) if since else None
    found = tail.last(lines, after)
    while True:
        for line in found:
            if grep is None or grep in line:
                sys.stdout.write(f"{printable(line)}\n")
        sys.stdout.flush()
        if not follow:
            return
        sleep(tail.pause_seconds)
        found = tail.more()


def _tail(clients: Clients, cluster: Cluster, node: str, kind: Kind, group: str | None) -> Tail:
    from .live.choice import chosen
    from .live.cluster import nodes
    from .live.logs import Tail, stream_name

    if group is not None:
        return Tail(clients.client("logs"), cluster.log_group, stream_name(kind.value, group, node))
    found = chosen(node, cluster, nodes(clients, cluster))
    return Tail(clients.client("logs"), cluster.log_group, stream_name(kind.value, found.group, found.instance_id))
