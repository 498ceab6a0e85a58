"""The log stream of a node (FACTS 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.cli.account import AccountError, Kind, call
from hyperpod_constructs.cli.failures import CommandError

if TYPE_CHECKING:
    from datetime import datetime

_PREFIXES = {
    "lifecycle": "LifecycleConfig",
    "health": "SagemakerHealthMonitoringAgent",
    "deep-health-check": "DeepHealthCheckResults",
}
EMPTY_ADVICE = (
    "no log means that no script ran yet: the node may still be starting, or the network or EFA check before it "
    "failed; see hyperpod-slurm events, and that the security group allows all traffic from and to itself"
)
_PAGES_A_ROUND = 20


def stream_name(kind: str, group: str, instance_id: str) -> str:
    """The name of a node's stream.

    Args:
        kind: lifecycle, health or deep-health-check.
        group: its instance group.
        instance_id: of its instance.
    """
    return f"{_PREFIXES[kind]}/{group}/{instance_id}"


@dataclass
class Tail:
    """A stream that is read from somewhere near its end, and then onwards.

    Args:
        logs: a client of CloudWatch Logs.
        log_group: of the cluster.
        stream: of the node.
    """

    logs: Any
    log_group: str
    stream: str
    pause_seconds: float = 2.0
    _token: str | None = None

    def last(self, lines: int, after: datetime | None) -> list[str]:
        """The last lines, oldest first.

        Raises:
            CommandError: there is no such stream, with what that means.
            AccountError: it cannot be read.
        """
        request: dict[str, Any] = {"limit": lines, "startFromHead": False}
        if after is not None:
            request["startTime"] = int(after.timestamp() * 1000)
        try:
            found = self._read(**request)
        except AccountError as error:
            if error.kind is not Kind.NOT_FOUND:
                raise
            raise CommandError(f"{self.log_group} has no stream {self.stream}: {EMPTY_ADVICE}") from None
        return found

    def more(self) -> list[str]:
        """What came since the last look."""
        found: list[str] = []
        for _ in range(_PAGES_A_ROUND):
            before = self._token
            found += self._read(startFromHead=True)
            if self._token == before:
                break
        return found

    def _read(self, **request: Any) -> list[str]:
        if self._token is not None:
            request["nextToken"] = self._token
        names = {"logGroupName": self.log_group, "logStreamName": self.stream}
        answer = call("logs:GetLogEvents", self.logs.get_log_events, **names, **request)
        self._token = answer.get("nextForwardToken", self._token)
        return [str(event.get("message", "")).rstrip("\r\n") for event in answer.get("events", ())]
