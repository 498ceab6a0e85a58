"""EventBridge patterns for the three types of HyperPod events, each with the nesting of its own. Standard library only.

A rule written for one type silently matches nothing of another: the cluster's name lies in ``detail`` in two of them
and in ``detail.EventDetails`` in the third (FACTS 8, field report O-02).
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

SOURCE = "aws.sagemaker"

Pattern = dict[str, Any]


class EventKind(StrEnum):
    """The detail types that the service sends (developer guide, "cluster events reference", EventBridge)."""

    CLUSTER_EVENT = "SageMaker HyperPod Cluster Event"
    """Provisioning, scaling, lifecycle scripts, software updates, Slurm's health. Has a level."""
    NODE_HEALTH = "SageMaker HyperPod Cluster Node Health Event"
    """The health agent found a node unhealthy, or healthy again."""
    STATE_CHANGE = "SageMaker HyperPod Cluster State Change"
    """The cluster's status changed."""


class EventLevel(StrEnum):
    """Levels of a cluster event, each including those below it in this list."""

    INFO = "Info"
    WARN = "Warn"
    """Spurious while scaling (field report C-06)."""
    ERROR = "Error"


# Statuses of DescribeCluster that are worth each level (FACTS 5.5).
_STATUSES = {EventLevel.WARN: ("Failed", "RollingBack", "Deleting"), EventLevel.ERROR: ("Failed", "RollingBack")}
_SLURM_UNHEALTHY = {"EventDetails": {"EventMetadata": {"SlurmHealth": {"Status": ["Unhealthy"]}}}}
_SCRIPT_FAILED = {"EventDetails": {"EventMetadata": {"Instance": {"LcsExecutionState": ["Failed"]}}}}
# The metadata is null in some deliveries (FACTS 8), the description is not.
_SCRIPT_FAILED_TEXT = {"Description": [{"wildcard": "Instance lifecycle script execution*has Failed*"}]}


def levels_from(level: EventLevel) -> tuple[EventLevel, ...]:
    """This level and those above it.

    Args:
        level: the lowest wanted.
    """
    levels = tuple(EventLevel)
    return levels[levels.index(level) :]


def event_pattern(kind: EventKind, cluster_name: str, level: EventLevel = EventLevel.ERROR) -> Pattern:
    """What matches the events of one type, of one cluster, from a level upwards.

    By name and not by ARN, so that a rule can exist before the cluster does and sees the failures of its creation; a
    name is unique in an account and region.

    Args:
        kind: the detail type.
        cluster_name: whose events.
        level: of the two types without a level, ``ERROR`` is an unhealthy node and a cluster that fails or rolls
            back, ``WARN`` also one that is being deleted, ``INFO`` every event. At any level a Slurm component that
            is unhealthy counts, whose event has no documented level.
    """
    detail: dict[str, Any] = {"ClusterName": [cluster_name]}
    if kind is EventKind.CLUSTER_EVENT:
        if level is not EventLevel.INFO:
            by_level = {"EventLevel": [item.value for item in levels_from(level)]}
            detail["$or"] = [by_level, _SLURM_UNHEALTHY]
        detail = {"EventDetails": detail}
    elif level is not EventLevel.INFO and kind is EventKind.NODE_HEALTH:
        detail["HealthSummary"] = {"HealthStatus": [{"anything-but": ["Healthy"]}]}
    elif level is not EventLevel.INFO:
        detail["ClusterStatus"] = list(_STATUSES[level])
    return _pattern(kind, detail)


def script_failure_pattern(cluster_name: str) -> Pattern:
    """What matches the failures of lifecycle scripts of one cluster.

    Args:
        cluster_name: whose events.
    """
    failed = {"ClusterName": [cluster_name], "$or": [_SCRIPT_FAILED, _SCRIPT_FAILED_TEXT]}
    return _pattern(EventKind.CLUSTER_EVENT, {"EventDetails": failed})


def event_patterns(
    cluster_name: str, level: EventLevel = EventLevel.ERROR, kinds: Sequence[EventKind] = tuple(EventKind)
) -> dict[EventKind, Pattern]:
    """One pattern for each type: one rule cannot hold different nestings.

    Args:
        cluster_name: whose events.
        level: the lowest wanted; see :func:`event_pattern`.
        kinds: the types wanted; all by default.
    """
    return {kind: event_pattern(kind, cluster_name, level) for kind in kinds}


def _pattern(kind: EventKind, detail: dict[str, Any]) -> Pattern:
    return {"source": [SOURCE], "detail-type": [kind.value], "detail": detail}
