"""A live cluster for commands: the HyperPod service on a clock that the command itself moves when it waits."""

from typing import Any

import pytest

from hyperpod_constructs.cli.live import clock as command_clock
from hyperpod_constructs.rehearsal.service import (
    Capacity,
    HyperPodService,
    LocalClient,
    ManualClock,
    MemoryLogSink,
)
from tests.cli.support import FakeAccount, client_error, use_account
from tests.rehearsal.service.support import NAME, TIMINGS, request


class FakeLogs:
    """CloudWatch Logs over the service's lines, with tokens as the real one gives them.

    Args:
        sink: where the service writes.
    """

    def __init__(self, sink: MemoryLogSink) -> None:
        self._sink = sink

    def get_log_events(self, **request: Any) -> dict[str, Any]:
        streams = self._sink.streams.get(request["logGroupName"], {})
        if request["logStreamName"] not in streams:
            raise client_error("ResourceNotFoundException", "The specified log stream does not exist.")
        lines = streams[request["logStreamName"]]
        limit = request.get("limit", 10_000)
        if "nextToken" in request:
            start = int(request["nextToken"])
            end = min(len(lines), start + limit)
        else:
            start, end = max(0, len(lines) - limit), len(lines)
        events = [{"message": line, "timestamp": 0} for line in lines[start:end]]
        return {"events": events, "nextForwardToken": str(end)}


class Live:
    """The service, its clock, and an account of both.

    Args:
        monkeypatch: puts them in their places.
        capacity: of the service.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capacity: str = "", **options: Any) -> None:
        self.clock, self.sink = ManualClock(1_800_000_000.0), MemoryLogSink()
        self.service = HyperPodService(
            clock=self.clock,
            capacity=Capacity.parse(capacity),
            log_sink=self.sink,
            timings=TIMINGS,
            seed=1,
            **options,
        )
        self.sagemaker = LocalClient(self.service)
        self.logs = FakeLogs(self.sink)
        self.account = use_account(monkeypatch, FakeAccount({"sagemaker": self.sagemaker, "logs": self.logs}))
        self.waits: list[float] = []
        self.stop_after: int | None = None
        monkeypatch.setattr(command_clock, "now", self.clock.now)
        monkeypatch.setattr(command_clock, "sleep", self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        if self.stop_after is not None and len(self.waits) >= self.stop_after:
            raise KeyboardInterrupt
        assert len(self.waits) < 5000, "the command waits for ever"
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.service.tick()

    def create(self, *groups: dict[str, Any], **more: Any) -> None:
        self.sagemaker.create_cluster(**request(*groups, **more))

    def up(self, *groups: dict[str, Any], **more: Any) -> None:
        self.create(*groups, **more)
        for _ in range(3):
            self.advance(60)

    def nodes(self, group: str) -> list[dict[str, Any]]:
        answer = self.sagemaker.list_cluster_nodes(ClusterName=NAME, InstanceGroupNameContains=group)
        found: list[dict[str, Any]] = answer["ClusterNodeSummaries"]
        return found

    def instance(self, group: str) -> str:
        return str(self.nodes(group)[0]["InstanceId"])
