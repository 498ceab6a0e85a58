"""The operations on whole clusters."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import announcements, groups, nodes, views
from .clock import epoch_seconds
from .cluster_rules import (
    LEGACY_FILE_FOUND,
    accounting_problems,
    change_problems,
    check_quotas,
    creation_problems,
    eks_only_problems,
    legacy_file_in,
    refuse,
    strategy_problems,
    tag_problems,
    topology_problems,
    traits_of,
)
from .errors import conflict, in_use, validation_error
from .events import EventLog
from .group_rules import group_problems
from .paging import page
from .state import CONTROLLER, LOGIN, Cluster, ClusterStatus, Group, GroupStatus

if TYPE_CHECKING:
    from .context import Context

Parameters = Mapping[str, Any]
DEFAULT_IMAGE = "ami-0c0ffee0c0ffee000"


def create_cluster(ctx: Context, parameters: Parameters) -> dict[str, Any]:
    """CreateCluster: accepted at once, provisioned later."""
    request = copy.deepcopy(dict(parameters))
    if ctx.assumptions.continuous_by_default:
        request.setdefault("NodeProvisioningMode", "Continuous")
    refuse(creation_problems(request))
    if request["ClusterName"] in ctx.clusters:
        raise in_use(f"Cluster {request['ClusterName']} already exists")
    specifications = request.pop("InstanceGroups", [])
    check_quotas(ctx, None, {g["InstanceGroupName"]: (_type_of(g), g["InstanceCount"]) for g in specifications})
    tags = {tag["Key"]: tag["Value"] for tag in request.pop("Tags", [])}
    cluster = Cluster(
        name=request["ClusterName"],
        arn=f"arn:aws:sagemaker:{ctx.region}:{ctx.account}:cluster/{ctx.identifiers.cluster_id()}",
        created_at=ctx.at,
        request=request,
        tags=tags,
        events=EventLog(ctx.identifiers),
    )
    cluster.groups = [_new_group(ctx, cluster, specification) for specification in specifications]
    ctx.clusters[cluster.name] = cluster
    announcements.cluster_operation(ctx, cluster, "creation", "started")
    _look_for_legacy_file(ctx, cluster, specifications)
    for group in cluster.groups:
        _begin_group(ctx, cluster, group)
    return {"ClusterArn": cluster.arn}


def _type_of(specification: Mapping[str, Any]) -> str:
    return str(specification.get("InstanceType") or specification["InstanceRequirements"]["InstanceTypes"][0])


def _new_group(ctx: Context, cluster: Cluster, specification: dict[str, Any]) -> Group:
    """A group with its image: what it pins, else that of the oldest group, else the latest (FACTS 10)."""
    oldest = next(iter(cluster.groups), None)
    release = specification.get("ImageReleaseVersion") or (oldest.image_release if oldest else ctx.latest_image_release)
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


def _begin_group(ctx: Context, cluster: Cluster, group: Group) -> None:
    group.operation_id = ctx.identifiers.unique()
    group.scaling = True
    announcements.group_operation(ctx, cluster, group, "creation", "started")
    groups.start_minimum_clock(ctx, group)


def _look_for_legacy_file(ctx: Context, cluster: Cluster, specifications: list[dict[str, Any]]) -> bool:
    """A request with API-driven configuration and the legacy file is accepted, then fails and rolls back."""
    if cluster.slurm is None or not any("SlurmConfig" in specification for specification in specifications):
        return False
    found = legacy_file_in(ctx, specifications)
    for group in cluster.groups_of(CONTROLLER):
        announcements.provisioning_parameters(ctx, cluster, group, found)
    if found:
        cluster.rejected = LEGACY_FILE_FOUND
        cluster.due = ctx.at + ctx.timings.rollback_seconds
    return found


def describe_cluster(ctx: Context, parameters: Parameters) -> dict[str, Any]:
    """DescribeCluster."""
    return views.cluster_details(ctx, ctx.find_cluster(parameters["ClusterName"]))


def list_clusters(ctx: Context, parameters: Parameters) -> dict[str, Any]:
    """ListClusters: filtered, sorted by creation time unless by name, oldest first."""
    after, before = parameters.get("CreationTimeAfter"), parameters.get("CreationTimeBefore")
    plan = parameters.get("TrainingPlanArn")
    found = [
        cluster
        for cluster in ctx.clusters.values()
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


def update_cluster(ctx: Context, parameters: Parameters) -> dict[str, Any]:
    """UpdateCluster: the groups named are changed or added, the others stay as they are."""
    cluster = ctx.find_cluster(parameters["ClusterName"])
    specifications = copy.deepcopy(list(parameters.get("InstanceGroups", ())))
    deleted = list(parameters.get("InstanceGroupsToDelete", ()))
    _check_free(cluster, parameters, specifications, deleted)
    refuse(_update_problems(cluster, parameters, specifications, deleted))
    targets = {g.name: (g.instance_type, g.target) for g in cluster.groups if g.name not in deleted}
    targets |= {g["InstanceGroupName"]: (_type_of(g), g["InstanceCount"]) for g in specifications}
    check_quotas(ctx, cluster, targets)
    if _look_for_legacy_file(ctx, cluster, specifications):
        cluster.status = ClusterStatus.ROLLING_BACK
        return {"ClusterArn": cluster.arn}
    _remember(cluster)
    for specification in specifications:
        _apply(ctx, cluster, specification)
    for name in deleted:
        groups.begin_deletion(ctx, cluster, _existing(cluster, name))
    _apply_cluster_fields(ctx, cluster, parameters)
    return {"ClusterArn": cluster.arn}


def _existing(cluster: Cluster, name: str) -> Group:
    group = cluster.group(name)
    if group is None:
        raise validation_error(f"Instance group {name} does not exist in cluster {cluster.name}")
    return group


def _check_free(
    cluster: Cluster, parameters: Parameters, specifications: list[dict[str, Any]], deleted: list[str]
) -> None:
    """Refuse a change while another one is under way (FACTS 5.3, field report C-11)."""
    if cluster.status is ClusterStatus.CREATING and cluster.continuous:
        # Counts may be corrected and groups deleted while a minimum is awaited (FACTS 5.1).
        if parameters.keys() - {"ClusterName", "InstanceGroups", "InstanceGroupsToDelete", "NodeProvisioningMode"}:
            raise conflict(f"Cluster {cluster.name} is in status Creating: only counts can be changed")
    elif cluster.status is not ClusterStatus.IN_SERVICE:
        raise conflict(f"Cluster {cluster.name} is in status {cluster.status} and cannot be updated")
    for specification in specifications:
        _check_group_free(cluster, specification)
    for name in deleted:
        group = cluster.group(name)
        if group and group.status is GroupStatus.DELETING:
            raise conflict(f"Instance group {name} is being deleted")


def _check_group_free(cluster: Cluster, specification: dict[str, Any]) -> None:
    name = specification["InstanceGroupName"]
    group = cluster.group(name)
    if group is None:
        if cluster.status is ClusterStatus.CREATING:
            raise conflict(f"Cluster {cluster.name} is in status Creating: group {name} cannot be added")
        return
    if group.status is GroupStatus.DELETING:
        raise conflict(f"Instance group {name} is being deleted")
    if any(node.replacing for node in group.nodes):
        raise conflict(f"Instance group {name} has a node that is being replaced")
    waiting = group.status in (GroupStatus.CREATING, GroupStatus.UPDATING)
    if waiting and _without_counts(group.specification) != _without_counts(specification):
        raise conflict(f"Instance group {name} is in status {group.status}: only counts can be changed")


def _without_counts(specification: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in specification.items() if k not in ("InstanceCount", "MinInstanceCount")}


def _update_problems(
    cluster: Cluster, parameters: Parameters, specifications: list[dict[str, Any]], deleted: list[str]
) -> list[str]:
    wanted = {**cluster.request, **{k: parameters[k] for k in ("Orchestrator",) if k in parameters}}
    traits = traits_of(cluster.request)
    found = list(eks_only_problems(parameters))
    if "NodeProvisioningMode" in parameters and not cluster.continuous:
        found.append(f"NodeProvisioningMode of cluster {cluster.name} cannot be changed")
    found += _orchestrator_problems(cluster, parameters)
    for specification in specifications:
        found += group_problems(specification, traits)
        group = cluster.group(specification["InstanceGroupName"])
        if group:
            found += change_problems(group, specification)
    found += _deletion_problems(cluster, specifications, deleted)
    changed = {specification["InstanceGroupName"] for specification in specifications}
    kept = [g.specification for g in cluster.groups if g.name not in changed and g.status is not GroupStatus.DELETING]
    staying = [g for g in kept if g["InstanceGroupName"] not in deleted] + specifications
    found += topology_problems(staying, traits)
    found += accounting_problems(wanted, staying)
    return found


def _deletion_problems(cluster: Cluster, specifications: list[dict[str, Any]], deleted: list[str]) -> list[str]:
    """A group is either changed or deleted; the controller stays (FACTS 5.3, field report C-12)."""
    found = []
    changed = {specification["InstanceGroupName"] for specification in specifications}
    for name in deleted:
        group = cluster.group(name)
        if group is None:
            found.append(f"Instance group {name} does not exist in cluster {cluster.name}")
        elif name in changed:
            found.append(f"Instance group {name} cannot be in both InstanceGroups and InstanceGroupsToDelete")
        elif group.node_type == CONTROLLER:
            found.append(f"Instance group {name} of node type Controller cannot be deleted")
    if deleted and not changed and {group.name for group in cluster.groups} <= set(deleted):
        found.append("At least one instance group must stay in the cluster")
    return found


def _orchestrator_problems(cluster: Cluster, parameters: Parameters) -> list[str]:
    """An accounting database can be added and changed, never removed (FACTS 5.3)."""
    orchestrator = parameters.get("Orchestrator")
    if orchestrator is None:
        return []
    found = list(strategy_problems(orchestrator, cluster.request.get("NodeProvisioningMode")))
    if set(orchestrator) != set(cluster.request.get("Orchestrator", {})):
        return [*found, f"Orchestrator of cluster {cluster.name} cannot be changed"]
    had = "AccountingDatabase" in (cluster.slurm or {})
    if had and "AccountingDatabase" not in orchestrator.get("Slurm", {}):
        found.append("AccountingDatabase cannot be removed: a cluster cannot return to the database on its controller")
    return found


def _remember(cluster: Cluster) -> None:
    if not cluster.continuous:
        cluster.before_update = [(copy.deepcopy(g.specification), g.target, g.minimum) for g in cluster.groups]
        cluster.status, cluster.rejected = ClusterStatus.UPDATING, None


def _apply(ctx: Context, cluster: Cluster, specification: dict[str, Any]) -> None:
    group = cluster.group(specification["InstanceGroupName"])
    target = specification["InstanceCount"]
    if group is None:
        group = _new_group(ctx, cluster, specification)
        cluster.groups.append(group)
        _begin_group(ctx, cluster, group)
        return
    minimum = specification.get("MinInstanceCount", min(group.minimum, target))
    group.specification = specification
    if "ImageReleaseVersion" in specification:
        group.desired_release = specification["ImageReleaseVersion"]
    groups.set_counts(ctx, cluster, group, target, minimum)


def _apply_cluster_fields(ctx: Context, cluster: Cluster, parameters: Parameters) -> None:
    before = (cluster.slurm or {}).get("AccountingDatabase")
    for name in ("NodeRecovery", "TieredStorageConfig", "Orchestrator"):
        if name in parameters:
            cluster.request[name] = copy.deepcopy(parameters[name])
    after = (cluster.slurm or {}).get("AccountingDatabase")
    if after != before:
        announcements.accounting(ctx, cluster, None)


def delete_cluster(ctx: Context, parameters: Parameters) -> dict[str, Any]:
    """DeleteCluster: everything is taken down; the log group stays (FACTS 8)."""
    cluster = ctx.find_cluster(parameters["ClusterName"])
    busy = {ClusterStatus.DELETING, ClusterStatus.SYSTEM_UPDATING, ClusterStatus.ROLLING_BACK, ClusterStatus.UPDATING}
    if ctx.assumptions.delete_conflicts_while_creating or not cluster.continuous:
        busy.add(ClusterStatus.CREATING)
    if cluster.status in busy:
        raise conflict(f"Cluster {cluster.name} is in status {cluster.status} and cannot be deleted")
    cluster.status, cluster.due, cluster.rejected = ClusterStatus.DELETING, None, None
    announcements.cluster_operation(ctx, cluster, "deletion", "started")
    for group in cluster.groups:
        group.status = GroupStatus.DELETING
        for node in list(group.nodes):
            nodes.leave(ctx, cluster, group, node)
    ctx.changes += 1
    return {"ClusterArn": cluster.arn}


def add_tags(ctx: Context, parameters: Parameters) -> dict[str, Any]:
    """AddTags: new ones are added, known ones overwritten."""
    cluster = _tagged(ctx, parameters)
    refuse(tag_problems(parameters["Tags"]))
    tags = cluster.tags | {tag["Key"]: tag["Value"] for tag in parameters["Tags"]}
    if len(tags) > 50:
        raise validation_error(f"Cluster {cluster.name} would have {len(tags)} tags, at most 50 are allowed")
    cluster.tags = tags
    return {"Tags": _tag_list(cluster)}


def delete_tags(ctx: Context, parameters: Parameters) -> dict[str, Any]:
    """DeleteTags; unknown keys are ignored."""
    cluster = _tagged(ctx, parameters)
    cluster.tags = {key: value for key, value in cluster.tags.items() if key not in parameters["TagKeys"]}
    return {}


def list_tags(ctx: Context, parameters: Parameters) -> dict[str, Any]:
    """ListTags."""
    return page(_tag_list(_tagged(ctx, parameters)), parameters, "Tags")


def _tagged(ctx: Context, parameters: Parameters) -> Cluster:
    arn = parameters["ResourceArn"]
    cluster = next((cluster for cluster in ctx.clusters.values() if cluster.arn == arn), None)
    if cluster is None:
        # The three operations have no error of their own in the model, so the common one is left.
        raise validation_error(f"Resource {arn} does not exist")
    return cluster


def _tag_list(cluster: Cluster) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in cluster.tags.items()]
