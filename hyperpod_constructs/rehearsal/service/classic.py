"""Clusters without continuous provisioning: all or nothing, with a rollback of the whole (FACTS 0).

Only as much as is needed to notice that a request forgot `NodeProvisioningMode`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import groups, nodes
from .state import Cluster, ClusterStatus, GroupStatus, NodeState

if TYPE_CHECKING:
    from .context import Context


def provision(context: Context, cluster: Cluster) -> None:
    """Bring the cluster up, or back after a failure."""
    if cluster.rejected and cluster.status in (ClusterStatus.CREATING, ClusterStatus.UPDATING):
        _roll_back(context, cluster)
    if cluster.status is ClusterStatus.ROLLING_BACK:
        _finish_rollback(context, cluster)
        return
    for group in list(cluster.groups):
        if group.status is GroupStatus.DELETING:
            if not group.nodes:
                cluster.groups.remove(group)
                context.changes += 1
            continue
        groups.reconcile(context, cluster, group)
        for node in list(group.nodes):
            if node.state is NodeState.WAITING and node.due is not None and node.due <= context.at:
                nodes.try_launch(context, cluster, group, node)
    _finish(context, cluster)


def _whole(cluster: Cluster) -> bool:
    return all(group.current_count == group.target == len(group.nodes) for group in cluster.groups)


def _finish(context: Context, cluster: Cluster) -> None:
    if cluster.status in (ClusterStatus.CREATING, ClusterStatus.UPDATING) and _whole(cluster):
        cluster.status, cluster.before_update, cluster.ever_in_service = ClusterStatus.IN_SERVICE, None, True
        for group in cluster.groups:
            group.status = GroupStatus.IN_SERVICE
        context.changes += 1


def _roll_back(context: Context, cluster: Cluster) -> None:
    cluster.status, cluster.failure_message = ClusterStatus.ROLLING_BACK, cluster.rejected
    cluster.rejected = None
    before = {spec["InstanceGroupName"]: (spec, target) for spec, target, _ in cluster.before_update or ()}
    for group in cluster.groups:
        specification, target = before.get(group.name, (group.specification, 0))
        group.specification, group.target = specification, target
        groups.reconcile(context, cluster, group)
    context.changes += 1


def _finish_rollback(context: Context, cluster: Cluster) -> None:
    if not _whole(cluster):
        return
    cluster.rejected = None
    cluster.status = ClusterStatus.IN_SERVICE if cluster.ever_in_service else ClusterStatus.FAILED
    cluster.groups = [group for group in cluster.groups if group.target or not cluster.ever_in_service]
    for group in cluster.groups:
        group.status = GroupStatus.IN_SERVICE if cluster.ever_in_service else GroupStatus.FAILED
    context.changes += 1
