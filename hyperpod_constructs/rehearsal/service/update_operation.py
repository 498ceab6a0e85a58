"""UpdateCluster: what may change, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import announcements, groups
from .cluster_operations import begin_group, look_for_legacy_file, new_group, type_of
from .cluster_rules import (
    accounting_problems,
    change_problems,
    check_quotas,
    eks_only_problems,
    refuse,
    strategy_problems,
    topology_problems,
    traits_of,
)
from .errors import conflict, validation_error
from .group_rules import group_problems
from .plain import copied
from .state import CONTROLLER, Cluster, ClusterStatus, Group, GroupStatus

if TYPE_CHECKING:
    from .context import Context

Parameters = Mapping[str, Any]


def update_cluster(context: Context, parameters: Parameters) -> dict[str, Any]:
    """UpdateCluster: the groups named are changed or added, the others stay as they are."""
    cluster = context.find_cluster(parameters["ClusterName"])
    specifications = copied(list(parameters.get("InstanceGroups", ())))
    deleted = list(parameters.get("InstanceGroupsToDelete", ()))
    _check_free(cluster, parameters, specifications, deleted)
    refuse(_update_problems(cluster, parameters, specifications, deleted))
    targets = {g.name: (g.instance_type, g.target) for g in cluster.groups if g.name not in deleted}
    targets |= {g["InstanceGroupName"]: (type_of(g), g["InstanceCount"]) for g in specifications}
    check_quotas(context, cluster, targets)
    if look_for_legacy_file(context, cluster, specifications):
        cluster.status = ClusterStatus.ROLLING_BACK
        return {"ClusterArn": cluster.arn}
    _remember(cluster)
    for specification in specifications:
        _apply(context, cluster, specification)
    for name in deleted:
        groups.begin_deletion(context, cluster, _existing(cluster, name))
    _apply_cluster_fields(context, cluster, parameters)
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
        cluster.before_update = [(copied(g.specification), g.target, g.minimum) for g in cluster.groups]
        cluster.status, cluster.rejected = ClusterStatus.UPDATING, None


def _apply(context: Context, cluster: Cluster, specification: dict[str, Any]) -> None:
    group = cluster.group(specification["InstanceGroupName"])
    target = specification["InstanceCount"]
    if group is None:
        group = new_group(context, cluster, specification)
        cluster.groups.append(group)
        begin_group(context, cluster, group)
        return
    minimum = specification.get("MinInstanceCount", min(group.minimum, target))
    group.specification = specification
    if "ImageReleaseVersion" in specification:
        group.desired_release = specification["ImageReleaseVersion"]
    groups.set_counts(context, cluster, group, target, minimum)


def _apply_cluster_fields(context: Context, cluster: Cluster, parameters: Parameters) -> None:
    for name in ("NodeRecovery", "TieredStorageConfig"):
        if name in parameters:
            cluster.request[name] = copied(parameters[name])
    if parameters.get("Orchestrator", cluster.request.get("Orchestrator")) != cluster.request.get("Orchestrator"):
        _apply_accounting(context, cluster, parameters["Orchestrator"])


def _apply_accounting(context: Context, cluster: Cluster, orchestrator: Mapping[str, Any]) -> None:
    """Set the accounting database, or fail to: the previous one is kept or restored (botocore's model)."""
    failure, context.failures.accounting = context.failures.accounting, None
    announcements.accounting(context, cluster, failure)
    if failure is None or failure[0] == "RevertFailed":
        cluster.request["Orchestrator"] = copied(dict(orchestrator))
    if failure:
        cluster.failure_message = failure[1]
