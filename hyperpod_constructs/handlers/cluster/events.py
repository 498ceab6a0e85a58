"""CloudFormation's event as typed values. Reads every format of the properties that was ever shipped."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from .errors import MalformedEventError
from .log import log
from .properties import Properties, read_properties

PROGRESS = "HyperPodProgress"
"""Key of what on_event hands to is_complete: the Provider merges on_event's answer into the event that it polls with
(aws-cdk, provider-framework/runtime/framework.ts, createResponseEvent)."""

MARKER_IDS = frozenset(
    {
        "AWSCDK::CustomResourceProviderFramework::CREATE_FAILED",
        "AWSCDK::CustomResourceProviderFramework::MISSING_PHYSICAL_ID",
    }
)
"""Physical ids that the Provider invents when a Create failed before there was one."""


class RequestType(StrEnum):
    """What CloudFormation asks for."""

    CREATE = "Create"
    UPDATE = "Update"
    DELETE = "Delete"


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Who made a cluster: the two owner tags."""

    stack_id: str
    logical_id: str


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What on_event hands to the polls that follow.

    Attributes:
        started_at: seconds since the epoch when on_event ran; 0 when unknown.
        cluster_arn: the cluster that was created or found; "" when unknown.
        rolling_back: CloudFormation was rolling the stack back.
        pending: the operations that on_event could not make because the cluster was busy.
        software_started: a software update was started by this request.
        expected: per group, target and minimum instance counts that the service has accepted.
        notes: what the user should know, for the Warning attribute.
    """

    started_at: float = 0
    cluster_arn: str = ""
    rolling_back: bool = False
    pending: tuple[str, ...] = ()
    software_started: bool = False
    expected: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """A plain dictionary for the answer of on_event."""
        return {
            "StartedAt": self.started_at,
            "ClusterArn": self.cluster_arn,
            "RollingBack": self.rolling_back,
            "Pending": list(self.pending),
            "SoftwareStarted": self.software_started,
            "Expected": {name: list(counts) for name, counts in self.expected.items()},
            "Notes": list(self.notes),
        }


@dataclass(frozen=True, kw_only=True)
class Event:
    """One request of CloudFormation, with what on_event added when this is a poll.

    Attributes:
        physical_id: None on a Create, and when there is none or only a marker of the Provider.
        desired: the wanted cluster; None only on a Delete, which never depends on readable properties.
        previous: the properties before an Update; None when there are none or this handler cannot read them.
    """

    request_type: RequestType
    owner: Owner
    request_id: str
    physical_id: str | None
    desired: Properties | None
    previous: Properties | None = None
    progress: Progress = Progress()


def wanted(event: Event) -> Properties:
    """The wanted cluster of a Create or an Update, which always have one."""
    if event.desired is None:
        raise AssertionError("a Create or an Update always has properties")
    return event.desired


def read_event(event: Mapping[str, Any]) -> Event:
    """Read an event of on_event or is_complete.

    Raises:
        MalformedEventError: with every problem found. A Delete only needs a request type and the owner's ids.
    """
    problems: list[str] = []
    request_type = _request_type(event, problems)
    owner = Owner(stack_id=_text(event, "StackId", problems), logical_id=_text(event, "LogicalResourceId", problems))
    desired = previous = None
    if request_type in (RequestType.CREATE, RequestType.UPDATE):
        desired = _collecting(problems, lambda: read_properties(event.get("ResourceProperties")))
    if request_type is RequestType.UPDATE:
        # A rollback may bring properties that a newer handler wrote: unreadable then means unknown, not an error.
        previous = _collecting([], lambda: read_properties(event.get("OldResourceProperties")))
    physical_id = _physical_id(event)
    if request_type is RequestType.UPDATE and physical_id is None:
        problems.append(
            f"PhysicalResourceId: got {event.get('PhysicalResourceId')!r}; an Update needs the cluster's name"
        )
    if problems or request_type is None:
        raise MalformedEventError(problems)
    return Event(
        request_type=request_type,
        owner=owner,
        request_id=str(event.get("RequestId", "")),
        physical_id=physical_id,
        desired=desired,
        previous=previous,
        progress=read_progress(event.get(PROGRESS)),
    )


def read_progress(value: Any) -> Progress:
    """What on_event handed over; an absent or foreign value gives an empty one, because polls must go on."""
    try:
        return _read_progress(value) if isinstance(value, Mapping) else Progress()
    except (ValueError, TypeError, LookupError) as error:
        log("what on_event handed over cannot be read", error=repr(error))
        return Progress()


def _read_progress(value: Mapping[str, Any]) -> Progress:
    expected = value.get("Expected")
    return Progress(
        started_at=float(value.get("StartedAt") or 0),
        cluster_arn=str(value.get("ClusterArn") or ""),
        rolling_back=value.get("RollingBack") in (True, "true"),
        pending=tuple(value.get("Pending") or ()),
        software_started=value.get("SoftwareStarted") in (True, "true"),
        expected={
            str(name): (int(counts[0]), int(counts[1]))
            for name, counts in (expected.items() if isinstance(expected, Mapping) else ())
        },
        notes=tuple(str(note) for note in value.get("Notes") or ()),
    )


def elapsed_seconds(progress: Progress, created_at: float | None, now: Callable[[], float] = time.time) -> float:
    """Seconds since on_event ran; since the cluster's creation when a poll does not know, and 0 when nobody does."""
    started_at = progress.started_at or created_at
    return max(0.0, now() - started_at) if started_at else 0.0


def _request_type(event: Mapping[str, Any], problems: list[str]) -> RequestType | None:
    value = event.get("RequestType")
    try:
        return RequestType(str(value))
    except ValueError:
        problems.append(f"RequestType: got {value!r}; needs one of {', '.join(RequestType)}")
        return None


def _text(event: Mapping[str, Any], key: str, problems: list[str]) -> str:
    value = event.get(key)
    if isinstance(value, str) and value:
        return value
    problems.append(f"{key}: got {value!r}; needs a text")
    return ""


def _physical_id(event: Mapping[str, Any]) -> str | None:
    value = event.get("PhysicalResourceId")
    return value if isinstance(value, str) and value and value not in MARKER_IDS else None


def _collecting(problems: list[str], read: Callable[[], Properties]) -> Properties | None:
    try:
        return read()
    except MalformedEventError as error:
        problems.extend(error.problems)
        return None
