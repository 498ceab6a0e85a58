"""Which node a person means. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hyperpod_constructs.cli.failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hyperpod_constructs.handlers.cluster.observed import Cluster

    from .cluster import Node

ALLOWED = "controller, login, a group of one node, an instance id, a logical id, or a host name"
_SHOWN = 6
_NODE_TYPES = {"controller": "Controller", "login": "Login"}


def chosen(wanted: str, cluster: Cluster, nodes: Sequence[Node]) -> Node:
    """The node that a word means.

    Args:
        wanted: an instance id, a logical id, a host name, a group's name, or ``controller`` or ``login``.
        cluster: as it was described.
        nodes: all of them.

    Raises:
        CommandError: it means none, or several.
    """
    exact = [node for node in nodes if wanted in (node.instance_id, node.logical_id, node.host) and wanted]
    exact += [node for node in nodes if node.host and wanted.partition(".")[0] == node.host and node not in exact]
    found = exact or _of_groups(wanted, cluster, nodes)
    with_instance = [node for node in found if node.instance_id]
    if found and not with_instance:
        raise CommandError(f"{wanted}: no instance of it is there yet; see: hyperpod-slurm nodes {cluster.name}")
    running = [node for node in with_instance if node.status == "Running"] or with_instance
    if len(running) == 1 or (running and wanted in _NODE_TYPES):
        return running[0]
    if not running:
        raise CommandError(f"{cluster.name} has no node {wanted!r}, allowed: {ALLOWED}; it has: {_names(nodes)}")
    raise CommandError(f"{wanted}: {len(running)} nodes are meant, say which: {_names(running)}")


def _of_groups(wanted: str, cluster: Cluster, nodes: Sequence[Node]) -> list[Node]:
    names = {wanted} if wanted in cluster.groups else set()
    if not names and wanted in _NODE_TYPES:
        names = {group.name for group in cluster.groups.values() if group.node_type == _NODE_TYPES[wanted]}
    return [node for node in nodes if node.group in names]


def _names(nodes: Sequence[Node]) -> str:
    shown = [f"{node.instance_id or node.logical_id} ({node.group})" for node in nodes[:_SHOWN]]
    more = f", and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
    return (", ".join(shown) + more) or "none"
