"""The nodes of one rehearsed cluster: which are real, what Slurm says of them, commands on them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .failures import RehearsalError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .nodes import BedClient, Result
    from .service_process import Service

CONTROLLER, LOGIN, COMPUTE = "Controller", "Login", "Compute"
COMMAND_TIMEOUT_SECONDS = 60.0
_POLL_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class ClusterNode:
    """One instance of the cluster.

    ``state`` is the service's word for it (Pending, Running, ...), ``real`` whether it is a Slurm node here.
    """

    name: str
    group: str
    instance_id: str
    node_type: str
    host: str
    state: str
    partitions: tuple[str, ...]
    real: bool


class ClusterNodes:
    """The nodes of a cluster on a bed.

    Args:
        service: The HyperPod service that launched them.
        bed: Where they run.
        cluster: The cluster's name.
    """

    def __init__(self, service: Service, bed: BedClient, cluster: str) -> None:
        self._service = service
        self._bed = bed
        self.cluster = cluster

    def all(self) -> list[ClusterNode]:
        """Every instance that the cluster has now; none once it is deleted."""
        found = self._service.get("clusters")["clusters"]
        nodes: list[dict[str, Any]] = next((one["Nodes"] for one in found if one["ClusterName"] == self.cluster), [])
        return [_cluster_node(node) for node in nodes]

    def real(self, node_type: str = "", group: str = "") -> list[ClusterNode]:
        """The real ones, of one node type or group if given, in the order of their names' numbers."""
        found = [
            node for node in self.all() if node.real and node_type in ("", node.node_type) and group in ("", node.group)
        ]
        return sorted(found, key=lambda node: (node.group, int(node.name.rpartition("-")[2])))

    def entry(self) -> ClusterNode:
        """Where people work: the login node, the controller of a cluster without one.

        Raises RehearsalError if neither is a real node.
        """
        heads = self.real(LOGIN) or self.real(CONTROLLER)
        if not heads:
            raise RehearsalError(f"cluster {self.cluster} has neither a login node nor a controller on this machine")
        return heads[0]

    def run(self, node: ClusterNode, arguments: Sequence[str], timeout_seconds: float = COMMAND_TIMEOUT_SECONDS) -> str:
        """What a command prints on a node. Raises RehearsalError with what it said if it fails."""
        result = self.attempt(node, arguments, timeout_seconds)
        if result.exit_code:
            said = (result.stderr + result.stdout).strip() or "it printed nothing"
            raise RehearsalError(
                f"{' '.join(arguments)} on {node.name} ({node.host}) ended with {result.exit_code}: {said}"
            )
        return result.stdout

    def attempt(
        self, node: ClusterNode, arguments: Sequence[str], timeout_seconds: float = COMMAND_TIMEOUT_SECONDS
    ) -> Result:
        """A command's exit code (124 when it was ended for its time) and outputs."""
        return self._bed.run(node.host, arguments, timeout_seconds=timeout_seconds)

    def slurm_states(self) -> dict[str, str]:
        """Slurm's word for each node by host name (idle, mixed, down, ...); empty while Slurm does not answer."""
        answer = self.attempt(self.entry(), ["sinfo", "--noheader", "--Node", "--format=%N %T"])
        return dict(line.split(None, 1) for line in answer.stdout.splitlines() if " " in line)

    def idle(self, group: str = "") -> list[ClusterNode]:
        """The real compute nodes that the service calls Running and Slurm idle."""
        states = self.slurm_states()
        return [
            node
            for node in self.real(COMPUTE, group)
            if node.state == "Running" and states.get(node.host, "").strip() == "idle"
        ]

    def wait_until(self, condition: Callable[[], bool], what: str, timeout_seconds: float) -> None:
        """Return once ``condition`` holds. Raises RehearsalError with ``what`` and the nodes' states if it does not."""
        deadline = time.monotonic() + timeout_seconds
        while not condition():
            if time.monotonic() > deadline:
                raise RehearsalError(f"{what} not within {timeout_seconds:.0f} s; {self.describe()}")
            time.sleep(_POLL_SECONDS)

    def describe(self) -> str:
        """Each real node with the service's and Slurm's word for it, in one line."""
        try:
            states = self.slurm_states()
        except RehearsalError:
            states = {}
        return ", ".join(
            f"{node.name} ({node.host}): {node.state}, in Slurm {states.get(node.host, 'unknown')}"
            for node in self.real()
        )


def _cluster_node(node: dict[str, Any]) -> ClusterNode:
    return ClusterNode(
        name=node["instance_name"],
        group=node["group_name"],
        instance_id=node["instance_id"],
        node_type=node["node_type"] or "",
        host=f"ip-{node['private_ip'].replace('.', '-')}",
        state=node["state"],
        partitions=tuple(node["partitions"]),
        real=node["kind"] == "real",
    )
