"""``hyperpod-slurm nodes``."""

from __future__ import annotations

from typing import Annotated

import typer

from . import account
from .account import ProfileOption, RegionOption  # noqa: TC001 - Typer reads the annotations

HELP = """List the nodes of a cluster, with their state and what the service says about it.

Example: hyperpod-slurm nodes my-training-cluster --group worker-gpu-a --status Failure

Example: hyperpod-slurm nodes my-training-cluster --json
"""


def nodes(
    cluster: Annotated[str, typer.Argument(help="Name or ARN of the cluster.", show_default=False)],
    group: Annotated[str | None, typer.Option("--group", help="Nodes of this instance group only.")] = None,
    status: Annotated[
        list[str] | None, typer.Option("--status", help="Nodes in this state only, such as Failure. Repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the nodes as JSON.")] = False,
    profile: ProfileOption = None,
    region: RegionOption = None,
) -> None:
    """List nodes (the help text is HELP)."""
    from .live.clock import shown_time
    from .live.cluster import describe
    from .live.cluster import nodes as nodes_of
    from .screen import print_json, table

    clients = account.connect(profile, region)
    wanted = {one.lower() for one in status or ()}
    found = [
        node
        for node in nodes_of(clients, describe(clients, cluster), group)
        if not wanted or node.status.lower() in wanted
    ]
    found.sort(key=lambda node: (node.group, node.host, node.instance_id))
    if as_json:
        print_json([node.as_dict() for node in found])
        return
    headings = ("group", "node", "host", "type", "status", "launched", "release", "message")
    table(
        headings,
        (
            (
                node.group,
                node.instance_id or node.logical_id,
                node.host,
                node.instance_type,
                node.status,
                shown_time(node.launched),
                node.release,
                node.message,
            )
            for node in found
        ),
    )
