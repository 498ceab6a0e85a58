"""UpdateClusterSoftware: root volumes replaced, scripts run again, back to the old image when they fail (FACTS 5.4).

On Slurm all nodes of a group go at once: rolling batches are for EKS only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import announcements, nodes, script_log
from .state import Cluster, Group, GroupStatus, Node, NodeState, SoftwarePhase, SoftwareUpdate

if TYPE_CHECKING:
    from .context import Context


def start(context: Context, cluster: Cluster, group: Group, release: str, image_id: str) -> None:
    """Accept an update of a group to another release."""
    group.desired_release, group.desired_image_id = release, image_id
    group.software = SoftwareUpdate(SoftwarePhase.PENDING, context.at + context.timings.software_update_pending_seconds)
    group.status = GroupStatus.SYSTEM_UPDATING
    _say(
        context,
        cluster,
        group,
        "InstanceGroup {group} in Cluster {cluster} has been scheduled for UpdateClusterSoftware",
    )
    context.changes += 1


def settle(context: Context, cluster: Cluster) -> None:
    """Begin and end the updates of a cluster's groups."""
    for group in cluster.groups:
        update = group.software
        if update is None or not group.updating_software:
            continue
        if update.phase is SoftwarePhase.PENDING:
            if update.starts_at <= context.at:
                update.phase = SoftwarePhase.IN_PROGRESS
                _say(context, cluster, group, "UpdateClusterSoftware initiated for IG {group} in Cluster {cluster}.")
                _reimage(context, cluster, group)
        elif not any(node.state is NodeState.UPDATING for node in group.nodes):
            _finish(context, cluster, group, update)


def _reimage(context: Context, cluster: Cluster, group: Group) -> None:
    for node in group.nodes:
        outdated = node.image_release != group.desired_release or node.image_id != group.desired_image_id
        if node.state is NodeState.UPDATING or (node.state is NodeState.READY and outdated):
            _replace_root_volume(context, cluster, group, node)
    context.changes += 1


def _replace_root_volume(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """The instance stays, its disk does not: for a launcher that is an end and a new launch of the same instance."""
    context.launcher.terminate(str(node.instance_id))
    nodes.set_state(context, node, NodeState.UPDATING)
    nodes.prepare_launch(context, cluster, group, node)


def follow(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """See how far a node is with its new root volume."""
    report = nodes.report_of(context, node)
    script_log.follow(context, cluster, group, node, report)
    if report.state == "ready":
        node.image_release, node.image_id, node.updated_at = group.desired_release, group.desired_image_id, context.at
        nodes.set_state(context, node, NodeState.READY)
        announcements.patching(
            context, cluster, group, "Info", f"Instance {node.instance_id} in IG {{group}} updated successfully."
        )
    elif report.state == "failed":
        _failed(context, cluster, group, node, report.message)


def _failed(context: Context, cluster: Cluster, group: Group, node: Node, message: str | None) -> None:
    update = group.software
    if update is None:
        return
    # The message stays while the next tries run: an operator sees SystemUpdating with the text of an earlier failure.
    node.message = nodes.failure_text(cluster, group, node, message)
    announcements.script_failed(context, cluster, group, node, node.message)
    update.tries[node.logical_id] = update.tries.get(node.logical_id, 0) + 1
    if update.tries[node.logical_id] < context.timings.software_update_tries:
        _replace_root_volume(context, cluster, group, node)
    elif update.phase is SoftwarePhase.IN_PROGRESS:
        _roll_back(context, cluster, group, update, node.message)
    else:
        update.phase = SoftwarePhase.FAILED
        group.status = GroupStatus.IN_SERVICE
        cluster.failure_message = node.message
        text = "Rollback failed for IG {group} in Cluster {cluster}."
        announcements.patching(context, cluster, group, "Error", text, node.message)
        _give_up(context, group)


def _roll_back(context: Context, cluster: Cluster, group: Group, update: SoftwareUpdate, message: str) -> None:
    """Current and desired image change places (botocore's model, TargetStateCount)."""
    update.phase = SoftwarePhase.ROLLBACK_IN_PROGRESS
    update.tries.clear()
    group.image_release, group.desired_release = group.desired_release, group.image_release
    group.image_id, group.desired_image_id = group.desired_image_id, group.image_id
    cluster.failure_message = message
    text = "UpdateClusterSoftware failed for IG {group} in Cluster {cluster}. Initiating rollback."
    announcements.patching(context, cluster, group, "Error", text, message)
    _reimage(context, cluster, group)


def _give_up(context: Context, group: Group) -> None:
    """Nodes that neither image could start are made again, as any failed node in continuous mode."""
    for node in group.nodes:
        if node.state is NodeState.UPDATING:
            node.attempts += 1
            nodes.set_state(context, node, NodeState.FAILED, context.at + context.timings.failure_visible_seconds)


def _finish(context: Context, cluster: Cluster, group: Group, update: SoftwareUpdate) -> None:
    rolled_back = update.phase is SoftwarePhase.ROLLBACK_IN_PROGRESS
    update.phase = SoftwarePhase.ROLLBACK_COMPLETE if rolled_back else SoftwarePhase.SUCCEEDED
    group.image_release, group.image_id = group.desired_release, group.desired_image_id
    group.status = GroupStatus.IN_SERVICE
    if not rolled_back:
        for node in group.nodes:
            node.message = None
        _say(
            context, cluster, group, "UpdateClusterSoftware completed successfully for IG {group} in Cluster {cluster}."
        )
    context.changes += 1


def _say(context: Context, cluster: Cluster, group: Group, text: str) -> None:
    announcements.patching(context, cluster, group, "Info", text)
