"""The operations on single nodes, and the software update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import announcements, groups, nodes, software, views
from .clock import epoch_seconds
from .cluster_operations import DEFAULT_IMAGE
from .cluster_rules import check_quotas
from .errors import conflict, not_found, validation_error
from .paging import page
from .plain import copied
from .state import CONTROLLER, STARTING, Cluster, ClusterStatus, Group, GroupStatus, Node, NodeState

if TYPE_CHECKING:
    from .context import Context

Parameters = Mapping[str, Any]
MOST_NODES_ADDED = 50
MOST_NODES_DELETED = 50


def list_cluster_nodes(context: Context, parameters: Parameters) -> dict[str, Any]:
    """ListClusterNodes: nodes with an instance, or all of them when logical ids are asked for."""
    cluster = context.find_cluster(parameters["ClusterName"])
    logical_ids = bool(parameters.get("IncludeNodeLogicalIds"))
    after, before = parameters.get("CreationTimeAfter"), parameters.get("CreationTimeBefore")
    found = [
        (group, node)
        for group, node in cluster.members()
        if (node.instance_id or logical_ids)
        and parameters.get("InstanceGroupNameContains", "") in group.name
        and (after is None or _made_at(node) > epoch_seconds(after))
        and (before is None or _made_at(node) < epoch_seconds(before))
    ]
    by_name = parameters.get("SortBy") == "NAME"
    found.sort(
        key=lambda pair: (pair[0].name, pair[1].number) if by_name else (_made_at(pair[1]),),
        reverse=parameters.get("SortOrder") == "Descending",
    )
    summaries = [views.node_summary(context, group, node, logical_ids) for group, node in found]
    return page(summaries, parameters, "ClusterNodeSummaries")


def _made_at(node: Node) -> float:
    return node.requested_at if node.launched_at is None else node.launched_at


def describe_cluster_node(context: Context, parameters: Parameters) -> dict[str, Any]:
    """DescribeClusterNode, by instance id or logical id."""
    cluster = context.find_cluster(parameters["ClusterName"])
    identifier = parameters.get("NodeId") or parameters.get("NodeLogicalId")
    if not identifier:
        raise validation_error("One of NodeId and NodeLogicalId must be given")
    found = _find(cluster, identifier)
    if found is None:
        raise not_found(f"Instance {identifier} not found in cluster {cluster.name}")
    return {"NodeDetails": views.node_details(context, *found)}


def _find(cluster: Cluster, identifier: str) -> tuple[Group, Node] | None:
    return next((pair for pair in cluster.members() if identifier in (pair[1].instance_id, pair[1].logical_id)), None)


def batch_add_cluster_nodes(context: Context, parameters: Parameters) -> dict[str, Any]:
    """BatchAddClusterNodes: raises the targets of groups and names the new nodes (FACTS 5.4)."""
    cluster = context.find_cluster(parameters["ClusterName"])
    if not cluster.continuous:
        raise validation_error("BatchAddClusterNodes is only supported with NodeProvisioningMode Continuous")
    wanted = copied(list(parameters["NodesToAdd"]))
    total = sum(item["IncrementTargetCountBy"] for item in wanted)
    if total > MOST_NODES_ADDED:
        raise validation_error(f"At most {MOST_NODES_ADDED} nodes can be added in one request, got {total}")
    token = parameters.get("ClientToken")
    known = _known_token(context, cluster, token, wanted)
    if known is not None:
        return {"Successful": known, "Failed": []}
    problems = [_addition_problem(cluster, item) for item in wanted]
    _check_addition_quotas(
        context, cluster, [item for item, problem in zip(wanted, problems, strict=True) if not problem]
    )
    added: list[tuple[str, str]] = []
    failed: list[dict[str, Any]] = []
    for item, problem in zip(wanted, problems, strict=True):
        group = cluster.group(item["InstanceGroupName"])
        if problem or group is None:
            failed.append(_addition_failed(item, str(problem)))
        else:
            added += _add(context, cluster, group, item["IncrementTargetCountBy"])
    if token:
        cluster.client_tokens[token] = (context.at, wanted, added)
    return {"Successful": [_addition(cluster, name, logical_id) for name, logical_id in added], "Failed": failed}


def _known_token(context: Context, cluster: Cluster, token: str | None, wanted: Any) -> list[dict[str, Any]] | None:
    """The same token and the same request within eight hours: the same nodes, with their latest status."""
    made_at, request, added = cluster.client_tokens.get(token or "", (0.0, None, []))
    if request is None or context.at - made_at > context.timings.client_token_seconds:
        return None
    if request != wanted:
        raise validation_error(f"ClientToken {token} was used with other parameters")
    return [_addition(cluster, name, logical_id) for name, logical_id in added]


def _addition_problem(cluster: Cluster, item: Mapping[str, Any]) -> str | None:
    group = cluster.group(item["InstanceGroupName"])
    if group is None:
        return "InstanceGroupNotFound"
    blocked = group.status not in (GroupStatus.IN_SERVICE, GroupStatus.DEGRADED) or group.node_type == CONTROLLER
    if blocked or cluster.status is not ClusterStatus.IN_SERVICE:
        return "InvalidInstanceGroupStatus"
    if any(instance_type != group.instance_type for instance_type in item.get("InstanceTypes", ())):
        return "IncompatibleInstanceTypes"
    return None


def _check_addition_quotas(context: Context, cluster: Cluster, items: list[Any]) -> None:
    targets = {group.name: (group.instance_type, group.target) for group in cluster.groups}
    for item in items:
        instance_type, target = targets[item["InstanceGroupName"]]
        targets[item["InstanceGroupName"]] = (instance_type, target + item["IncrementTargetCountBy"])
    check_quotas(context, cluster, targets)


def _addition_failed(item: Mapping[str, Any], code: str) -> dict[str, Any]:
    name = item["InstanceGroupName"]
    return {
        "InstanceGroupName": name,
        "ErrorCode": code,
        "FailedCount": item["IncrementTargetCountBy"],
        "Message": f"Nodes cannot be added to instance group {name}: {code}",
    }


def _add(context: Context, cluster: Cluster, group: Group, count: int) -> list[tuple[str, str]]:
    groups.set_counts(context, cluster, group, group.target + count, group.minimum)
    return [(group.name, node.logical_id) for node in nodes.request(context, group, count)]


def _addition(cluster: Cluster, group_name: str, logical_id: str) -> dict[str, Any]:
    found = _find(cluster, logical_id)
    status = found[1].status if found else "NotFound"
    return {"NodeLogicalId": logical_id, "InstanceGroupName": group_name, "Status": status}


def batch_delete_cluster_nodes(context: Context, parameters: Parameters) -> dict[str, Any]:
    """BatchDeleteClusterNodes: these very nodes go, and the targets with them (FACTS 5.3, 5.4)."""
    cluster, identifiers = _batch(context, parameters, MOST_NODES_DELETED)

    def delete(group: Group, node: Node) -> str | None:
        if group.node_type == CONTROLLER:
            return "NodeIdInUse"
        if node.leaving or group.status not in (GroupStatus.IN_SERVICE, GroupStatus.DEGRADED):
            return "InvalidNodeStatus"
        was_ready = node.state is NodeState.READY
        target = group.target - 1
        groups.set_counts(context, cluster, group, target, min(group.minimum, target))
        nodes.leave(context, cluster, group, node)
        if was_ready:
            announcements.lost_nodes(context, cluster, group, 1)
        return None

    failures = {identifier: _each(cluster, identifier, "NodeIdNotFound", delete) for identifier in identifiers}
    return _batch_answer(parameters, failures, "Code")


def batch_replace_cluster_nodes(context: Context, parameters: Parameters) -> dict[str, Any]:
    """BatchReplaceClusterNodes: new instances for these nodes, which keep their logical ids (FACTS 5.4)."""
    cluster, identifiers = _batch(context, parameters, 25)

    def replace(group: Group, node: Node) -> str | None:
        if group.node_type == CONTROLLER or node.replacing:
            return "InstanceIdInUse"
        if not _can_be_serviced(cluster, group, node):
            return "InvalidInstanceStatus"
        nodes.replace(context, cluster, group, node)
        return None

    failures = {identifier: _each(cluster, identifier, "InstanceIdNotFound", replace) for identifier in identifiers}
    return _batch_answer(parameters, failures, "ErrorCode")


def batch_reboot_cluster_nodes(context: Context, parameters: Parameters) -> dict[str, Any]:
    """BatchRebootClusterNodes; no lifecycle script runs (FACTS 5.7)."""
    cluster, identifiers = _batch(context, parameters, 25)

    def reboot(group: Group, node: Node) -> str | None:
        if node.replacing:
            return "InstanceIdInUse"
        if node.state is not NodeState.READY or not _can_be_serviced(cluster, group, node):
            return "InvalidInstanceStatus"
        announcements.instance_rebooting(context, cluster, group, node)
        context.launcher.reboot(str(node.instance_id))
        nodes.set_state(context, node, NodeState.REBOOTING)
        return None

    failures = {identifier: _each(cluster, identifier, "InstanceIdNotFound", reboot) for identifier in identifiers}
    return _batch_answer(parameters, failures, "ErrorCode")


def _can_be_serviced(cluster: Cluster, group: Group, node: Node) -> bool:
    changing = {*STARTING, NodeState.STOPPING, NodeState.UPDATING, NodeState.REBOOTING}
    settled = group.status in (GroupStatus.IN_SERVICE, GroupStatus.DEGRADED)
    return cluster.status is ClusterStatus.IN_SERVICE and settled and node.state not in changing


def _batch(context: Context, parameters: Parameters, most: int) -> tuple[Cluster, list[str]]:
    cluster = context.find_cluster(parameters["ClusterName"])
    logical = list(parameters.get("NodeLogicalIds", ()))
    identifiers = list(dict.fromkeys([*parameters.get("NodeIds", ()), *logical]))
    if not identifiers:
        raise validation_error("NodeIds or NodeLogicalIds must be given")
    if logical and not cluster.continuous:
        raise validation_error("NodeLogicalIds is only supported with NodeProvisioningMode Continuous")
    if len(identifiers) > most:
        raise validation_error(f"At most {most} nodes can be named in one request, got {len(identifiers)}")
    return cluster, identifiers


def _each(cluster: Cluster, identifier: str, unknown: str, act: Callable[[Group, Node], str | None]) -> str | None:
    found = _find(cluster, identifier)
    return unknown if found is None else act(*found)


def _batch_answer(parameters: Parameters, failures: Mapping[str, str | None], code: str) -> dict[str, Any]:
    """Lists that would be empty are left out: the model gives most of them a minimum of one."""
    by_instance = [identifier for identifier in failures if identifier in parameters.get("NodeIds", ())]
    by_logical_id = [identifier for identifier in failures if identifier in parameters.get("NodeLogicalIds", ())]
    answer: dict[str, Any] = {
        "Successful": [identifier for identifier in by_instance if failures[identifier] is None],
        "SuccessfulNodeLogicalIds": [identifier for identifier in by_logical_id if failures[identifier] is None],
        "Failed": [_failed("NodeId", i, code, failures) for i in by_instance if failures[i]],
        "FailedNodeLogicalIds": [_failed("NodeLogicalId", i, code, failures) for i in by_logical_id if failures[i]],
    }
    return {name: items for name, items in answer.items() if items}


def _failed(member: str, identifier: str, code: str, failures: Mapping[str, str | None]) -> dict[str, Any]:
    reason = str(failures[identifier])
    return {member: identifier, code: reason, "Message": f"{identifier}: {reason}"}


def update_cluster_software(context: Context, parameters: Parameters) -> dict[str, Any]:
    """UpdateClusterSoftware: groups that have the release already are left alone (FACTS 5.4)."""
    cluster = context.find_cluster(parameters["ClusterName"])
    named = {item["InstanceGroupName"]: item for item in parameters.get("InstanceGroups", ())}
    unknown = [name for name in named if cluster.group(name) is None]
    if unknown:
        raise validation_error(f"Instance groups {', '.join(unknown)} do not exist in cluster {cluster.name}")
    if "DeploymentConfig" in parameters:
        raise validation_error("DeploymentConfig is only supported for clusters orchestrated by EKS")
    chosen = [group for group in cluster.groups if not named or group.name in named]
    _check_updatable(cluster, chosen)
    for group in chosen:
        release = named.get(group.name, {}).get("ImageReleaseVersion", context.latest_image_release)
        image_id = parameters.get("ImageId", group.image_id)
        image_id = DEFAULT_IMAGE if image_id == "default" else image_id
        if (release, image_id) != (group.image_release, group.image_id):
            software.start(context, cluster, group, release, image_id)
            cluster.status = ClusterStatus.SYSTEM_UPDATING
    return {"ClusterArn": cluster.arn}


def _check_updatable(cluster: Cluster, chosen: list[Group]) -> None:
    if cluster.status is not ClusterStatus.IN_SERVICE:
        raise conflict(f"Cluster {cluster.name} is in status {cluster.status} and its software cannot be updated")
    for group in chosen:
        if group.status not in (GroupStatus.IN_SERVICE, GroupStatus.DEGRADED):
            raise conflict(f"Instance group {group.name} is in status {group.status}")
        if any(node.replacing for node in group.nodes):
            raise conflict(f"Instance group {group.name} has a node that is being replaced")
