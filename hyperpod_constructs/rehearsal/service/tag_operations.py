"""AddTags, DeleteTags, ListTags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .cluster_rules import refuse, tag_problems
from .errors import validation_error
from .paging import page

if TYPE_CHECKING:
    from .context import Context
    from .state import Cluster

Parameters = Mapping[str, Any]


def add_tags(context: Context, parameters: Parameters) -> dict[str, Any]:
    """AddTags: new ones are added, known ones overwritten."""
    cluster = _tagged(context, parameters)
    refuse(tag_problems(parameters["Tags"]))
    tags = cluster.tags | {tag["Key"]: tag["Value"] for tag in parameters["Tags"]}
    if len(tags) > 50:
        raise validation_error(f"Cluster {cluster.name} would have {len(tags)} tags, at most 50 are allowed")
    cluster.tags = tags
    return {"Tags": _tag_list(cluster)}


def delete_tags(context: Context, parameters: Parameters) -> dict[str, Any]:
    """DeleteTags; unknown keys are ignored."""
    cluster = _tagged(context, parameters)
    cluster.tags = {key: value for key, value in cluster.tags.items() if key not in parameters["TagKeys"]}
    return {}


def list_tags(context: Context, parameters: Parameters) -> dict[str, Any]:
    """ListTags."""
    return page(_tag_list(_tagged(context, parameters)), parameters, "Tags")


def _tagged(context: Context, parameters: Parameters) -> Cluster:
    arn = parameters["ResourceArn"]
    cluster = next((cluster for cluster in context.clusters.values() if cluster.arn == arn), None)
    if cluster is None:
        # The three operations have no error of their own in the model, so the common one is left.
        raise validation_error(f"Resource {arn} does not exist")
    return cluster


def _tag_list(cluster: Cluster) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in cluster.tags.items()]
