"""What DescribeCluster shows, as typed values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

CONTROLLER = "Controller"
LOGIN = "Login"
COMPUTE = "Compute"


@dataclass(frozen=True, kw_only=True)
class Group:
    """One instance group as the service shows it; ``details`` is the whole of it."""

    name: str
    current: int
    target: int
    minimum: int | None
    status: str
    details: Mapping[str, Any]

    @property
    def node_type(self) -> str:
        """Controller, Login, Compute, or "" when the service does not say."""
        return str(self.details.get("SlurmConfig", {}).get("NodeType", ""))

    @property
    def has_nodes(self) -> bool:
        """Whether it has nodes or is getting some."""
        return bool(self.current or self.target)

    @property
    def software_update_active(self) -> bool:
        """Whether a software update is under way."""
        return self.details.get("SoftwareUpdateStatus") in ("Pending", "InProgress", "RollbackInProgress")


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A cluster as DescribeCluster shows it; ``details`` is the whole answer."""

    name: str
    arn: str
    status: str
    failure_message: str
    created_at: float | None
    groups: Mapping[str, Group]
    details: Mapping[str, Any]

    @property
    def cluster_id(self) -> str:
        """The twelve characters at the end of the ARN."""
        return self.arn.rsplit("/", 1)[-1]

    @property
    def log_group(self) -> str:
        """Where the service writes the lifecycle scripts' output (FACTS 8)."""
        return f"/aws/sagemaker/Clusters/{self.name}/{self.cluster_id}"


def read_cluster(details: Mapping[str, Any]) -> Cluster:
    """Read an answer of DescribeCluster."""
    groups = [_group(group) for group in details.get("InstanceGroups") or ()]
    return Cluster(
        name=str(details.get("ClusterName", "")),
        arn=str(details.get("ClusterArn", "")),
        status=str(details.get("ClusterStatus", "")),
        failure_message=str(details.get("FailureMessage") or ""),
        created_at=_epoch(details.get("CreationTime")),
        groups={group.name: group for group in groups},
        details=details,
    )


def _group(details: Mapping[str, Any]) -> Group:
    minimum = details.get("MinCount")
    return Group(
        name=str(details.get("InstanceGroupName", "")),
        current=int(details.get("CurrentCount") or 0),
        target=int(details.get("TargetCount") or 0),
        minimum=None if minimum is None else int(minimum),
        status=str(details.get("Status", "")),
        details=details,
    )


def _epoch(value: Any) -> float | None:
    if isinstance(value, datetime):
        return value.timestamp()
    return float(value) if isinstance(value, int | float) else None
