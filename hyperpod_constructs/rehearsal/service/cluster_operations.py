"""The operations on whole clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import announcements, groups, nodes, views
from .clock import epoch_seconds
from .cluster_rules import (
    LEGACY_FILE_FOUND,
    check_quotas,
    creation_problems,
    legacy_file_in,
    refuse,
)
from .errors import conflict, in_use
from .events import EventLog
from .paging import page
from .plain import copied
from .state import CONTROLLER, LOGIN, Cluster, ClusterStatus, Group, GroupStatus

if TYPE_CHECKING:
    from .context import Context

Parameters = Mapping[str, Any]
DEFAULT_IMAGE = "ami-0c0ffee0c0ffee000"


def create_cluster(context: Context, parameters: Parameters) -> dict[str, Any]:
    """CreateCluster: accepted at once, provisioned later."""
    request = copied(dict(parameters))
    if context.assumptions.continuous_by_default:
        request.setdefault("NodeProvisioningMode", "Continuous")
    refuse(creation_problems(request))
    if request["ClusterName"] in context.clusters:
        raise in_use(f"Cluster {request['ClusterName']} already exists")
    specifications = request.pop("InstanceGroups", [])
    check_quotas(context, None, {g["InstanceGroupName"]: (type_of(g), g["InstanceCount"]) for g in specifications})
    tags = {tag["Key"]: tag["Value"] for tag in request.pop("Tags", [])}
    cluster = Cluster(
        name=request["ClusterName"],
        arn=f"arn:aws:sagemaker:{context.region}:{context.account}:cluster/{context.identifiers.cluster_id()}",
        created_at=context.at,
        request=request,
        tags=tags,
        events=EventLog(context.identifiers),
    )
    cluster.groups = [new_group(context, cluster, specification) for specification in specifications]
    context.clusters[cluster.name] = cluster
    announcements.cluster_operation(context, cluster, "creation", "started")
    look_for_legacy_file(context, cluster, specifications)
    for group in cluster.groups:
        begin_group(context, cluster, group)
    return {"ClusterArn": cluster.arn}


def type_of(specification: Mapping[str, Any]) -> str:
    return str(specification.get("InstanceType") or specification["InstanceRequirements"]["InstanceTypes"][0])


def new_group(context: Context, cluster: Cluster, specification: dict[str, Any]) -> Group:
    """A group with its image: what it pins, else that of the oldest group, else the latest (FACTS 10)."""
    oldest = next(iter(cluster.groups), None)
    release = specification.get("ImageReleaseVersion") or (
        oldest.image_release if oldest else context.latest_image_release
    )
    image_id = specification.get("ImageId") or (oldest.image_id if oldest else DEFAULT_IMAGE)
    image_id = DEFAULT_IMAGE if image_id == "default" else image_id
    return Group(
        specification=specification,
        target=specification["InstanceCount"],
        minimum=_minimum_at_creation(cluster, specification),
        image_release=release,
        desired_release=release,
        image_id=image_id,
        desired_image_id=image_id,
    )


def _minimum_at_creation(cluster: Cluster, specification: Mapping[str, Any]) -> int:
    """1 for controller and login, 0 for compute, unless given (FACTS 5.1)."""
    if not cluster.continuous:
        return 0
    default = int(specification["SlurmConfig"]["NodeType"] in (CONTROLLER, LOGIN))
    return int(specification.get("MinInstanceCount", min(default, specification["InstanceCount"])))


def begin_group(context: Context, cluster: Cluster, group: Group) -> None:
    group.operation_id = context.identifiers.unique()
    group.scaling = True
    announcements.group_operation(context, cluster, group, "creation", "started")
    groups.start_minimum_clock(context, group)


def look_for_legacy_file(context: Context, cluster: Cluster, specifications: list[dict[str, Any]]) -> bool:
    """A request with API-driven configuration and the legacy file is accepted, then fails and rolls back."""
    if cluster.slurm is None or not any("SlurmConfig" in specification for specification in specifications):
        return False
    found = legacy_file_in(context, specifications)
    for group in cluster.groups_of(CONTROLLER):
        announcements.provisioning_parameters(context, cluster, group, found)
    if found:
        cluster.rejected = LEGACY_FILE_FOUND
        cluster.due = context.at + context.timings.rollback_seconds
    return found


def describe_cluster(context: Context, parameters: Parameters) -> dict[str, Any]:
    """DescribeCluster."""
    return views.cluster_details(context, context.find_cluster(parameters["ClusterName"]))


def list_clusters(context: Context, parameters: Parameters) -> dict[str, Any]:
    """ListClusters: filtered, sorted by creation time unless by name, oldest first."""
    after, before = parameters.get("CreationTimeAfter"), parameters.get("CreationTimeBefore")
    plan = parameters.get("TrainingPlanArn")
    found = [
        cluster
        for cluster in context.clusters.values()
        if parameters.get("NameContains", "") in cluster.name
        and (after is None or cluster.created_at > epoch_seconds(after))
        and (before is None or cluster.created_at < epoch_seconds(before))
        and (plan is None or plan in _plans(cluster))
    ]
    by_name = parameters.get("SortBy") == "NAME"
    found.sort(
        key=lambda cluster: (cluster.name,) if by_name else (cluster.created_at, cluster.name),
        reverse=parameters.get("SortOrder") == "Descending",
    )
    return page([_summary(cluster) for cluster in found], parameters, "ClusterSummaries")


def _plans(cluster: Cluster) -> list[str]:
    return [str(g.specification["TrainingPlanArn"]) for g in cluster.groups if "TrainingPlanArn" in g.specification]


def _summary(cluster: Cluster) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "CreationTime": cluster.created_at,
        "ClusterStatus": str(cluster.status),
    }
    if _plans(cluster):
        shown["TrainingPlanArns"] = _plans(cluster)
    return shown


def delete_cluster(context: Context, parameters: Parameters) -> dict[str, Any]:
    """DeleteCluster: everything is taken down; the log group stays (FACTS 8)."""
    cluster = context.find_cluster(parameters["ClusterName"])
    busy = {ClusterStatus.DELETING, ClusterStatus.SYSTEM_UPDATING, ClusterStatus.ROLLING_BACK, ClusterStatus.UPDATING}
    if context.assumptions.delete_conflicts_while_creating or not cluster.continuous:
        busy.add(ClusterStatus.CREATING)
    if cluster.status in busy:
        raise conflict(f"Cluster {cluster.name} is in status {cluster.status} and cannot be deleted")
    cluster.status, cluster.due, cluster.rejected = ClusterStatus.DELETING, None, None
    announcements.cluster_operation(context, cluster, "deletion", "started")
    for group in cluster.groups:
        group.status = GroupStatus.DELETING
        for node in list(group.nodes):
            nodes.leave(context, cluster, group, node)
    context.changes += 1
    return {"ClusterArn": cluster.arn}
