"""The events of one cluster, in the short form of a list and in the long form with metadata (FACTS 5.4, 8)."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from .clock import epoch_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .identifiers import Identifiers

Level = Literal["Info", "Warn", "Error"]
Subtree = Literal[
    "Cluster", "InstanceGroup", "InstanceGroupScaling", "Instance", "DatabaseConfiguration", "SlurmHealth"
]

SUBTREES: tuple[Subtree, ...] = (
    "Cluster",
    "InstanceGroup",
    "InstanceGroupScaling",
    "Instance",
    "DatabaseConfiguration",
    "SlurmHealth",
)
"""The places where metadata can lie; all but one are null in an answer (field report C-05)."""

KEPT_EVENTS = 10_000


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event. Metadata is the subtree's name and its members."""

    event_id: str
    time: float
    resource_type: Literal["Cluster", "InstanceGroup", "Instance"]
    level: Level
    description: str
    group: str | None = None
    instance_id: str | None = None
    operation_id: str | None = None
    metadata: tuple[Subtree, Mapping[str, Any]] | None = None


@dataclass
class EventLog:
    """The events of a cluster, oldest first; the oldest go when there are too many."""

    identifiers: Identifiers
    _events: dict[str, Event] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events.values())

    def record(self, **members: Any) -> Event:
        """Add an event; the members are those of `Event` without its id."""
        event = Event(event_id=self.identifiers.unique(), **members)
        self._events[event.event_id] = event
        if len(self._events) > KEPT_EVENTS:
            for old in list(islice(self._events, KEPT_EVENTS // 10)):
                del self._events[old]
        return event

    def find(self, event_id: str) -> Event | None:
        """The event of that id, or None."""
        return self._events.get(event_id)

    def select(self, parameters: Mapping[str, Any]) -> list[Event]:
        """The events that a ListClusterEvents request asks for, newest first unless it says `Ascending`."""
        found = [event for event in self if _wanted(event, parameters)]
        return found if parameters.get("SortOrder") == "Ascending" else found[::-1]


def _wanted(event: Event, parameters: Mapping[str, Any]) -> bool:
    equal = {
        "InstanceGroupName": event.group,
        "NodeId": event.instance_id,
        "ResourceType": event.resource_type,
        "OperationId": event.operation_id,
    }
    if any(name in parameters and parameters[name] != value for name, value in equal.items()):
        return False
    after, before = parameters.get("EventTimeAfter"), parameters.get("EventTimeBefore")
    return (after is None or event.time > epoch_seconds(after)) and (
        before is None or event.time < epoch_seconds(before)
    )


def summary(event: Event, cluster_arn: str, cluster_name: str) -> dict[str, Any]:
    """The form in a list: what does not apply is null, and no metadata (C-05)."""
    return {
        "EventId": event.event_id,
        "ClusterArn": cluster_arn,
        "ClusterName": cluster_name,
        "InstanceGroupName": event.group,
        "InstanceId": event.instance_id,
        "ResourceType": event.resource_type,
        "EventTime": event.time,
        "Description": event.description,
        "EventLevel": event.level,
        "OperationId": event.operation_id,
    }


def detail(event: Event, cluster_arn: str, cluster_name: str) -> dict[str, Any]:
    """The form of a single event: the metadata lies in one of the subtrees, the others are null (C-05)."""
    metadata: dict[str, Any] | None = None
    if event.metadata:
        metadata = dict.fromkeys(SUBTREES)
        metadata[event.metadata[0]] = dict(event.metadata[1])
    return {**summary(event, cluster_arn, cluster_name), "EventDetails": {"EventMetadata": metadata}}
