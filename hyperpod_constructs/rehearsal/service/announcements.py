"""The events that the service writes, in the words of the documented events reference.

Source: developer guide, "SageMaker HyperPod cluster events reference"; the pair of events that one failed instance
gives, and the noise while scaling, are field reports C-05 and C-06.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .context import Context
    from .events import Level, Subtree
    from .failures import RollbackStatus
    from .state import Cluster, Group, Node

Outcome = Literal["started", "completed", "failed"]
_LEVELS: dict[Outcome, Level] = {"started": "Info", "completed": "Info", "failed": "Error"}
_NOISE = "Request to service failed. If failure persists after retry, contact customer support."


def cluster_operation(
    context: Context, cluster: Cluster, operation: str, outcome: Outcome, failure: str | None = None
) -> None:
    """The whole cluster's creation, update or deletion starts or ends."""
    text = {"started": "started successfully", "completed": "completed successfully", "failed": "failed"}[outcome]
    _record(
        context,
        cluster,
        "Cluster",
        _LEVELS[outcome],
        f"Cluster {cluster.name} {operation} {text}",
        metadata=("Cluster", {"FailureMessage": failure}) if failure else None,
    )


def group_operation(
    context: Context, cluster: Cluster, group: Group, operation: str, outcome: Outcome, failure: str | None = None
) -> None:
    """A group's creation, scaling or deletion starts or ends."""
    texts = {
        "started": f"InstanceGroup {group.name} {operation} started successfully in Cluster {cluster.name}",
        "completed": f"Instance Group {group.name} {operation} in Cluster {cluster.name} completed successfully",
        "failed": f"Instance Group {group.name} {operation} in Cluster {cluster.name} failed",
    }
    _record(
        context, cluster, "InstanceGroup", _LEVELS[outcome], texts[outcome], group, metadata=_counts(group, failure)
    )


def minimum_reached(context: Context, cluster: Cluster, group: Group) -> None:
    """The group has its minimum and is in service (guide on continuous provisioning, MinCount events)."""
    text = (
        f"Minimum capacity reached for InstanceGroup {group.name} in Cluster {cluster.name}: "
        f"{group.ready_count} of at least {group.minimum} instances"
    )
    _record(context, cluster, "InstanceGroup", "Info", text, group, metadata=_counts(group))


def rollback_initiated(context: Context, cluster: Cluster, group: Group, wanted: int) -> None:
    """Three hours passed without the minimum (guide on continuous provisioning, MinCount events)."""
    failure = f"MinCount {wanted} was not reached within 3 hours, {group.ready_count} instances are ready."
    text = f"Rollback initiated for InstanceGroup {group.name} in Cluster {cluster.name}"
    _record(context, cluster, "InstanceGroup", "Warn", text, group, metadata=_counts(group, failure))


def lost_nodes(context: Context, cluster: Cluster, group: Group, count: int) -> None:
    """The warning that appears whenever a group gets smaller, with an alarming text that means nothing (C-06)."""
    text = (
        f"{count} node(s) lost orchestration-ready status. Current: {group.current_count}/{group.target} "
        f"in InstanceGroup {group.name} of Cluster {cluster.name}"
    )
    _record(context, cluster, "Cluster", "Warn", text, metadata=("Cluster", {"FailureMessage": _NOISE}))


def provisioning_parameters(context: Context, cluster: Cluster, group: Group, found: bool) -> None:
    """Whether the legacy file lies beside the scripts."""
    start = "Found provisioning_parameters.json" if found else "No provisioning_parameters.json found"
    text = f"{start} in LifeCycleScript S3 Path for controller group {group.name}"
    _record(context, cluster, "Cluster", "Error" if found else "Info", text)


def instance_launched(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """EC2 gave an instance."""
    text = f"EC2 Instance {node.instance_id} successfully provisioned in Cluster {cluster.name} and IG {group.name}"
    _instance(context, cluster, group, node, "Info", text)


def instance_failed(context: Context, cluster: Cluster, group: Group, node: Node, failure: str) -> None:
    """No instance could be had: two events for the one fault (C-05)."""
    first = f"Failed to provision EC2 Instance in Cluster {cluster.name} and InstanceGroup {group.name}"
    _instance(context, cluster, group, node, "Error", first, failure)
    _instance(context, cluster, group, node, "Error", _creation_failed(cluster, group), failure)


def script_succeeded(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """The lifecycle script ended well and the instance is in the cluster."""
    text = f"Instance lifecycle script execution for EC2 Instance {node.instance_id} has Succeeded"
    _instance(context, cluster, group, node, "Info", text, state="Succeeded")
    operation = "replacement" if node.replacing else "creation"
    text = (
        f"Instance {operation} {node.instance_id} in Cluster {cluster.name} and IG {group.name} completed successfully"
    )
    _instance(context, cluster, group, node, "Info", text)


def script_failed(context: Context, cluster: Cluster, group: Group, node: Node, failure: str) -> None:
    """The lifecycle script failed: two events for the one fault (C-05)."""
    text = (
        f"Instance lifecycle script execution for EC2 Instance {node.instance_id} has Failed. "
        f"To view lifecycle script logs, {where(cluster, group, node)}"
    )
    _instance(context, cluster, group, node, "Error", text, failure, state="Failed")
    _instance(context, cluster, group, node, "Error", _creation_failed(cluster, group), failure, state="Failed")


def instance_stopping(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """An instance is being ended."""
    text = (
        f"Termination of EC2 Instance {node.instance_id} is currently in progress in Cluster {cluster.name} "
        f"and IG {group.name}"
    )
    _instance(context, cluster, group, node, "Info", text)


def instance_rebooting(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """An instance is being rebooted."""
    text = (
        f"Reboot of EC2 Instance {node.instance_id} is currently in progress on Cluster {cluster.name} "
        f"and IG {group.name}"
    )
    _instance(context, cluster, group, node, "Info", text)


def instance_replacing(context: Context, cluster: Cluster, group: Group, node: Node) -> None:
    """The new instance of a node that is being replaced starts."""
    text = (
        f"Instance {node.instance_id} is starting as part of instance replacement in Cluster {cluster.name} "
        f"and IG {group.name}"
    )
    _instance(context, cluster, group, node, "Info", text)


def instance_unhealthy(context: Context, cluster: Cluster, group: Group, node: Node, failure: str) -> None:
    """The health agent found a fault."""
    text = f"Instance operation {node.instance_id} in Cluster {cluster.name} and IG {group.name} failed"
    _instance(context, cluster, group, node, "Error", text, failure)


def instance_kind(context: Context, cluster: Cluster, group: Group, node: Node, kind: str) -> None:
    """Only in a rehearsal: whether a node is a real one."""
    text = f"Rehearsal: EC2 Instance {node.instance_id} ({group.name}-{node.number}) is a {kind} node"
    _instance(context, cluster, group, node, "Info", text)


def patching(
    context: Context, cluster: Cluster, group: Group, level: Level, text: str, failure: str | None = None
) -> None:
    """A step of a software update; the text may name `{group}` and `{cluster}`."""
    text = text.format(group=group.name, cluster=cluster.name)
    metadata: tuple[Subtree, dict[str, Any]] | None = None
    if failure:
        metadata = ("InstanceGroup", {"FailureMessage": failure})
    _record(context, cluster, "InstanceGroup", level, text, group, metadata=metadata)


def accounting(context: Context, cluster: Cluster, failure: tuple[RollbackStatus, str] | None) -> None:
    """The external accounting database was set, or could not be (botocore's model, DatabaseConfigurationMetadata)."""
    if failure:
        members = {"RollbackStatus": failure[0], "FailureMessage": failure[1]}
        text = f"Failed to update the accounting database of Cluster {cluster.name}"
        _record(context, cluster, "Cluster", "Error", text, metadata=("DatabaseConfiguration", members))
        return
    text = f"The accounting database of Cluster {cluster.name} was updated successfully"
    members = {"Advisory": "Accounting data of the previous database is not copied."}
    _record(context, cluster, "Cluster", "Info", text, metadata=("DatabaseConfiguration", members))


def where(cluster: Cluster, group: Group, node: Node) -> str:
    """Where the log of a node's lifecycle script is."""
    stream = log_stream(group, node)
    return f"visit log group '{cluster.log_group}' and log stream '{stream}'."


def log_stream(group: Group, node: Node) -> str:
    """The log stream of a node's lifecycle script (FACTS 8)."""
    return f"LifecycleConfig/{group.name}/{node.instance_id}"


def _creation_failed(cluster: Cluster, group: Group) -> str:
    return f"Instance creation in Cluster {cluster.name} and InstanceGroup {group.name} failed"


def _counts(group: Group, failure: str | None = None) -> tuple[Subtree, dict[str, Any]]:
    members: dict[str, Any] = {
        "InstanceCount": group.current_count,
        "TargetCount": group.target,
        "MinCount": group.minimum,
    }
    return ("InstanceGroupScaling", {**members, "FailureMessage": failure} if failure else members)


def _instance(
    context: Context,
    cluster: Cluster,
    group: Group,
    node: Node,
    level: Level,
    text: str,
    failure: str | None = None,
    state: str | None = None,
) -> None:
    members: dict[str, Any] = {"NodeLogicalId": node.logical_id}
    if failure:
        members["FailureMessage"] = failure
    if state:
        members["LcsExecutionState"] = state
    _record(context, cluster, "Instance", level, text, group, node, ("Instance", members))


def _record(
    context: Context,
    cluster: Cluster,
    resource_type: str,
    level: Level,
    text: str,
    group: Group | None = None,
    node: Node | None = None,
    metadata: tuple[Subtree, dict[str, Any]] | None = None,
) -> None:
    if not cluster.continuous:
        return
    cluster.events.record(
        time=context.at,
        resource_type=resource_type,
        level=level,
        description=text,
        group=group.name if group else None,
        instance_id=node.instance_id if node else None,
        operation_id=(node.operation_id if node else None) or (group.operation_id if group else None),
        metadata=metadata,
    )
