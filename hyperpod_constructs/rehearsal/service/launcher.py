"""The seam behind which nodes are real or simulated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from .settings import Timings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .failures import LifecycleFailure

ReportState = Literal["pending", "running_script", "ready", "failed"]


@dataclass(frozen=True, kw_only=True)
class NodeRequest:
    """Everything a launcher needs to make one node.

    Args:
        cluster_name, cluster_arn, cluster_id: The cluster it belongs to.
        group_name: Its instance group.
        instance_id: The EC2 instance id, new for each instance. A software update launches the same id again, after
            `terminate`, with a fresh root volume.
        logical_id: The node's logical id, which outlives its instances.
        instance_name: `<group>-<number>`, number from 1; kept on replacement.
        node_type: Controller, Login or Compute; None where the request had no SlurmConfig.
        instance_type: The `ml.` type.
        private_ip: The address in the cluster's network; kept on replacement, as the host name is (FACTS 6.3).
        specification: The group's specification as it was when the instance was launched.
        partitions: The partitions of the group.
        failure: How this run of the lifecycle script shall fail, by injected fault; None (default) for an honest run.
    """

    cluster_name: str
    cluster_arn: str
    cluster_id: str
    group_name: str
    instance_id: str
    logical_id: str
    instance_name: str
    node_type: str | None
    instance_type: str
    private_ip: str
    specification: Mapping[str, Any]
    partitions: tuple[str, ...] = ()
    failure: LifecycleFailure | None = None

    @property
    def number(self) -> int:
        """The number at the end of the instance's name, from 1."""
        return int(self.instance_name.rpartition("-")[2])

    @property
    def has_script(self) -> bool:
        """Whether a lifecycle script runs on the node (FACTS 5.6)."""
        return bool(self.specification.get("LifeCycleConfig"))


@dataclass(frozen=True)
class NodeReport:
    """How a node is doing.

    Args:
        state: `pending` until the script starts (or while rebooting), `running_script`, then `ready` or `failed`.
        message: Why it failed.
        log: The last lines of the script's output; lines that were reported before may be among them.
    """

    state: ReportState
    message: str | None = None
    log: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeView:
    """One node as the platform sees it.

    Args:
        state: The service's status of the instance: Pending, Running, Failure, ...
        kind: `real`, `simulated` or None when the launcher does not tell.
    """

    instance_id: str
    instance_name: str
    group_name: str
    node_type: str | None
    private_ip: str
    state: str
    partitions: tuple[str, ...]
    kind: str | None = None


@dataclass(frozen=True)
class ClusterView:
    """The cluster as the platform's files on its nodes show it (FACTS 5.7).

    Args:
        resource_config: The content of /opt/ml/config/resource_config.json.
        provisioning_parameters: The content of /opt/ml/config/provisioning_parameters.json.
        nodes: All nodes that have an instance.
    """

    name: str
    arn: str
    cluster_id: str
    resource_config: Mapping[str, Any]
    provisioning_parameters: Mapping[str, Any]
    nodes: tuple[NodeView, ...]


class Launcher(Protocol):
    """Makes and ends nodes. No method may block: work goes on elsewhere and `report` tells of it."""

    def launch(self, node: NodeRequest) -> None:
        """Start making a node. An exception counts as a failed launch, which is retried."""
        ...

    def report(self, instance_id: str) -> NodeReport:
        """How an instance is doing."""
        ...

    def terminate(self, instance_id: str) -> None:
        """Start ending an instance; unknown ones are ignored."""
        ...

    def reboot(self, instance_id: str) -> None:
        """Start rebooting an instance: it reports `pending` until it is back, then `ready`. No script runs."""
        ...

    def configuration_changed(self, cluster: ClusterView) -> None:
        """The set of nodes or a node's state changed; called before the `launch` of a node that the view holds."""
        ...


@runtime_checkable
class TimedLauncher(Protocol):
    """A launcher whose nodes live in the time of the service instead of the real one."""

    def bind(self, now: Callable[[], float]) -> None:
        """Take the time from here."""
        ...

    def next_change(self, after: float) -> float | None:
        """The next time at which a report will differ."""
        ...


@runtime_checkable
class NodeKinds(Protocol):
    """A launcher that tells which of its nodes are real."""

    def kind(self, instance_id: str) -> str | None:
        """`real`, `simulated`, or None for an unknown instance."""
        ...


def needs_polling(launcher: Launcher) -> bool:
    """Whether the reports of a launcher can differ at any time, and not only at those that it foretells."""
    if isinstance(launcher, CompositeLauncher):
        return needs_polling(launcher.real)
    return not isinstance(launcher, TimedLauncher)


@dataclass
class _Simulated:
    request: NodeRequest
    script_at: float
    ends_at: float
    rebooting: bool = False


@dataclass
class SimulatedLauncher:
    """Nodes that exist only as durations; scripts fail where the request says so.

    Args:
        timings: The durations; those of the service by default (it hands them over when it starts).
    """

    timings: Timings | None = None
    _nodes: dict[str, _Simulated] = field(default_factory=dict)
    _now: Callable[[], float] = field(default=lambda: 0.0, repr=False)

    def bind(self, now: Callable[[], float]) -> None:
        """Take the time from here."""
        self._now = now

    def launch(self, node: NodeRequest) -> None:
        """Start the durations of a node."""
        timings = self.timings or Timings()
        script_at = self._now() + timings.launch_seconds
        self._nodes[node.instance_id] = _Simulated(node, script_at, script_at + timings.script_seconds)

    def report(self, instance_id: str) -> NodeReport:
        """Where the node is in its durations."""
        node = self._nodes.get(instance_id)
        if node is None:
            return NodeReport("failed", f"instance {instance_id} is unknown to the launcher")
        if self._now() < node.script_at or (node.rebooting and self._now() < node.ends_at):
            return NodeReport("pending")
        if self._now() < node.ends_at:
            return NodeReport("running_script")
        failure = None if node.rebooting else node.request.failure
        if failure:
            return NodeReport("failed", failure.message, (*failure.log, f"exit code {failure.exit_code}"))
        return NodeReport("ready")

    def terminate(self, instance_id: str) -> None:
        """Forget a node."""
        self._nodes.pop(instance_id, None)

    def reboot(self, instance_id: str) -> None:
        """Let a node be away for the time of a reboot."""
        node = self._nodes.get(instance_id)
        if node:
            node.rebooting = True
            node.script_at = node.ends_at = self._now() + (self.timings or Timings()).reboot_seconds

    def configuration_changed(self, cluster: ClusterView) -> None:
        """Nothing to rewrite."""

    def next_change(self, after: float) -> float | None:
        """The next end of a duration."""
        times = (time for node in self._nodes.values() for time in (node.script_at, node.ends_at) if time > after)
        return min(times, default=None)


@dataclass
class CompositeLauncher:
    """The first nodes of each group are real, the rest simulated.

    Args:
        real: Makes the real ones.
        simulated: Makes the others.
        real_nodes: How many of each group are real: one number for all, or by group name (others: none).
        at_most: How many are real at the same time; None (default) for no such limit.
    """

    real: Launcher
    simulated: SimulatedLauncher
    real_nodes: int | Mapping[str, int]
    at_most: int | None = None
    _kinds: dict[str, str] = field(default_factory=dict)
    _living: set[str] = field(default_factory=set)

    def _is_real(self, node: NodeRequest) -> bool:
        limit = self.real_nodes if isinstance(self.real_nodes, int) else self.real_nodes.get(node.group_name, 0)
        room = self.at_most is None or len(self._living - {node.instance_id}) < self.at_most
        return node.number <= limit and room

    def _of(self, instance_id: str) -> Launcher:
        return self.real if self._kinds.get(instance_id) == "real" else self.simulated

    def kind(self, instance_id: str) -> str | None:
        """`real`, `simulated`, or None for an unknown instance."""
        return self._kinds.get(instance_id)

    def launch(self, node: NodeRequest) -> None:
        """Launch a node as what its number makes it."""
        self._kinds[node.instance_id] = "real" if self._is_real(node) else "simulated"
        if self._kinds[node.instance_id] == "real":
            self._living.add(node.instance_id)
        self._of(node.instance_id).launch(node)

    def report(self, instance_id: str) -> NodeReport:
        """How an instance is doing."""
        return self._of(instance_id).report(instance_id)

    def terminate(self, instance_id: str) -> None:
        """End an instance."""
        self._living.discard(instance_id)
        self._of(instance_id).terminate(instance_id)

    def reboot(self, instance_id: str) -> None:
        """Reboot an instance."""
        self._of(instance_id).reboot(instance_id)

    def configuration_changed(self, cluster: ClusterView) -> None:
        """Tell both."""
        self.real.configuration_changed(cluster)
        self.simulated.configuration_changed(cluster)

    def close(self) -> None:
        """Let the real ones forget what was still to come."""
        close = getattr(self.real, "close", None)
        if close:
            close()

    def bind(self, now: Callable[[], float]) -> None:
        """The simulated nodes live in the service's time; the real ones too, where their launcher can."""
        self.simulated.bind(now)
        if isinstance(self.real, TimedLauncher):
            self.real.bind(now)

    def next_change(self, after: float) -> float | None:
        """The next time at which a report will differ."""
        times = [self.simulated.next_change(after)]
        if isinstance(self.real, TimedLauncher):
            times.append(self.real.next_change(after))
        return min((time for time in times if time is not None), default=None)
