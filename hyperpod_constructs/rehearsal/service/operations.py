"""The operations that the service answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import cluster_operations, event_operations, node_operations, tag_operations, update_operation
from .context import Context

Operation = Callable[[Context, Mapping[str, Any]], dict[str, Any]]

OPERATIONS: Mapping[str, Operation] = {
    "CreateCluster": cluster_operations.create_cluster,
    "DescribeCluster": cluster_operations.describe_cluster,
    "UpdateCluster": update_operation.update_cluster,
    "DeleteCluster": cluster_operations.delete_cluster,
    "ListClusters": cluster_operations.list_clusters,
    "AddTags": tag_operations.add_tags,
    "DeleteTags": tag_operations.delete_tags,
    "ListTags": tag_operations.list_tags,
    "ListClusterNodes": node_operations.list_cluster_nodes,
    "DescribeClusterNode": node_operations.describe_cluster_node,
    "BatchAddClusterNodes": node_operations.batch_add_cluster_nodes,
    "BatchDeleteClusterNodes": node_operations.batch_delete_cluster_nodes,
    "BatchReplaceClusterNodes": node_operations.batch_replace_cluster_nodes,
    "BatchRebootClusterNodes": node_operations.batch_reboot_cluster_nodes,
    "UpdateClusterSoftware": node_operations.update_cluster_software,
    "ListClusterEvents": event_operations.list_cluster_events,
    "DescribeClusterEvent": event_operations.describe_cluster_event,
}

READ_ONLY_PREFIXES = ("Describe", "List", "Get")


def is_mutating(operation: str) -> bool:
    """Whether an operation changes anything."""
    return not operation.startswith(READ_ONLY_PREFIXES)
