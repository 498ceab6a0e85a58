"""What happens to one node: asked for, launched, its script run, failed, stopped, made again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from . import announcements, script_log
from .failures import LAUNCH_FAILURE
from .launcher import NodeKinds, NodeReport, NodeRequest
from .state import CONTROLLER, STARTING, Cluster, ClusterStatus, Group, GroupStatus, Node, NodeState

if TYPE_CHECKING:
    from .context import Context

_LOG = logging.getLogger(__name__)


def capacity_message(instance_type: str) -> str:
    """The text of an instance that cannot be had (developer guide, cluster events reference, example record)."""
    return f"We currently do not have sufficient capacity to launch new {instance_type} instances. Please try again."


def request(context: Context, group: Group, count: int) -> list[Node]:
    """Add nodes to a group; they wait for their launch."""
    made = [
        Node(
            logical_id=context.identifiers.unique(),
            number=number,
            requested_at=context.at,
            due=context.at,
            operation_id=group.operation_id,
        )
        for number in group.free_numbers(count)
    ]
    group.nodes.extend(made)
    context.changes += len(made)
    return made


def set_state(context: Context, node: Node, state: NodeState, due: float | None = None) -> None:
    """Move a node on."""
    node.state, node.due = state, due
    context.changes += 1


def try_launch(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """Get an instance for a waiting node, if there is one."""
    keys = (group.instance_type, group.name)
    exhausted = [key for key in keys if not context.capacity.left(key, context.held, context.at)]
    if exhausted:
        _no_capacity(context, cluster, group, node)
        return
    failure = context.failures.next_launch_failure(group.name)
    if failure:
        launch_failed(context, cluster, group, node, failure.message)
        return
    node.instance_id = context.identifiers.instance_id()
    node.address = node.address or context.addresses.take()
    node.launched_at = context.at
    node.specification = group.specification
    node.image_release, node.image_id = group.desired_release, group.desired_image_id
    set_state(context, node, NodeState.LAUNCHING)
    prepare_launch(context, cluster, group, node)


def prepare_launch(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """Have the launcher make a node, once the platform's view of the cluster holds it."""
    node.script_begun, node.log_seen = False, ()
    slurm = node.specification.get("SlurmConfig", {})
    context.launches.append(
        NodeRequest(
            cluster_name=cluster.name,
            cluster_arn=cluster.arn,
            cluster_id=cluster.id,
            group_name=group.name,
            instance_id=str(node.instance_id),
            logical_id=node.logical_id,
            instance_name=f"{group.name}-{node.number}",
            node_type=slurm.get("NodeType"),
            instance_type=group.instance_type,
            private_ip=str(node.address),
            specification=node.specification,
            partitions=tuple(slurm.get("PartitionNames", ())),
            failure=context.failures.next_lifecycle_failure(group.name),
        )
    )


def launch_prepared(context: Context, cluster: Cluster) -> None:
    """Hand the prepared nodes of a cluster to the launcher; an exception of it is a failed launch."""
    prepared = {launch.instance_id: launch for launch in context.launches}
    context.launches.clear()
    for group, node in cluster.members():
        launch = prepared.get(node.instance_id or "")
        if launch is None or node.state not in (NodeState.LAUNCHING, NodeState.UPDATING):
            continue
        try:
            context.launcher.launch(launch)
        except Exception as error:  # whatever a launcher meets, the service goes on
            _LOG.warning("launch of %s failed", launch.instance_name, exc_info=True)
            launch_failed(context, cluster, group, node, f"{LAUNCH_FAILURE} ({error})")
            continue
        if node.state is NodeState.LAUNCHING:
            _announce_launch(context, cluster, group, node)


def _announce_launch(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    announcements.instance_launched(context, cluster, group, node)
    if node.replacing:
        announcements.instance_replacing(context, cluster, group, node)
    kind = context.launcher.kind(str(node.instance_id)) if isinstance(context.launcher, NodeKinds) else None
    if kind:
        announcements.instance_kind(context, cluster, group, node, kind)


def _no_capacity(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    message = capacity_message(group.instance_type)
    announcements.instance_failed(context, cluster, group, node, message)
    _retry(context, node, message)
    fail_if_final(context, cluster, group, message)


def launch_failed(context: Context, cluster: Cluster, group: Group, node: Node, message: str) -> None:
    """An instance did not come up for a passing reason: tried again, for a controller too (FACTS 5.5)."""
    announcements.instance_failed(context, cluster, group, node, message)
    if node.instance_id:
        context.launcher.terminate(node.instance_id)
        node.instance_id = None
    _retry(context, node, message)


def _retry(context: Context, node: Node, message: str) -> None:
    node.attempts += 1
    node.message = message
    set_state(context, node, NodeState.WAITING, context.at + context.timings.retry_delay(node.attempts))


def fail_if_final(context: Context, cluster: Cluster, group: Group, message: str) -> None:
    """A controller that fails for good while the cluster is created fails the cluster (FACTS 5.5).

    Without continuous provisioning every failure is final, which the caller finds in `cluster.rejected`.
    """
    if not cluster.continuous:
        if cluster.status in (ClusterStatus.CREATING, ClusterStatus.UPDATING):
            cluster.rejected = cluster.rejected or message
        return
    if group.node_type == CONTROLLER and cluster.status is ClusterStatus.CREATING:
        fail_cluster(context, cluster, message, group)


def fail_cluster(context: Context, cluster: Cluster, message: str, group: Group | None = None) -> None:
    """The cluster's creation failed for good."""
    cluster.status = ClusterStatus.FAILED
    cluster.failure_message = message
    if group:
        group.status = GroupStatus.FAILED
        announcements.group_operation(context, cluster, group, "creation", "failed", message)
    announcements.cluster_operation(context, cluster, "creation", "failed", message)
    context.changes += 1


def advance(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """Do what is due for a node at this time."""
    if node.state in STARTING:
        _follow_start(context, cluster, group, node)
    elif node.state is NodeState.REBOOTING:
        _follow_reboot(context, cluster, group, node)
    elif node.due is not None and node.due <= context.at:
        if node.state is NodeState.STOPPING:
            _end(context, cluster, group, node)
        elif node.state in (NodeState.FAILED, NodeState.UNHEALTHY) and cluster.status is not ClusterStatus.FAILED:
            stop(context, cluster, group, node)


def report_of(context: Context, node: Node) -> NodeReport:
    """The launcher's report; an exception of the launcher counts as a failed node."""
    try:
        return context.launcher.report(str(node.instance_id))
    except Exception as error:  # as above
        _LOG.warning("report of %s failed", node.instance_id, exc_info=True)
        return NodeReport("failed", f"{LAUNCH_FAILURE} ({error})")


def _follow_start(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    report = report_of(context, node)
    script_log.follow(context, cluster, group, node, report)
    if report.state == "running_script" and node.state is NodeState.LAUNCHING:
        set_state(context, node, NodeState.SCRIPT)
    elif report.state == "ready":
        become_ready(context, cluster, group, node)
    elif report.state == "failed":
        _script_failed(context, cluster, group, node, report.message)


def become_ready(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """The instance is in the cluster."""
    announcements.script_succeeded(context, cluster, group, node)
    node.replacing, node.was_ready, node.attempts, node.message = False, True, 0, None
    set_state(context, node, NodeState.READY)


def failure_text(cluster: Cluster, group: Group, node: Node, message: str | None) -> str:
    """The documented form of a failed script's message (developer guide, troubleshooting of lifecycle scripts)."""
    return (
        f"Instance {node.instance_id} failed to provision with the following error: "
        f'"{message or "Lifecycle scripts did not run successfully."} To view lifecycle script logs, '
        f'{announcements.where(cluster, group, node)}"'
    )


def _script_failed(context: Context, cluster: Cluster, group: Group, node: Node, message: str | None) -> None:
    node.message = failure_text(cluster, group, node, message)
    node.attempts += 1
    announcements.script_failed(context, cluster, group, node, node.message)
    set_state(context, node, NodeState.FAILED, context.at + context.timings.failure_visible_seconds)
    fail_if_final(context, cluster, group, node.message)


def _follow_reboot(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    report = report_of(context, node)
    if report.state == "ready":
        set_state(context, node, NodeState.READY)
    elif report.state == "failed":
        become_unhealthy(
            context, cluster, group, node, report.message or "The instance did not come back from its reboot."
        )


def become_unhealthy(context: Context, cluster: Cluster, group: Group, node: Node, message: str) -> None:
    """A fault in the hardware: the node is replaced if NodeRecovery is Automatic, else left as it is (FACTS 6.4)."""
    node.message = message
    announcements.instance_unhealthy(context, cluster, group, node, message)
    automatic = cluster.request.get("NodeRecovery", "Automatic") == "Automatic"
    node.replacing = automatic
    due = context.at + context.timings.failure_visible_seconds if automatic else None
    set_state(context, node, NodeState.UNHEALTHY, due)


def leave(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """Take a node out of its group for good."""
    node.leaving = True
    if node.instance_id is None:
        group.nodes.remove(node)
        context.free(node)
        context.changes += 1
    elif node.state is not NodeState.STOPPING:
        stop(context, cluster, group, node)


def replace(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """Give a node another instance; its logical id stays (FACTS 5.4)."""
    node.replacing = True
    if node.instance_id is None:
        set_state(context, node, NodeState.WAITING, context.at)
    else:
        stop(context, cluster, group, node)


def stop(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """Start ending the instance of a node."""
    announcements.instance_stopping(context, cluster, group, node)
    context.launcher.terminate(str(node.instance_id))
    set_state(context, node, NodeState.STOPPING, context.at + context.timings.termination_seconds)


def _end(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    if context.deletion_blocked and cluster.status is ClusterStatus.DELETING:
        node.message = context.deletion_blocked
        node.due = context.at + context.timings.retry_limit_seconds
        return
    node.instance_id, node.was_ready = None, False
    if node.leaving:
        group.nodes.remove(node)
        context.free(node)
        context.changes += 1
        return
    delay = 0.0 if node.replacing else context.timings.retry_delay(node.attempts)
    set_state(context, node, NodeState.WAITING, context.at + delay)
