"""The HyperPod service of the rehearsal."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from . import nodes, provisioning
from .calls import Call
from .capacity import Capacity, Limit
from .clock import Clock, RealClock
from .context import Context, ObjectLister
from .errors import CallerCrash, ServiceError, validation_error
from .failures import LAUNCH_FAILURE, SCRIPT_FAILURE, FailureScript, RollbackStatus
from .faults import Faults
from .identifiers import Addresses, Identifiers
from .launcher import Launcher, SimulatedLauncher, TimedLauncher, needs_polling
from .logs import LogSink, MemoryLogSink
from .model import SAGEMAKER
from .operations import OPERATIONS, is_mutating
from .plain import copied
from .settings import Assumptions, Quotas, Timings
from .state import IN_USE, NodeState
from .validation import check_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LATEST_IMAGE_RELEASE = "2.2.0"


class HyperPodService:
    """Answers the HyperPod API by the documented rules. Safe to use from several threads.

    Nothing happens by itself: time passes when `tick` is called or a call comes in, and then everything that was due
    since happens in its order.

    Args:
        clock: The time; the real one by default.
        capacity: Which instances can be had; all by default.
        launcher: Makes the nodes; simulated ones by default.
        log_sink: Takes the log lines of lifecycle scripts; memory by default.
        timings: How long things take; fast by default.
        assumptions: The answers to open questions.
        quotas: The account's quotas; none by default.
        object_lister: Lists the keys under an S3 URI, for the rule on provisioning_parameters.json; nothing by default.
        region, account: Where the clusters are.
        node_network: The network from which nodes get their addresses.
        latest_image_release: What a group without a pinned release gets.
        seed: Makes ids and random choices repeatable.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        capacity: Capacity | None = None,
        launcher: Launcher | None = None,
        log_sink: LogSink | None = None,
        timings: Timings | None = None,
        *,
        assumptions: Assumptions | None = None,
        quotas: Quotas | None = None,
        object_lister: ObjectLister | None = None,
        region: str = "us-east-1",
        account: str = "123456789012",
        node_network: str = "10.0.0.0/16",
        latest_image_release: str = LATEST_IMAGE_RELEASE,
        seed: int | None = None,
    ) -> None:
        self.clock = clock or RealClock()
        timings = timings or Timings()
        self.context = Context(
            timings=timings,
            assumptions=assumptions or Assumptions(),
            quotas=quotas or Quotas(),
            capacity=capacity or Capacity(),
            launcher=launcher or SimulatedLauncher(timings),
            log_sink=log_sink or MemoryLogSink(),
            failures=FailureScript(),
            identifiers=Identifiers(seed),
            addresses=Addresses(node_network),
            object_lister=object_lister or (lambda _: ()),
            region=region,
            account=account,
            latest_image_release=latest_image_release,
            at=self.clock.now(),
        )
        self.faults = Faults()
        self.calls: list[Call] = []
        self._lock = threading.RLock()
        self._polled = needs_polling(self.context.launcher)
        self._settled = False
        if isinstance(self.context.launcher, TimedLauncher):
            self.context.launcher.bind(lambda: self.context.at)

    @property
    def log_sink(self) -> LogSink:
        """Where the log lines go."""
        return self.context.log_sink

    @property
    def capacity(self) -> Capacity:
        """Which instances can be had. Change it with `set_capacity`."""
        return self.context.capacity

    def call(self, operation: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Answer one call; the parameters and the answer have the API's casing.

        Raises:
            ServiceError: The answer is an error.
            CallerCrash: An injected fault: the caller dies here.
        """
        request = copied(dict(parameters or {}))
        with self._lock:
            try:
                answer = self._answer(operation, request)
            except ServiceError as error:
                self.calls.append(Call(self.clock.now(), operation, request, error.code))
                raise
            except CallerCrash:
                self.calls.append(Call(self.clock.now(), operation, request, "crash"))
                raise
            self.calls.append(Call(self.clock.now(), operation, request, None))
            return copied(answer)

    def _answer(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        act = OPERATIONS.get(operation)
        if act is None:
            raise ServiceError("UnknownOperationException", f"The rehearsal has no operation {operation}")
        self.tick()
        self.faults.strike(operation, "before")
        check_request(SAGEMAKER, operation, request)
        try:
            answer = act(self.context, request)
        except ValueError as error:
            raise validation_error(str(error)) from error
        if is_mutating(operation):
            self._settled = False
            self.tick()
        self.faults.strike(operation, "after")
        return answer

    def tick(self) -> None:
        """Let everything happen that is due by now, in the order of its time."""
        with self._lock:
            now = self.clock.now()
            while (due := self._next_due()) is not None and due <= now:
                self._step(due)
                self._settled = False
            if self._polled or not self._settled:
                self._step(max(now, self.context.at))
                self._settled = True
            self.context.at = max(now, self.context.at)

    def next_due(self) -> float | None:
        """The next time at which something is due, None if nothing is (real nodes are due at any time)."""
        with self._lock:
            return self._next_due()

    def _next_due(self) -> float | None:
        at = self.context.at
        times = [provisioning.next_due(self.context, at), self.capacity.next_change(at)]
        if isinstance(self.context.launcher, TimedLauncher):
            times.append(self.context.launcher.next_change(at))
        return min((time for time in times if time is not None), default=None)

    def _step(self, at: float) -> None:
        capacity_changes = self.capacity.next_change(self.context.at)
        self.context.at = at
        if capacity_changes is not None and capacity_changes <= at:
            self._wake_waiting_nodes()
        for cluster in list(self.context.clusters.values()):
            provisioning.step(self.context, cluster)

    def _wake_waiting_nodes(self) -> None:
        """Nodes that wait for capacity try again at once when it changes."""
        for cluster in self.context.clusters.values():
            for _, node in cluster.members():
                if node.state is NodeState.WAITING and node.due is not None:
                    node.due = min(node.due, self.context.at)

    def set_capacity(self, limits: Mapping[str, Limit]) -> None:
        """Change which instances can be had, from now on."""
        with self._lock:
            self.tick()
            self.capacity.replace(limits)
            self._wake_waiting_nodes()
            self._settled = False
            self.tick()

    def fail_lifecycle(
        self,
        group: str,
        times: int | None = None,
        message: str = SCRIPT_FAILURE,
        exit_code: int = 1,
        log: Sequence[str] = (),
    ) -> None:
        """Let the lifecycle script fail on the next nodes of a group that are launched (`times` None: on all)."""
        with self._lock:
            self.context.failures.fail_lifecycle(group, times, message, exit_code, log)

    def fail_launch(self, group: str, times: int | None = None, message: str = LAUNCH_FAILURE) -> None:
        """Let the launch of the next instances of a group fail in a way that is retried."""
        with self._lock:
            self.context.failures.fail_launch(group, times, message)

    def fail_accounting(
        self,
        message: str = "The accounting database could not be reached.",
        rollback_status: RollbackStatus = "NotApplicable",
    ) -> None:
        """Let the next change of the accounting database fail."""
        with self._lock:
            self.context.failures.accounting = (rollback_status, message)

    def clear_failures(self, group: str | None = None) -> None:
        """Forget the failures of a group, or all."""
        with self._lock:
            self.context.failures.clear(group)

    def fail_node(self, identifier: str, message: str = "The health monitoring agent found a hardware fault.") -> None:
        """Let a running node break: it is replaced, or left as it is when NodeRecovery is None (FACTS 6.4).

        Raises:
            ValueError: There is no running node of this instance id or logical id.
        """
        with self._lock:
            self.tick()
            for cluster in self.context.clusters.values():
                for group, node in cluster.members():
                    if identifier in (node.instance_id, node.logical_id) and node.state in IN_USE:
                        nodes.become_unhealthy(self.context, cluster, group, node, message)
                        self._settled = False
                        self.tick()
                        return
            raise ValueError(f"no running node {identifier!r}")

    def block_deletion(self, message: str | None) -> None:
        """Let no instance of a cluster that is deleted ever end, and say so on it (C-09); None ends that."""
        with self._lock:
            self.context.deletion_blocked = message

    def mutating_calls(self, successful_only: bool = False) -> list[Call]:
        """The calls that change something, in their order."""
        with self._lock:
            return [call for call in self.calls if call.mutating and not (successful_only and call.error)]
