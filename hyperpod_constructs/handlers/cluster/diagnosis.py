"""The reason of a failure: cause first, then where, then the script's last words, then what to do.

Everything beyond the cause is looked up, and every look-up may fail: a missing permission for the details never hides
the first error (field report C-05).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .aws import Aws
from .hints import hint_for
from .log import log
from .observed import Cluster
from .text import REASON_CHARACTERS, shortened

T = TypeVar("T")

SUBTREES = ("Cluster", "InstanceGroup", "InstanceGroupScaling", "Instance", "DatabaseConfiguration", "SlurmHealth")
"""Where an event's metadata may lie; all but one are null."""

EVENTS_READ = 6
EVENTS_SHOWN = 2
LOG_LINES = 12
CAUSE_BYTES = 450
CLOCK_SKEW_SECONDS = 60


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One Error event with its metadata.

    Attributes:
        text: the failure message of the metadata, the description when there is none.
        group, instance: where, "" when the event is not about one.
        subtree: where the metadata lay, "" when there is none.
    """

    text: str
    group: str
    instance: str
    subtree: str = ""


def reason(aws: Aws, cluster: Cluster, cause: str, *, group: str = "", since: float | None = None) -> str:
    """The text for the stack event, about 1,000 bytes at most.

    Args:
        aws: for the look-ups.
        cluster: as it was last seen.
        cause: the first line, unless an event says more than a general text.
        group: the failing group when it is known.
        since: seconds since the epoch; events before it are an older story.
    """
    none: list[Fault] = []
    faults = _attempt("events", lambda: newest_faults(aws, cluster.name, since), none)
    fault = next((item for item in faults if not group or item.group == group), faults[0] if faults else None)
    group = group or (fault.group if fault else "")
    instance = fault.instance if fault else ""
    lines = [shortened(" ".join(cause.split()), CAUSE_BYTES)]
    lines += [f"event: {item.text}" for item in faults if not _said(item.text, lines)]
    lines.append(_place(cluster, group, instance))
    hint = hint_for(" ".join(lines))
    lines += [f"hint: {hint}"] if hint else []
    text = "\n".join(lines)
    return shortened(
        text + _log_tail(aws, cluster, group, instance, REASON_CHARACTERS - len(text.encode())), REASON_CHARACTERS
    )


def newest_faults(aws: Aws, name: str, since: float | None = None) -> list[Fault]:
    """The newest Error events, the pair that the service records for one fault collapsed to one.

    Warn events are progress noise of every scaling and are left out (field report C-06).
    """
    after = since - CLOCK_SKEW_SECONDS if since else None
    errors = [event for event in aws.newest_events(name, after) if event.get("EventLevel") == "Error"]
    faults: dict[str, Fault] = {}
    for event in errors[:EVENTS_READ]:
        fault = _fault(aws, name, event)
        known = faults.setdefault(fault.text, fault)
        if not known.instance and fault.instance:
            faults[fault.text] = fault
    return list(faults.values())[:EVENTS_SHOWN]


def _fault(aws: Aws, name: str, event: Mapping[str, Any]) -> Fault:
    nothing: dict[str, Any] = {}
    details = _attempt("event details", lambda: aws.event_details(name, str(event["EventId"])), nothing)
    merged = {**event, **{key: value for key, value in details.items() if value is not None}}
    text = failure_message(details) or str(merged.get("Description") or "an error without a text")
    return Fault(
        text=" ".join(text.split()),
        group=str(merged.get("InstanceGroupName") or ""),
        instance=str(merged.get("InstanceId") or ""),
        subtree=next((name for name in SUBTREES if _metadata(details).get(name)), ""),
    )


def _metadata(details: Mapping[str, Any]) -> Mapping[str, Any]:
    return (details.get("EventDetails") or {}).get("EventMetadata") or {}


def failure_message(details: Mapping[str, Any]) -> str:
    """The message in whichever subtree of the metadata holds one; of Slurm's health the component and its reason."""
    metadata = _metadata(details)
    for subtree in SUBTREES:
        content = metadata.get(subtree) or {}
        if content.get("FailureMessage"):
            return str(content["FailureMessage"])
        if subtree == "DatabaseConfiguration" and content.get("Advisory"):
            return str(content["Advisory"])
        if subtree == "SlurmHealth" and content.get("Reason"):
            return f"{content.get('Component')} {content.get('Status')}: {content['Reason']}"
    return ""


def log_stream(group: str, instance: str) -> str:
    """The stream of a node's lifecycle script (FACTS 8)."""
    return f"LifecycleConfig/{group}/{instance}"


def _place(cluster: Cluster, group: str, instance: str) -> str:
    parts = [f"cluster {cluster.name}"]
    parts += [f"group {group}"] if group else []
    parts += [f"instance {instance}"] if instance else []
    parts.append(f"log group {cluster.log_group}")
    if group:
        parts.append(f"stream {log_stream(group, instance or '<instance>')}")
    return ", ".join(parts)


def _log_tail(aws: Aws, cluster: Cluster, group: str, instance: str, room: int) -> str:
    """The end of the script's log, as much as there is room for; "" when it cannot be read."""
    heading = "\nlog ends: "
    if not (group and instance) or room < len(heading) + 40:
        return ""
    nothing: list[str] = []
    lines = _attempt("log", lambda: aws.log_tail(cluster.log_group, log_stream(group, instance), LOG_LINES), nothing)
    text = " | ".join(line.strip() for line in lines if line.strip())
    return heading + shortened(text, room - len(heading), head_share=0.0) if text else ""


def _said(text: str, lines: Iterable[str]) -> bool:
    return any(text in line for line in lines)


def _attempt(what: str, look_up: Callable[[], T], otherwise: T) -> T:
    try:
        return look_up()
    # Any exception: what cannot be looked up must not replace the cause that is already known.
    except Exception as error:
        log("details not available", what=what, error=f"{type(error).__name__}: {error}")
        return otherwise
