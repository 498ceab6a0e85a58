"""An instance group's size and status, and its minimum with the three-hour limit (FACTS 5.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import announcements, nodes
from .state import Cluster, Group, GroupStatus, Node, NodeState

if TYPE_CHECKING:
    from .context import Context

_BLOCKED = frozenset({GroupStatus.CREATING, GroupStatus.UPDATING})


def set_counts(context: Context, cluster: Cluster, group: Group, target: int, minimum: int) -> None:
    """Record a new size; the change itself happens later.

    A raised minimum makes the group Updating until it is met, and each change of the minimum restarts its clock.
    """
    minimum_changed, target_changed = minimum != group.minimum, target != group.target
    group.target, group.minimum = target, minimum
    if target_changed:
        group.operation_id = context.identifiers.unique()
        group.scaling = True
        announcements.group_operation(context, cluster, group, "scaling", "started")
    if group.status in _BLOCKED:
        if minimum_changed:
            start_minimum_clock(context, group)
    elif minimum_changed and group.ready_count < minimum:
        group.status = GroupStatus.UPDATING
        start_minimum_clock(context, group)
    else:
        group.last_in_service = (minimum, target)
    context.changes += 1


def start_minimum_clock(context: Context, group: Group) -> None:
    """From now the minimum must be met within three hours."""
    group.minimum_deadline = context.at + context.timings.minimum_timeout_seconds


def reconcile(context: Context, cluster: Cluster, group: Group) -> None:
    """Ask for missing nodes, take surplus ones out."""
    staying = group.staying
    if len(staying) < group.target:
        nodes.request(context, group, group.target - len(staying))
    surplus = len(staying) - group.target
    if surplus > 0:
        _remove(context, cluster, group, _random_victims(context, staying)[:surplus])


def _random_victims(context: Context, staying: list[Node]) -> list[Node]:
    """Nodes without an instance first, then in random order: the service picks victims at random (FACTS 5.3)."""
    shuffled = context.identifiers.random.sample(staying, len(staying))
    return sorted(shuffled, key=lambda node: node.instance_id is not None)


def _rollback_victims(staying: list[Node]) -> list[Node]:
    """Unhealthy ones first, then the newest (FACTS 5.1)."""
    return sorted(staying, key=lambda node: (node.state is NodeState.READY, -(node.launched_at or node.requested_at)))


def _remove(context: Context, cluster: Cluster, group: Group, victims: list[Node]) -> None:
    lost = sum(node.state is NodeState.READY for node in victims)
    for node in victims:
        nodes.leave(context, cluster, group, node)
    if lost:
        announcements.lost_nodes(context, cluster, group, lost)


def settle(context: Context, cluster: Cluster, group: Group, provisioning: bool) -> None:
    """Bring the group's status in line with its nodes.

    Args:
        provisioning: Whether the group's turn has come (the controller's always, the others' after the controller).
    """
    if group.status in _BLOCKED:
        if provisioning and group.ready_count >= group.minimum:
            _enter_service(context, cluster, group)
        elif group.minimum_deadline is not None and group.minimum_deadline <= context.at:
            roll_back(context, cluster, group)
    elif group.status in (GroupStatus.IN_SERVICE, GroupStatus.DEGRADED):
        _settle_degraded(context, group)
    if group.scaling and group.current_count == group.target == len(group.nodes):
        group.scaling = False
        announcements.group_operation(context, cluster, group, "scaling", "completed")


def _enter_service(context: Context, cluster: Cluster, group: Group) -> None:
    if not group.ever_in_service:
        announcements.group_operation(context, cluster, group, "creation", "completed")
    group.status, group.ever_in_service, group.minimum_deadline = GroupStatus.IN_SERVICE, True, None
    group.last_in_service = (group.minimum, group.target)
    if group.minimum:
        announcements.minimum_reached(context, cluster, group)
    context.changes += 1


def roll_back(context: Context, cluster: Cluster, group: Group) -> None:
    """The minimum was not met in time: back to the last numbers in service, 0 and 0 for a new group, at once."""
    wanted = group.minimum
    group.minimum, group.target = group.last_in_service if group.ever_in_service else (0, 0)
    group.status, group.ever_in_service, group.minimum_deadline = GroupStatus.IN_SERVICE, True, None
    announcements.rollback_initiated(context, cluster, group, wanted)
    surplus = len(group.staying) - group.target
    _remove(context, cluster, group, _rollback_victims(group.staying)[: max(surplus, 0)])
    context.changes += 1


def _settle_degraded(context: Context, group: Group) -> None:
    """Degraded while an unhealthy node is left as it is (botocore's model, status of a group)."""
    left_unhealthy = any(node.state is NodeState.UNHEALTHY and node.due is None for node in group.nodes)
    status = GroupStatus.DEGRADED if left_unhealthy else GroupStatus.IN_SERVICE
    if status is not group.status:
        group.status = status
        context.changes += 1


def begin_deletion(context: Context, cluster: Cluster, group: Group) -> None:
    """Take a group and all its nodes out."""
    group.status, group.target, group.minimum = GroupStatus.DELETING, 0, 0
    announcements.group_operation(context, cluster, group, "deletion", "started")
    for node in list(group.nodes):
        nodes.leave(context, cluster, group, node)
    context.changes += 1
