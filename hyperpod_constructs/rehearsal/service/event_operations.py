"""The operations on the events of a cluster; only with continuous provisioning (FACTS 5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import events
from .errors import not_found, validation_error
from .paging import page

if TYPE_CHECKING:
    from .context import Context
    from .state import Cluster

Parameters = Mapping[str, Any]


def _continuous(context: Context, name: str) -> Cluster:
    cluster = context.find_cluster(name)
    if not cluster.continuous:
        raise validation_error("Cluster events are only supported when the NodeProvisioningMode is set to Continuous")
    return cluster


def list_cluster_events(context: Context, parameters: Parameters) -> dict[str, Any]:
    """ListClusterEvents, newest first by default."""
    cluster = _continuous(context, parameters["ClusterName"])
    found = cluster.events.select(parameters)
    return page([events.summary(event, cluster.arn, cluster.name) for event in found], parameters, "Events")


def describe_cluster_event(context: Context, parameters: Parameters) -> dict[str, Any]:
    """DescribeClusterEvent: the only place where a failure's text can be read (field report C-05)."""
    cluster = _continuous(context, parameters["ClusterName"])
    event = cluster.events.find(parameters["EventId"])
    if event is None:
        raise not_found(f"Event {parameters['EventId']} not found in cluster {cluster.name}")
    return {"EventDetails": events.detail(event, cluster.arn, cluster.name)}
