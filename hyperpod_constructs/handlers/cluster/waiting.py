"""Whether a deployment is done, decided from one DescribeCluster. Pure.

With continuous provisioning the cluster stays InService while it scales and nodes may fail and come back (field
reports C-03, C-28), so counts and the groups' statuses decide, and only a Failed cluster is a failure. A minimum that
the service gave up after three hours looks like success (FACTS 5.1) and is not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .answer import instance_counts
from .counts import wanted_minimum
from .observed import CONTROLLER, LOGIN, Cluster, Group
from .properties import OnTimeout, Properties, ReadyWhen

DEADLINE_SECONDS = 55 * 60
"""Ours: CloudFormation gives up after an hour, and then says nothing but that time is over (field report C-16)."""


@dataclass(frozen=True, kw_only=True)
class Ready:
    """Done."""

    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NotYet:
    """Go on waiting; says for what."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Failed:
    """It will not come; the cause, and the group it lies in ("" for the cluster)."""

    cause: str
    group: str = ""


Verdict = Ready | NotYet | Failed


def judge(
    desired: Properties,
    observed: Cluster,
    *,
    expected: Mapping[str, tuple[int, int]],
    elapsed_seconds: float,
) -> Verdict:
    """Decide whether to answer CloudFormation.

    Args:
        desired: the wanted cluster, with ``ReadyWhen`` and ``OnTimeout``.
        observed: the cluster now.
        expected: per group, the target and the minimum that the service accepted from this request.
        elapsed_seconds: since the request began.
    """
    if observed.status == "Failed":
        return Failed(cause=observed.failure_message or f"cluster {observed.name} has failed", group=_failed(observed))
    if observed.status == "Deleting":
        return Failed(cause=f"cluster {observed.name} is being deleted by somebody else")
    if observed.status == "RollingBack":
        return NotYet(reason=f"cluster {observed.name} is rolling back")
    given_up = _given_up(observed, expected)
    if given_up is not None:
        return given_up
    missing = _missing(desired, observed)
    if not missing:
        return Ready()
    if elapsed_seconds < DEADLINE_SECONDS:
        return NotYet(reason=missing)
    return _at_deadline(desired, observed, missing)


def expected_counts(groups: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[int, int]]:
    """Target and minimum of specifications as they were sent."""
    return {name: (int(spec["InstanceCount"]), wanted_minimum(spec)) for name, spec in groups.items()}


def changed_counts(desired: Properties, previous: Properties | None) -> dict[str, tuple[int, int]]:
    """Target and minimum of the groups whose counts this update changed; nothing when the past is unknown."""
    if previous is None:
        return {}
    counts, before = expected_counts(desired.groups), expected_counts(previous.groups)
    return {name: pair for name, pair in counts.items() if before.get(name) != pair}


def picture(observed: Cluster) -> str:
    """Every group with its counts and status, for the reason of a deadline."""
    groups = [f"{group.name} {group.current}/{group.target} {group.status}" for group in observed.groups.values()]
    return f"cluster {observed.status}; " + ", ".join(groups)


def _failed(observed: Cluster) -> str:
    failed = [group.name for group in observed.groups.values() if group.status == "Failed"]
    return failed[0] if failed else ""


def _given_up(observed: Cluster, expected: Mapping[str, tuple[int, int]]) -> Failed | None:
    """A minimum that was not met in three hours: the service lowers target and minimum and calls it InService."""
    for name, (target, minimum) in expected.items():
        group = observed.groups.get(name)
        if group is None or minimum <= 0:
            continue
        live_minimum = 0 if group.minimum is None and group.target == 0 else group.minimum
        if group.target < target and live_minimum is not None and live_minimum < minimum:
            return Failed(
                cause=f"{name}: the minimum of {minimum} was not met: the group went from a target of {target} back to "
                f"{group.target} (minimum {live_minimum}) with {group.current} there; the service gives a minimum up "
                "after three hours",
                group=name,
            )
    return None


def _missing(desired: Properties, observed: Cluster) -> str:
    """What is still missing, "" when nothing is."""
    parts = []
    for name, spec in desired.groups.items():
        group = observed.groups.get(name)
        if group is None:
            parts.append(f"{name} is not there yet")
        elif not _is_ready(desired.ready_when, spec, group):
            parts.append(f"{name} {group.current}/{group.target} {group.status}")
    return ", ".join(parts)


def _is_ready(ready_when: ReadyWhen, spec: Mapping[str, Any], group: Group) -> bool:
    node_type = spec.get("SlurmConfig", {}).get("NodeType")
    if node_type in (CONTROLLER, LOGIN):
        # A software update is started and not awaited: it keeps the group busy for half an hour and more.
        return group.software_update_active or (group.status == "InService" and group.current == group.target)
    if ready_when is ReadyWhen.IN_SERVICE:
        return True
    wanted = group.target if ready_when is ReadyWhen.ALL else min(wanted_minimum(spec), group.target)
    return group.current >= wanted


def _controller_is_up(desired: Properties, observed: Cluster) -> bool:
    controllers = [
        name for name, spec in desired.groups.items() if spec.get("SlurmConfig", {}).get("NodeType") == CONTROLLER
    ]
    groups = [observed.groups[name] for name in controllers if name in observed.groups]
    return any(group.current >= 1 and group.status != "Failed" for group in groups)


def _at_deadline(desired: Properties, observed: Cluster, missing: str) -> Verdict:
    minutes = DEADLINE_SECONDS // 60
    if desired.on_timeout is OnTimeout.SUCCEED and _controller_is_up(desired, observed):
        note = f"after {minutes} minutes still missing: {missing}; the service goes on ({instance_counts(observed)})"
        return Ready(notes=(note,))
    return Failed(cause=f"after {minutes} minutes still missing: {missing}; {picture(observed)}")
