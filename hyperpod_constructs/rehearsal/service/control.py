"""The addresses under /_rehearsal/ that watch and steer a running service. Not part of any AWS API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from . import views
from .capacity import Capacity
from .errors import ServiceError
from .failures import LAUNCH_FAILURE, SCRIPT_FAILURE

if TYPE_CHECKING:
    from .calls import Call
    from .fsx import FsxService
    from .hyperpod import HyperPodService

Body = Mapping[str, Any]
SHUT_DOWN = "shutdown"
"""The server ends itself once it has answered this one."""


class Control:
    """Answers the control addresses.

    Args:
        hyperpod: The service that is steered.
        fsx: Its neighbour.
    """

    def __init__(self, hyperpod: HyperPodService, fsx: FsxService) -> None:
        self._hyperpod, self._fsx = hyperpod, fsx
        self._routes: dict[tuple[str, str], Callable[[Body], Any]] = {
            ("GET", "health"): lambda _: {"status": "ok", "time": hyperpod.clock.now()},
            ("GET", "calls"): lambda _: {"calls": [_call(call) for call in list(hyperpod.calls)]},
            ("GET", "fsx-calls"): lambda _: {"calls": [_call(call) for call in list(fsx.calls)]},
            ("GET", "clusters"): lambda _: {"clusters": self._clusters()},
            ("POST", "capacity"): self._capacity,
            ("POST", "faults"): self._fault,
            ("POST", "clear-faults"): self._clear_faults,
            ("POST", "fail-lifecycle"): self._fail_lifecycle,
            ("POST", "fail-launch"): self._fail_launch,
            ("POST", "fail-node"): self._fail_node,
            ("POST", "clear-failures"): lambda body: hyperpod.clear_failures(body.get("group")),
            ("POST", "block-deletion"): lambda body: hyperpod.block_deletion(body.get("message")),
            ("POST", SHUT_DOWN): lambda _: {"status": "ending"},
        }

    def answer(self, method: str, name: str, body: Body) -> Any:
        """The JSON answer of an address.

        Raises:
            LookupError: There is no such address; the message lists those there are.
            ValueError: The body is not right; the message says what is allowed.
        """
        act = self._routes.get((method, name))
        if act is None:
            known = ", ".join(f"{method} {name}" for method, name in self._routes)
            raise LookupError(f"no control address {method} {name}, there are: {known}")
        return act(body) or {}

    def _clusters(self) -> list[dict[str, Any]]:
        self._hyperpod.tick()
        context = self._hyperpod.context
        return [
            {
                **views.cluster_details(context, cluster),
                "LogGroup": cluster.log_group,
                "Nodes": [asdict(node) for node in views.cluster_view(context, cluster).nodes],
            }
            for cluster in list(context.clusters.values())
        ]

    def _capacity(self, body: Body) -> None:
        entries = _required(body, "capacity")
        if not isinstance(entries, (str, list)) or not all(isinstance(entry, str) for entry in entries):
            raise ValueError(f"capacity must be a text or a list of texts, got {entries!r}")
        self._hyperpod.set_capacity(Capacity.parse(entries).limits)

    def _fault(self, body: Body) -> None:
        operation = str(_required(body, "operation"))
        error = _required(body, "error")
        if isinstance(error, Mapping):
            error = ServiceError(str(error.get("code")), str(error.get("message", "")), int(error.get("status", 400)))
        faults = self._fsx.faults if body.get("service") == "fsx" else self._hyperpod.faults
        faults.add(operation, error, _times(body, 1), body.get("when", "before"))

    def _clear_faults(self, _: Body) -> None:
        self._hyperpod.faults.clear()
        self._fsx.faults.clear()

    def _fail_lifecycle(self, body: Body) -> None:
        self._hyperpod.fail_lifecycle(
            str(_required(body, "group")),
            _times(body, None),
            str(body.get("message", SCRIPT_FAILURE)),
            int(body.get("exit_code", 1)),
            [str(line) for line in body.get("log", ())],
        )

    def _fail_launch(self, body: Body) -> None:
        message = str(body.get("message", LAUNCH_FAILURE))
        self._hyperpod.fail_launch(str(_required(body, "group")), _times(body, None), message)

    def _fail_node(self, body: Body) -> None:
        node = str(_required(body, "node"))
        message = body.get("message")
        if message is None:
            self._hyperpod.fail_node(node)
        else:
            self._hyperpod.fail_node(node, str(message))


def _required(body: Body, name: str) -> Any:
    if name not in body:
        raise ValueError(f"the body has no {name!r}, got {sorted(body)}")
    return body[name]


def _times(body: Body, default: int | None) -> int | None:
    times = body.get("times", default)
    if times is not None and (not isinstance(times, int) or isinstance(times, bool)):
        raise ValueError(f"times must be a whole number or null, got {times!r}")
    return times


def _call(call: Call) -> dict[str, Any]:
    return {
        "time": call.time,
        "operation": call.operation,
        "parameters": call.parameters,
        "error": call.error,
        "mutating": call.mutating,
    }
