"""Where the log lines of the nodes go: CloudWatch Logs or memory."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LOG = logging.getLogger(__name__)


class LogSink(Protocol):
    """Takes log lines."""

    def put(self, log_group: str, stream: str, lines: Sequence[str]) -> None:
        """Add lines at the end of a stream. Never raises, never blocks for long."""
        ...


@dataclass
class MemoryLogSink:
    """Keeps the lines in memory and answers like CloudWatch Logs."""

    streams: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def put(self, log_group: str, stream: str, lines: Sequence[str]) -> None:
        """Add lines at the end of a stream."""
        self.streams.setdefault(log_group, {}).setdefault(stream, []).extend(lines)

    def lines(self, log_group: str, stream: str) -> list[str]:
        """All lines of a stream, none when it does not exist."""
        return list(self.streams.get(log_group, {}).get(stream, []))

    def get_log_events(self, **request: Any) -> dict[str, Any]:
        """boto3's `logs.get_log_events` for `logGroupName`, `logStreamName`, `limit` and `startFromHead`.

        Raises:
            botocore.exceptions.ClientError: `ResourceNotFoundException`, as CloudWatch Logs answers.
        """
        found = self.streams.get(request["logGroupName"], {}).get(request["logStreamName"])
        if found is None:
            error = {"Code": "ResourceNotFoundException", "Message": "The specified log stream does not exist."}
            raise ClientError({"Error": error}, "GetLogEvents")
        limit = int(request.get("limit", 10_000))
        lines = found[:limit] if request.get("startFromHead") else found[-limit:]
        return {"events": [{"message": line, "timestamp": 0} for line in lines]}


class CloudWatchLogSink:
    """Sends the lines to CloudWatch Logs in the background, making groups and streams as needed.

    What cannot be sent is dropped with a warning: the service never suffers from its logs.

    Args:
        make_client: Makes a boto3 `logs` client, called once when the first lines are sent.
    """

    def __init__(self, make_client: Callable[[], Any]) -> None:
        self._make_client = make_client
        self._client: Any = None
        self._queue: SimpleQueue[tuple[str, str, tuple[str, ...], int]] = SimpleQueue()
        self._known: set[tuple[str, str]] = set()
        self._stopping = threading.Event()
        self._worker = threading.Thread(target=self._work, name="log-sink", daemon=True)
        self._worker.start()

    def put(self, log_group: str, stream: str, lines: Sequence[str]) -> None:
        """Queue lines for a stream."""
        if lines:
            self._queue.put((log_group, stream, tuple(lines), int(time.time() * 1000)))

    def close(self, timeout_seconds: float = 5.0) -> None:
        """Send what is queued, within the time given, and end."""
        self._stopping.set()
        self._worker.join(timeout_seconds)

    def _work(self) -> None:
        while True:
            try:
                log_group, stream, lines, milliseconds = self._queue.get(timeout=0.1)
            except Empty:
                if self._stopping.is_set():
                    return
                continue
            try:
                self._send(log_group, stream, lines, milliseconds)
            except (BotoCoreError, ClientError, OSError) as error:
                _LOG.warning("log lines of %s %s were lost: %s", log_group, stream, error)

    def _send(self, log_group: str, stream: str, lines: Sequence[str], milliseconds: int) -> None:
        if self._client is None:
            self._client = self._make_client()
        if (log_group, stream) not in self._known:
            self._make(self._client.create_log_group, logGroupName=log_group)
            self._make(self._client.create_log_stream, logGroupName=log_group, logStreamName=stream)
            self._known.add((log_group, stream))
        # CloudWatch Logs refuses empty messages.
        events = [{"timestamp": milliseconds, "message": line or " "} for line in lines]
        self._client.put_log_events(logGroupName=log_group, logStreamName=stream, logEvents=events)

    def _make(self, create: Any, **names: str) -> None:
        try:
            create(**names)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") != "ResourceAlreadyExistsException":
                raise


def new_lines(seen: Sequence[str], tail: Sequence[str]) -> list[str]:
    """The lines of a newer tail that an older one did not have, found by their longest overlap."""
    for overlap in range(min(len(seen), len(tail)), 0, -1):
        if list(seen[-overlap:]) == list(tail[:overlap]):
            return list(tail[overlap:])
    return list(tail)
