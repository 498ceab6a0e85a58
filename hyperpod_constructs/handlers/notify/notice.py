"""An event of any of the three types as one value, and what the service adds to it when asked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

SUBTREES = ("Cluster", "InstanceGroup", "InstanceGroupScaling", "Instance", "DatabaseConfiguration", "SlurmHealth")
"""Where the metadata of a cluster event may lie; all but one are null (field report C-05)."""

# What the daemon states mean for the user (botocore's model, SlurmHealthMetadata).
_SLURM_REASONS = {
    "DaemonDown": "the daemon is not running, job accounting records are not being written",
    "DaemonDisabled": "the daemon runs but is not enabled: accounting stops when the controller restarts",
    "DbUnreachable": "the daemon runs but its database does not answer, accounting records may be lost",
}


FAILING_METRIC = "FailingGroups"
"""Counted for every failure while a group is over the guard's threshold, so that its alarm stays on."""


class Kind(StrEnum):
    """What an event is about; also the names of the metrics."""

    SCRIPT_FAILURE = "LifecycleFailures"
    SLURM_UNHEALTHY = "SlurmUnhealthy"
    NODE_UNHEALTHY = "UnhealthyNodes"
    CLUSTER_STATE = "ClusterStateChanges"
    OTHER = "OtherEvents"


@dataclass(frozen=True, kw_only=True)
class Notice:
    """One event.

    Attributes:
        event_id: the service's id where there is one, else EventBridge's.
        is_describable: whether DescribeClusterEvent knows the event.
        time: ISO 8601, as EventBridge wrote it.
        level: Info, Warn or Error; "" for the types without one.
        group, instance, node: group name, EC2 id and the node's logical id; "" when it is not about one.
        summary: one line.
        reason: the failure message; "" when there is none, or none yet.
        advice: what the service recommends; "" mostly.
    """

    kind: Kind
    event_id: str
    cluster_name: str
    cluster_arn: str
    region: str
    time: str
    summary: str
    level: str = ""
    group: str = ""
    instance: str = ""
    node: str = ""
    reason: str = ""
    advice: str = ""
    is_describable: bool = False


def read_notice(event: Mapping[str, Any]) -> Notice:
    """The event as EventBridge delivers it.

    Raises:
        ValueError: it is none of the three types, or lacks the cluster's name; the text says what came.
    """
    readers = {
        "SageMaker HyperPod Cluster Event": _cluster_event,
        "SageMaker HyperPod Cluster Node Health Event": _node_health,
        "SageMaker HyperPod Cluster State Change": _state_change,
    }
    kind, detail = event.get("detail-type"), event.get("detail")
    if kind not in readers or not isinstance(detail, Mapping):
        raise ValueError(f"not a HyperPod event: detail-type {kind!r}; expected one of {', '.join(readers)}")
    notice = readers[kind](event, detail)
    if not notice.cluster_name:
        raise ValueError(f"{kind}: no ClusterName in the event")
    return notice


def with_details(notice: Notice, details: Mapping[str, Any]) -> Notice:
    """The notice with what DescribeClusterEvent says, whose metadata is whole where the event's is null.

    Args:
        notice: as the event told it.
        details: ``EventDetails`` of the answer.
    """
    metadata = _metadata(details)
    return replace(
        notice,
        kind=_kind(metadata, str(details.get("Description") or notice.summary), otherwise=notice.kind),
        summary=str(details.get("Description") or notice.summary),
        level=str(details.get("EventLevel") or notice.level),
        group=str(details.get("InstanceGroupName") or notice.group),
        instance=str(details.get("InstanceId") or notice.instance),
        node=_node(metadata) or notice.node,
        reason=_failure(metadata) or notice.reason,
    )


def _cluster_event(event: Mapping[str, Any], detail: Mapping[str, Any]) -> Notice:
    details = detail.get("EventDetails") or {}
    metadata = _metadata(details)
    summary = str(details.get("Description") or "HyperPod event without a description")
    return Notice(
        **_envelope(event, details),
        kind=_kind(metadata, summary, otherwise=Kind.OTHER),
        event_id=str(details.get("EventId") or event.get("id") or ""),
        is_describable=bool(details.get("EventId")),
        level=str(details.get("EventLevel") or ""),
        group=str(details.get("InstanceGroupName") or ""),
        instance=str(details.get("InstanceId") or ""),
        node=_node(metadata),
        summary=summary,
        reason=_failure(metadata),
    )


def _node_health(event: Mapping[str, Any], detail: Mapping[str, Any]) -> Notice:
    health = detail.get("HealthSummary") or {}
    instance = str(detail.get("InstanceId") or "")
    repair = str(health.get("RepairAction") or "None")
    status = health.get("HealthStatus") or "in unknown health"
    return Notice(
        **_envelope(event, detail),
        kind=Kind.NODE_UNHEALTHY,
        event_id=str(event.get("id") or ""),
        instance=instance,
        summary=f"Node {instance or 'unknown'} is {status}, repair: {repair}",
        reason=str(health.get("HealthStatusReason") or ""),
        advice=str(health.get("Recommendation") or ""),
    )


def _state_change(event: Mapping[str, Any], detail: Mapping[str, Any]) -> Notice:
    groups = [item for item in detail.get("InstanceGroups") or () if isinstance(item, Mapping)]
    counts = ", ".join(
        f"{item.get('InstanceGroupName')} {item.get('CurrentCount', '?')}/{item.get('TargetCount', '?')}"
        for item in groups
    )
    return Notice(
        **_envelope(event, detail),
        kind=Kind.CLUSTER_STATE,
        event_id=str(event.get("id") or ""),
        summary=f"The cluster is {detail.get('ClusterStatus') or 'in an unknown state'}"
        + (f" (instances: {counts})" if counts else ""),
        reason=str(detail.get("FailureMessage") or ""),
    )


def _envelope(event: Mapping[str, Any], detail: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "cluster_name": str(detail.get("ClusterName") or ""),
        "cluster_arn": str(detail.get("ClusterArn") or ""),
        "region": str(event.get("region") or ""),
        "time": str(event.get("time") or ""),
    }


def _metadata(details: Mapping[str, Any]) -> Mapping[str, Any]:
    return (details.get("EventDetails") or {}).get("EventMetadata") or {}


def _node(metadata: Mapping[str, Any]) -> str:
    return str((metadata.get("Instance") or {}).get("NodeLogicalId") or "")


def _failure(metadata: Mapping[str, Any]) -> str:
    """The message in whichever subtree holds one; of Slurm's health the component and what its state means."""
    for subtree in SUBTREES:
        content = metadata.get(subtree) or {}
        if content.get("FailureMessage"):
            return str(content["FailureMessage"])
    health = metadata.get("SlurmHealth") or {}
    if health.get("Reason"):
        reason = str(health["Reason"])
        return f"{health.get('Component')} is {health.get('Status')}: {_SLURM_REASONS.get(reason, reason)} ({reason})"
    return str((metadata.get("DatabaseConfiguration") or {}).get("Advisory") or "")


def _kind(metadata: Mapping[str, Any], summary: str, *, otherwise: Kind) -> Kind:
    if (metadata.get("SlurmHealth") or {}).get("Status") == "Unhealthy":
        return Kind.SLURM_UNHEALTHY
    state = (metadata.get("Instance") or {}).get("LcsExecutionState")
    if state == "Failed" or ("lifecycle script execution" in summary and "has Failed" in summary):
        return Kind.SCRIPT_FAILURE
    return otherwise
