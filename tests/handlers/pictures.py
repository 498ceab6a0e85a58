"""What DescribeCluster shows, built by hand for tests of the pure parts."""

from collections.abc import Iterable, Mapping
from typing import Any

from hyperpod_constructs.handlers.cluster.observed import Cluster, read_cluster
from tests.handlers.builders import NAME, VPC, Group, p5

ARN = "arn:aws:sagemaker:us-east-1:123456789012:cluster/abcdef012345"
RENAMED = {
    "InstanceCount": "TargetCount",
    "MinInstanceCount": "MinCount",
    "ImageId": "DesiredImageId",
    "ImageReleaseVersion": "DesiredImageReleaseVersion",
}


def described(groups: Iterable[Group] | None = None, **fields: Any) -> dict[str, Any]:
    """An answer of DescribeCluster in which every group is in service with all that was asked for."""
    return {
        "ClusterArn": ARN,
        "ClusterName": NAME,
        "ClusterStatus": "InService",
        "InstanceGroups": [described_group(group) for group in (p5(4) if groups is None else groups)],
        "Orchestrator": {"Slurm": {}},
        "NodeProvisioningMode": "Continuous",
        "NodeRecovery": "Automatic",
        "VpcConfig": VPC,
        **fields,
    }


def described_group(spec: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    details = {RENAMED.get(name, name): value for name, value in spec.items()}
    node_type = spec["SlurmConfig"]["NodeType"]
    default = {"Status": "InService", "CurrentCount": spec["InstanceCount"], "MinCount": int(node_type != "Compute")}
    return {**default, **details, **fields}


def observed(groups: Iterable[Group] | None = None, **fields: Any) -> Cluster:
    """The same, read."""
    return read_cluster(described(groups, **fields))


def live_counts(groups: Iterable[Group], **counts: tuple[int, int]) -> Cluster:
    """A cluster whose named groups have other current and target counts than their specifications."""
    shown = [described_group(group) for group in groups]
    for details in shown:
        current, target = counts.get(details["InstanceGroupName"], (details["CurrentCount"], details["TargetCount"]))
        details.update(CurrentCount=current, TargetCount=target)
    return read_cluster({**described([]), "InstanceGroups": shown})
