"""What every part of the service shares: the collaborators, the clusters, and the time that is being acted at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .errors import not_found

if TYPE_CHECKING:
    from .capacity import Capacity
    from .failures import FailureScript
    from .identifiers import Addresses, Identifiers
    from .launcher import Launcher, NodeRequest
    from .logs import LogSink
    from .settings import Assumptions, Quotas, Timings
    from .state import Cluster, Node

ObjectLister = Callable[[str], Iterable[str]]
"""Lists the keys of all objects under an S3 URI."""


@dataclass
class Context:
    """The collaborators and the state.

    `at` is set by the service before anything acts; `changes` counts transitions; `launches` are nodes to be made.
    """

    timings: Timings
    assumptions: Assumptions
    quotas: Quotas
    capacity: Capacity
    launcher: Launcher
    log_sink: LogSink
    failures: FailureScript
    identifiers: Identifiers
    addresses: Addresses
    object_lister: ObjectLister
    region: str
    account: str
    latest_image_release: str
    at: float = 0.0
    clusters: dict[str, Cluster] = field(default_factory=dict)
    deletion_blocked: str | None = None
    launches: list[NodeRequest] = field(default_factory=list)
    changes: int = 0

    def find_cluster(self, name_or_arn: str) -> Cluster:
        """The cluster of that name or ARN.

        Raises:
            ServiceError: `ResourceNotFound`.
        """
        cluster = next((c for c in self.clusters.values() if name_or_arn in (c.name, c.arn)), None)
        if cluster is None:
            raise not_found(f"Cluster with name or ARN {name_or_arn} not found")
        return cluster

    def held(self, key: str) -> int:
        """How many instances of a type, or of the groups of a name, exist."""
        return sum(
            node.instance_id is not None
            for cluster in self.clusters.values()
            for group in cluster.groups
            if key in (group.instance_type, group.name)
            for node in group.nodes
        )

    def free(self, node: Node) -> None:
        """Give the address of a node that is gone back."""
        if node.address:
            self.addresses.give_back(node.address)
