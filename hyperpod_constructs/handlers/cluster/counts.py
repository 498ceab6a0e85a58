"""Instance counts belong to whoever changed them last. Pure.

Templates go stale: operators and the service's own repair scale groups by API, and a redeploy that writes the old
number back would end jobs on nodes picked at random (FACTS 5.3, field report C-14).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .observed import CONTROLLER, LOGIN, Group


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What a group's counts shall be.

    Attributes:
        target: the instance count to send.
        minimum: the minimum to send; None to leave it to the service.
        changed: whether they differ from the live ones.
        refusal: why the template's count is not applied and what to do; "" when it is.
        note: what the user should know; "" when there is nothing.
    """

    target: int
    minimum: int | None
    changed: bool = False
    refusal: str = ""
    note: str = ""


def default_minimum(spec: Mapping[str, Any]) -> int:
    """The service's default at creation: 1 for controller and login, 0 for compute (FACTS 5.1)."""
    return 1 if spec.get("SlurmConfig", {}).get("NodeType") in (CONTROLLER, LOGIN) else 0


def wanted_minimum(spec: Mapping[str, Any]) -> int:
    """The minimum that a specification asks for, the default when it gives none."""
    value = spec.get("MinInstanceCount")
    return default_minimum(spec) if value is None else int(value)


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What decides beside the three numbers.

    Attributes:
        before_known: whether the previous template is known at all.
        force: the user's explicit word.
        rolling_back: CloudFormation is undoing an update.
        remembered: the live counts that the failed update overrode, for its rollback.
    """

    before_known: bool = True
    force: bool = False
    rolling_back: bool = False
    remembered: Mapping[str, int] = field(default_factory=dict)


def decide_counts(
    wanted: Mapping[str, Any], before: Mapping[str, Any] | None, live: Group, situation: Situation
) -> Counts:
    """Choose between the template's counts and the live ones.

    A count that the template did not change never overrides the live one. A changed one is applied when the live
    target is what the template said before, or when it only grows the group; otherwise it is refused with the three
    numbers, unless forced. Rolling back, nothing is refused: a count that the failed update set goes back to what it
    overrode, any other live count is kept and told.

    Args:
        wanted: the template's specification of the group.
        before: its specification before this update; None when the group is new in the template.
        live: the group as the service shows it.
        situation: what else decides.
    """
    target, refusal, note = _target(wanted, before, live, situation)
    minimum = _minimum(wanted, before, live, situation.before_known, target)
    changed = target != live.target or (minimum is not None and live.minimum is not None and minimum != live.minimum)
    return Counts(target=target, minimum=minimum, changed=changed and not refusal, refusal=refusal, note=note)


def _target(
    wanted: Mapping[str, Any], before: Mapping[str, Any] | None, live: Group, situation: Situation
) -> tuple[int, str, str]:
    """The target, a refusal and a note."""
    count = int(wanted["InstanceCount"])
    said_before = None if before is None else int(before["InstanceCount"])
    set_by_failed_update = situation.rolling_back and count != said_before and live.target == said_before
    if set_by_failed_update and live.name in situation.remembered:
        count = situation.remembered[live.name]
    if count == live.target:
        return count, "", ""
    if not situation.before_known or count == said_before:
        return live.target, "", f"{live.name}: the live count of {live.target} is kept; the template says {count}"
    if live.target == said_before:
        return count, "", ""
    if situation.rolling_back:
        # Not what the failed update set: it never came so far, or somebody scaled since.
        return live.target, "", f"{live.name}: the live count of {live.target} is kept; the template says {count} again"
    if situation.force or count > live.target:
        return count, "", ""
    was = "not there" if said_before is None else str(said_before)
    return (
        live.target,
        f"{live.name}: InstanceCount {count} is refused: the template said {was} before and the live count is "
        f"{live.target}, so somebody scaled the group since; applying {count} would end nodes picked at random. Set "
        f"instance_count={live.target} to take the live count over, or force_instance_counts=True to apply {count}",
        "",
    )


def _minimum(
    wanted: Mapping[str, Any], before: Mapping[str, Any] | None, live: Group, before_known: bool, target: int
) -> int | None:
    """The minimum to send, never above the target: the live one unless the template changed it.

    None when neither the template nor an operator set one, so that an update holds what the creation held.
    """
    minimum = wanted_minimum(wanted)
    unchanged = not before_known or (before is not None and wanted_minimum(before) == minimum)
    if unchanged and wanted.get("MinInstanceCount") is None and live.minimum in (None, min(minimum, live.target)):
        return None
    if unchanged and live.minimum is not None:
        minimum = live.minimum
    return min(minimum, target)
