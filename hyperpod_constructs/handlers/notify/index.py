"""The two entry points.

``tell`` turns an event into a readable message with the real failure text. ``guard`` watches for groups whose lifecycle
scripts fail again and again. Both may get an event twice and several at once; neither changes the cluster.

What cannot be looked up (details, counts, prices) never keeps a message from being sent; what cannot be recorded or
sent raises, so that EventBridge delivers the event again.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any, TypeVar

from .aws import Aws
from .cost import estimate
from .log import count, log
from .message import Message, guard_message, notice_message
from .notice import FAILING_METRIC, Kind, Notice, read_notice, with_details
from .streak import Failure, Limits, Quiet, Streak, failed_again, forgotten, repeated

T = TypeVar("T")
Answer = dict[str, Any]


def tell(event: Mapping[str, Any], context: Any = None, aws: Aws | None = None, now: float | None = None) -> Answer:
    """Tell people of an event, unless the same was told a short while ago.

    The same is: the same cluster, group, kind and reason. One fault sends two events, and sixteen nodes with one
    broken script send thirty-two.

    Raises:
        ValueError: not an event of HyperPod.
        botocore.exceptions.ClientError: the record or the message could not be written.
    """
    aws = aws or Aws()
    notice = detailed(read_notice(event), aws)
    now = time.time() if now is None else now
    quiet_seconds = 60 * float(aws.environment["QUIET_MINUTES"])

    def step(record: Mapping[str, Any] | None) -> tuple[Answer, int | None]:
        changed, untold = repeated(Quiet.read(record), now, quiet_seconds)
        return changed.as_record(), untold

    count(notice.kind.value, now, cluster_name=notice.cluster_name, group=notice.group)
    store, key = aws.store(), f"notice/{_fingerprint(notice)}"
    untold = store.change(key, now, step)
    log("event", told=untold is not None, kind=notice.kind, event_id=notice.event_id, group=notice.group)
    if untold is not None:
        untold_again = Quiet(untold=untold).as_record()
        _publish(aws, notice_message(notice, untold), lambda: store.change(key, now, lambda _: (untold_again, None)))
    return {"told": untold is not None}


def guard(event: Mapping[str, Any], context: Any = None, aws: Aws | None = None, now: float | None = None) -> Answer:
    """Count a failed lifecycle script, and tell people when a group fails again and again.

    Raises:
        ValueError: not an event of HyperPod.
        botocore.exceptions.ClientError: the record or the message could not be written.
    """
    aws = aws or Aws()
    notice = read_notice(event)
    if notice.kind is not Kind.SCRIPT_FAILURE or not notice.group:
        notice = detailed(notice, aws)
    if notice.kind is not Kind.SCRIPT_FAILURE or not notice.group:
        return {"told": False}
    limits = _limits(aws.environment)
    failure = Failure(at=_seconds(notice.time, now), instance=notice.instance or notice.event_id)

    def step(record: Mapping[str, Any] | None) -> tuple[Answer, tuple[Streak, bool, bool]]:
        before = Streak.read(record)
        changed, is_due = failed_again(before, failure, limits)
        return changed.as_record(), (changed, changed != before, is_due)

    store, key = aws.store(), f"guard/{notice.cluster_name}/{notice.group}"
    streak, is_new, is_due = store.change(key, failure.at, step)
    if is_new and len(streak.failures) >= limits.failures:
        count(FAILING_METRIC, failure.at, cluster_name=notice.cluster_name, group=notice.group)
    log("failure", told=is_due, new=is_new, group=notice.group, in_window=len(streak.failures), total=streak.total)
    if is_due:

        def undo(record: Mapping[str, Any] | None) -> tuple[Answer, None]:
            return forgotten(Streak.read(record), failure).as_record(), None

        message = _warning(detailed(notice, aws), streak, limits, failure.at, aws)
        _publish(aws, message, lambda: store.change(key, failure.at, undo))
    return {"told": is_due}


def detailed(notice: Notice, aws: Aws) -> Notice:
    """The notice with its real failure message, or as it is when that cannot be had."""
    if not notice.is_describable:
        return notice
    nothing: Mapping[str, Any] = {}
    details = attempt("event details", lambda: aws.event_details(notice.cluster_name, notice.event_id), nothing)
    if not details:
        reason = notice.reason or "the service's details could not be read; see the function's log"
        return replace(notice, reason=reason)
    return with_details(notice, details)


def attempt(what: str, look_up: Callable[[], T], otherwise: T) -> T:
    """A look-up that may fail: a missing permission for details never hides what is already known (C-05)."""
    try:
        return look_up()
    except Exception as error:
        log("not available", what=what, error=f"{type(error).__name__}: {error}")
        return otherwise


def _publish(aws: Aws, message: Message, undo: Callable[[], None]) -> None:
    """Send, or take back the record that it was sent, so that the repeated delivery tries again."""
    try:
        aws.publish(message)
    except Exception:
        undo()
        raise


def _warning(notice: Notice, streak: Streak, limits: Limits, now: float, aws: Aws) -> Message:
    nothing: Mapping[str, Any] = {}
    group = attempt("group", lambda: aws.group(notice.cluster_name, notice.group), nothing)
    group = group or {"InstanceGroupName": notice.group, "CurrentCount": 0, "TargetCount": len(streak.failures)}
    instance_type = str(group.get("InstanceType") or "")
    price = attempt("price", lambda: aws.price(instance_type, notice.region), None) if instance_type else None
    return guard_message(
        notice,
        failures=len(streak.failures),
        window_minutes=limits.window_seconds / 60,
        total=streak.total,
        hours=max(now - streak.since, 0) / 3600,
        estimate=estimate(notice.cluster_name, group, price, notice.region),
    )


def _limits(environment: Mapping[str, str]) -> Limits:
    return Limits(
        failures=int(environment["FAILURES"]),
        window_seconds=60 * float(environment["WINDOW_MINUTES"]),
        remind_seconds=60 * float(environment["REMIND_MINUTES"]),
    )


def _seconds(text: str, now: float | None) -> float:
    """The event's own time: a delivery that comes late must not make a failure look new."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return time.time() if now is None else now


def _fingerprint(notice: Notice) -> str:
    """What makes two notices the same: not the instance, which is another at every try, nor the words around it."""
    reason = (notice.reason or notice.summary).replace(notice.instance or "\0", "").replace(notice.node or "\0", "")
    parts = [notice.cluster_name, notice.group, reason]
    if notice.kind in (Kind.NODE_UNHEALTHY, Kind.CLUSTER_STATE):
        parts += [notice.kind, notice.instance, notice.summary]
    return sha256("\0".join(parts).encode()).hexdigest()[:32]
