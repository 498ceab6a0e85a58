"""What goes back to CloudFormation: attributes, always all of them, always texts, within the size of a response."""

from collections.abc import Iterable

from .observed import Cluster
from .text import ATTRIBUTE_BYTES, shortened

ATTRIBUTES = ("ClusterName", "ClusterArn", "ClusterId", "LogGroupName", "Status", "InstanceCounts", "Warning")


def attributes(cluster: Cluster | None, name: str, notes: Iterable[str] = ()) -> dict[str, str]:
    """The attributes of the resource.

    A response may hold 4,096 bytes; the two texts without a natural limit are cut so that all of it fits.

    Args:
        cluster: as it is now; None when there is none to show, and then its attributes are empty.
        name: the cluster's name.
        notes: what the user should know, for Warning.
    """
    warning = shortened("; ".join(dict.fromkeys(notes)), ATTRIBUTE_BYTES)
    if cluster is None:
        return {**dict.fromkeys(ATTRIBUTES, ""), "ClusterName": name, "Warning": warning}
    return {
        "ClusterName": name,
        "ClusterArn": cluster.arn,
        "ClusterId": cluster.cluster_id,
        "LogGroupName": cluster.log_group,
        "Status": cluster.status,
        "InstanceCounts": shortened(instance_counts(cluster), ATTRIBUTE_BYTES),
        "Warning": warning,
    }


def instance_counts(cluster: Cluster) -> str:
    """``controller 1/1, login 1/1, p5 2/16``: current and target of each group."""
    return ", ".join(f"{group.name} {group.current}/{group.target}" for group in cluster.groups.values())
