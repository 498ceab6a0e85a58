"""A live cluster: its description, nodes and events, as typed values. Look-ups only."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.cli.account import AccountError, Clients, Kind, call, pages
from hyperpod_constructs.cli.failures import CommandError, usage_error
from hyperpod_constructs.handlers.cluster.observed import Cluster, read_cluster
from hyperpod_constructs.limits import CLUSTER_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

CONTINUOUS = "Continuous"


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """One node.

    Attributes:
        group: its instance group.
        instance_id: "" while it has no instance.
        logical_id: outlives instances; "" where the cluster does not know such ids.
        instance_type: the ``ml.`` type.
        status: Running, Pending, Failure, ...
        message: of the status; "" for none.
        host: host name without a domain; "" while it has none.
        launched: when the instance was launched.
        release: image release; "" where it is not told.
    """

    group: str
    instance_id: str
    logical_id: str
    instance_type: str
    status: str
    message: str
    host: str
    launched: datetime | None
    release: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One cluster event.

    Attributes:
        event_id: for its details.
        time: when it happened.
        level: Info, Warn or Error.
        resource: Cluster, InstanceGroup or Instance.
        group: "" when it is not about one.
        instance_id: "" when it is not about one.
        description: in the service's words.
    """

    event_id: str
    time: datetime
    level: str
    resource: str
    group: str
    instance_id: str
    description: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def describe(clients: Clients, name: str) -> Cluster:
    """The cluster.

    Raises:
        CommandError: the name is none.
        AccountError: there is none of that name, with those that there are; or it cannot be looked at.
    """
    known = name.rpartition("/")[2] if name.startswith("arn:") else name
    if not name.startswith("arn:") and not CLUSTER_NAME.accepts(known):
        raise usage_error(f"got the cluster name {name!r}, allowed: {CLUSTER_NAME.words}, or an ARN")
    sagemaker = clients.client("sagemaker")
    try:
        return read_cluster(call("sagemaker:DescribeCluster", sagemaker.describe_cluster, ClusterName=name))
    except AccountError as error:
        if error.kind is not Kind.NOT_FOUND:
            raise
        text = f"there is no cluster {name} in {clients.region}{_others(clients)}"
        raise AccountError(Kind.NOT_FOUND, error.operation, error.detail, text) from None


def _others(clients: Clients) -> str:
    try:
        answer = call("sagemaker:ListClusters", clients.client("sagemaker").list_clusters, MaxResults=20)
    except AccountError:
        return "; check the name and --region"
    names = sorted(str(one["ClusterName"]) for one in answer.get("ClusterSummaries", ()))
    return f"; there are: {', '.join(names)}" if names else "; there is none at all, check --region and --profile"


def nodes(clients: Clients, cluster: Cluster, group: str | None = None) -> list[Node]:
    """Every node, or those of a group.

    Raises:
        CommandError: there is no such group.
        AccountError: they cannot be looked at.
    """
    if group is not None and group not in cluster.groups:
        raise CommandError(f"{cluster.name} has no group {group}; it has: {', '.join(cluster.groups)}")
    request: dict[str, Any] = {"ClusterName": cluster.name, "PaginationConfig": {"PageSize": 100}}
    if group is not None:
        request["InstanceGroupNameContains"] = group
    if cluster.details.get("NodeProvisioningMode") == CONTINUOUS:
        request["IncludeNodeLogicalIds"] = True
    sagemaker = clients.client("sagemaker")
    answers = pages("sagemaker:ListClusterNodes", sagemaker, "list_cluster_nodes", **request)
    found = [_node(item) for answer in answers for item in answer.get("ClusterNodeSummaries", ())]
    # "Contains" finds p5 in p5e too.
    return [node for node in found if group in (None, node.group)]


def _node(item: dict[str, Any]) -> Node:
    status = item.get("InstanceStatus", {})
    return Node(
        group=str(item.get("InstanceGroupName", "")),
        instance_id=str(item.get("InstanceId") or ""),
        logical_id=str(item.get("NodeLogicalId") or ""),
        instance_type=str(item.get("InstanceType", "")),
        status=str(status.get("Status", "")),
        message=" ".join(str(status.get("Message") or "").split()),
        host=str(item.get("PrivateDnsHostname") or "").partition(".")[0],
        launched=item.get("LaunchTime"),
        release=str(item.get("CurrentImageReleaseVersion") or ""),
    )


def newest_events(clients: Clients, name: str, **filters: Any) -> Iterator[Event]:
    """The events, newest first, page by page as they are asked for.

    Raises:
        AccountError: they cannot be looked at; also for clusters without continuous provisioning, which have none.
    """
    request = {"ClusterName": name, "SortOrder": "Descending", "MaxResults": 100, **filters}
    sagemaker = clients.client("sagemaker")
    while True:
        page = call("sagemaker:ListClusterEvents", sagemaker.list_cluster_events, **request)
        yield from (_event(item) for item in page.get("Events", ()))
        if not page.get("NextToken"):
            return
        request["NextToken"] = page["NextToken"]


def event_details(clients: Clients, name: str, event_id: str) -> dict[str, Any]:
    """One event with its metadata.

    Raises:
        AccountError: it cannot be looked at.
    """
    describe_event = clients.client("sagemaker").describe_cluster_event
    answer = call("sagemaker:DescribeClusterEvent", describe_event, ClusterName=name, EventId=event_id)
    return dict(answer.get("EventDetails") or {})


def _event(item: dict[str, Any]) -> Event:
    return Event(
        event_id=str(item.get("EventId", "")),
        time=item["EventTime"],
        level=str(item.get("EventLevel") or "Info"),
        resource=str(item.get("ResourceType") or ""),
        group=str(item.get("InstanceGroupName") or ""),
        instance_id=str(item.get("InstanceId") or ""),
        description=" ".join(str(item.get("Description") or "").split()),
    )
