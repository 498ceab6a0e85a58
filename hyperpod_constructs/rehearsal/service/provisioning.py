"""What happens to a whole cluster at one moment: controller first, then the rest, retried for ever (FACTS 0, 5.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import announcements, classic, groups, nodes, software, views
from .state import CONTROLLER, LOGIN, Cluster, ClusterStatus, Group, GroupStatus, NodeState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .context import Context

_MOST_PASSES = 1000


def step(context: Context, cluster: Cluster) -> None:
    """Do everything that is due for a cluster at this time.

    Raises:
        RuntimeError: The cluster does not come to rest, which is a fault of this program.
    """
    for _ in range(_MOST_PASSES):
        before = context.changes
        _pass(context, cluster)
        if context.changes == before:
            return
    raise RuntimeError(f"cluster {cluster.name} does not come to rest at {context.at}")


def next_due(context: Context, after: float) -> float | None:
    """The next time at which anything is due."""
    times = [
        time for cluster in context.clusters.values() for time in _times(cluster) if time is not None and time > after
    ]
    return min(times, default=None)


def _times(cluster: Cluster) -> Iterator[float | None]:
    yield cluster.due
    for group in cluster.groups:
        yield group.minimum_deadline
        if group.software:
            yield group.software.starts_at
        for node in group.nodes:
            yield node.due


def _pass(context: Context, cluster: Cluster) -> None:
    for group, node in cluster.members():
        if node.state is NodeState.UPDATING:
            software.follow(context, cluster, group, node)
        else:
            nodes.advance(context, cluster, group, node)
    if cluster.status is ClusterStatus.DELETING:
        _delete(context, cluster)
    elif cluster.status is not ClusterStatus.FAILED:
        if cluster.continuous:
            _provision(context, cluster)
        else:
            classic.provision(context, cluster)
    _tell_launcher(context, cluster)


def _tell_launcher(context: Context, cluster: Cluster) -> None:
    shown = [(group.name, [(node.instance_id, node.state) for node in group.nodes]) for group in cluster.groups]
    if shown != cluster.shown:
        cluster.shown = shown
        context.launcher.configuration_changed(views.cluster_view(context, cluster))
    nodes.launch_prepared(context, cluster)


def _delete(context: Context, cluster: Cluster) -> None:
    if any(group.nodes for group in cluster.groups):
        return
    if cluster.due is None:
        cluster.due = context.at + context.timings.deletion_seconds
        context.changes += 1
    elif cluster.due <= context.at and cluster.name in context.clusters:
        del context.clusters[cluster.name]
        context.changes += 1


def _provision(context: Context, cluster: Cluster) -> None:
    if cluster.rejected and cluster.due is not None and cluster.due <= context.at:
        _settle_rejected(context, cluster)
        return
    if cluster.rejected and cluster.status is ClusterStatus.CREATING:
        return
    if _head_never_came_up(context, cluster):
        nodes.fail_cluster(context, cluster, _NEVER_READY)
        return
    for group in list(cluster.groups):
        _provision_group(context, cluster, group)
        if cluster.status is ClusterStatus.FAILED:
            return
    software.settle(context, cluster)
    _settle(context, cluster)


def _provision_group(context: Context, cluster: Cluster, group: Group) -> None:
    if group.status is GroupStatus.DELETING:
        if not group.nodes:
            cluster.groups.remove(group)
            announcements.group_operation(context, cluster, group, "deletion", "completed")
            context.changes += 1
        return
    groups.reconcile(context, cluster, group)
    provisioning = group.node_type == CONTROLLER or _controller_was_up(cluster)
    if provisioning:
        for node in list(group.nodes):
            if node.state is NodeState.WAITING and node.due is not None and node.due <= context.at:
                nodes.try_launch(context, cluster, group, node)
            if cluster.status is ClusterStatus.FAILED:
                return
    groups.settle(context, cluster, group, provisioning)


def _controller_was_up(cluster: Cluster) -> bool:
    """Login and compute nodes start once one controller node is healthy."""
    return cluster.ever_in_service or any(group.ready_count for group in cluster.groups_of(CONTROLLER))


def _settle(context: Context, cluster: Cluster) -> None:
    if cluster.status is ClusterStatus.CREATING:
        if _is_up(context, cluster):
            cluster.status, cluster.ever_in_service = ClusterStatus.IN_SERVICE, True
            announcements.cluster_operation(context, cluster, "creation", "completed")
            context.changes += 1
    elif cluster.status is ClusterStatus.SYSTEM_UPDATING and not any(g.updating_software for g in cluster.groups):
        cluster.status = ClusterStatus.IN_SERVICE
        context.changes += 1


_NEVER_READY = "Cluster creation failed: controller and login nodes did not become ready within the expected time"
"""The documented event "Slurm cluster rollback completed"; its time is not documented, three hours are assumed."""


def _head_never_came_up(context: Context, cluster: Cluster) -> bool:
    """Asked before the minimum of the login group is rolled back, which would hide it."""
    time_is_up = context.at >= cluster.created_at + context.timings.minimum_timeout_seconds
    return cluster.status is ClusterStatus.CREATING and time_is_up and not _head_is_up(cluster)


def _head_is_up(cluster: Cluster) -> bool:
    logins = [group for group in cluster.groups_of(LOGIN) if group.target or group.nodes or not group.ever_in_service]
    return all(any(g.ready_count for g in found) for found in (cluster.groups_of(CONTROLLER), logins) if found)


def _is_up(context: Context, cluster: Cluster) -> bool:
    if not _head_is_up(cluster):
        return False
    if not context.assumptions.cluster_waits_for_minimums:
        return True
    return all(group.status is not GroupStatus.CREATING for group in cluster.groups)


def _settle_rejected(context: Context, cluster: Cluster) -> None:
    """A request that was accepted turned out to be unacceptable: creation fails, an update is undone (FACTS 5.1)."""
    message, cluster.due, cluster.rejected = str(cluster.rejected), None, None
    if cluster.status is ClusterStatus.CREATING:
        nodes.fail_cluster(context, cluster, message)
        return
    cluster.status = ClusterStatus.IN_SERVICE
    cluster.failure_message = message
    announcements.cluster_operation(context, cluster, "update", "failed", message)
    context.changes += 1
