"""What the service knows: clusters, their groups, their nodes. Data and questions only; changes are made elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .events import EventLog

CONTROLLER, LOGIN, COMPUTE = "Controller", "Login", "Compute"


class ClusterStatus(StrEnum):
    """The statuses of a cluster (FACTS 5.5)."""

    CREATING = "Creating"
    DELETING = "Deleting"
    FAILED = "Failed"
    IN_SERVICE = "InService"
    ROLLING_BACK = "RollingBack"
    SYSTEM_UPDATING = "SystemUpdating"
    UPDATING = "Updating"


class GroupStatus(StrEnum):
    """The statuses of an instance group (FACTS 5.5)."""

    IN_SERVICE = "InService"
    CREATING = "Creating"
    UPDATING = "Updating"
    FAILED = "Failed"
    DEGRADED = "Degraded"
    SYSTEM_UPDATING = "SystemUpdating"
    DELETING = "Deleting"


class NodeState(StrEnum):
    """Where a node is; several share one status of the API."""

    WAITING = "waiting"
    LAUNCHING = "launching"
    SCRIPT = "script"
    READY = "ready"
    FAILED = "failed"
    UNHEALTHY = "unhealthy"
    STOPPING = "stopping"
    REBOOTING = "rebooting"
    UPDATING = "updating"


_STATUS = {
    NodeState.WAITING: "Pending",
    NodeState.LAUNCHING: "Pending",
    NodeState.SCRIPT: "Pending",
    NodeState.READY: "Running",
    NodeState.FAILED: "Failure",
    NodeState.UNHEALTHY: "Failure",
    NodeState.STOPPING: "ShuttingDown",
    NodeState.REBOOTING: "Pending",
    NodeState.UPDATING: "SystemUpdating",
}

IN_USE = frozenset({NodeState.READY, NodeState.REBOOTING, NodeState.UPDATING})
STARTING = frozenset({NodeState.LAUNCHING, NodeState.SCRIPT})


@dataclass
class Node:
    """One node of a group. Its logical id, number and address outlive its instances.

    `due` is the time of its next change where the service itself decides it; `leaving` nodes are not made again.
    """

    logical_id: str
    number: int
    requested_at: float
    state: NodeState = NodeState.WAITING
    due: float | None = None
    instance_id: str | None = None
    address: str | None = None
    launched_at: float | None = None
    updated_at: float | None = None
    attempts: int = 0
    message: str | None = None
    specification: Mapping[str, Any] = field(default_factory=dict)
    image_release: str | None = None
    image_id: str | None = None
    leaving: bool = False
    replacing: bool = False
    was_ready: bool = False
    script_begun: bool = False
    operation_id: str | None = None
    log_seen: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """The status in the API."""
        return _STATUS[self.state]

    @property
    def counted(self) -> bool:
        """Whether CurrentCount counts it: a node that was ready counts until its instance is gone."""
        return self.state in IN_USE or (self.state is NodeState.STOPPING and self.was_ready)


class SoftwarePhase(StrEnum):
    """The statuses of a software update (botocore's model)."""

    PENDING = "Pending"
    IN_PROGRESS = "InProgress"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    ROLLBACK_IN_PROGRESS = "RollbackInProgress"
    ROLLBACK_COMPLETE = "RollbackComplete"


ACTIVE_PHASES = frozenset({SoftwarePhase.PENDING, SoftwarePhase.IN_PROGRESS, SoftwarePhase.ROLLBACK_IN_PROGRESS})


@dataclass
class SoftwareUpdate:
    """The last software update of a group."""

    phase: SoftwarePhase
    starts_at: float
    tries: dict[str, int] = field(default_factory=dict)


@dataclass
class Group:
    """An instance group: what was asked for, and what there is."""

    specification: dict[str, Any]
    target: int
    minimum: int
    image_release: str
    desired_release: str
    image_id: str
    desired_image_id: str
    status: GroupStatus = GroupStatus.CREATING
    nodes: list[Node] = field(default_factory=list)
    ever_in_service: bool = False
    last_in_service: tuple[int, int] = (0, 0)
    minimum_deadline: float | None = None
    scaling: bool = False
    operation_id: str | None = None
    software: SoftwareUpdate | None = None

    @property
    def name(self) -> str:
        """The group's name."""
        return str(self.specification["InstanceGroupName"])

    @property
    def instance_type(self) -> str:
        """The type of its instances, the first one where several are allowed."""
        if "InstanceType" in self.specification:
            return str(self.specification["InstanceType"])
        return str(self.specification["InstanceRequirements"]["InstanceTypes"][0])

    @property
    def node_type(self) -> str | None:
        """Controller, Login or Compute; None without SlurmConfig."""
        config: dict[str, Any] = self.specification.get("SlurmConfig", {})
        return config.get("NodeType")

    @property
    def partitions(self) -> tuple[str, ...]:
        """The group's partitions."""
        return tuple(self.specification.get("SlurmConfig", {}).get("PartitionNames", ()))

    @property
    def ready_count(self) -> int:
        """How many nodes can work."""
        return sum(node.state in IN_USE for node in self.nodes)

    @property
    def current_count(self) -> int:
        """CurrentCount in the API."""
        return sum(node.counted for node in self.nodes)

    @property
    def staying(self) -> list[Node]:
        """The nodes that are not on their way out."""
        return [node for node in self.nodes if not node.leaving]

    @property
    def updating_software(self) -> bool:
        """Whether a software update is under way."""
        return self.software is not None and self.software.phase in ACTIVE_PHASES

    def free_numbers(self, count: int) -> list[int]:
        """The lowest numbers that no node has."""
        used = {node.number for node in self.nodes}
        return [number for number in range(1, len(used) + count + 1) if number not in used][:count]


@dataclass
class Cluster:
    """A cluster."""

    name: str
    arn: str
    created_at: float
    request: dict[str, Any]
    tags: dict[str, str]
    events: EventLog
    status: ClusterStatus = ClusterStatus.CREATING
    groups: list[Group] = field(default_factory=list)
    failure_message: str | None = None
    due: float | None = None
    ever_in_service: bool = False
    rejected: str | None = None
    before_update: list[tuple[dict[str, Any], int, int]] | None = None
    client_tokens: dict[str, tuple[float, Any, list[tuple[str, str]]]] = field(default_factory=dict)
    shown: object = None

    @property
    def id(self) -> str:
        """The last part of the ARN."""
        return self.arn.rpartition("/")[2]

    @property
    def continuous(self) -> bool:
        """Whether the cluster provisions continuously."""
        return self.request.get("NodeProvisioningMode") == "Continuous"

    @property
    def slurm(self) -> dict[str, Any] | None:
        """The Slurm part of the orchestrator, None on the legacy path."""
        orchestrator: dict[str, Any] = self.request.get("Orchestrator", {})
        return orchestrator.get("Slurm")

    @property
    def log_group(self) -> str:
        """The log group of its nodes (FACTS 8)."""
        return f"/aws/sagemaker/Clusters/{self.name}/{self.id}"

    def group(self, name: str) -> Group | None:
        """The group of that name, or None."""
        return next((group for group in self.groups if group.name == name), None)

    def groups_of(self, node_type: str) -> list[Group]:
        """The groups of a node type that are not being deleted."""
        return [g for g in self.groups if g.node_type == node_type and g.status is not GroupStatus.DELETING]

    def members(self) -> Iterator[tuple[Group, Node]]:
        """Every node with its group."""
        for group in self.groups:
            for node in list(group.nodes):
                yield group, node
