"""The full specification of a group for an update: the template's, with what belongs to the live group. Pure."""

from collections.abc import Mapping
from typing import Any

from .counts import Counts
from .observed import CONTROLLER, Group
from .properties import Properties


def full_spec(
    spec: Mapping[str, Any], before: Mapping[str, Any] | None, live: Group, counts: Counts, desired: Properties
) -> dict[str, Any]:
    """The whole specification, field by field the template's but for the counts, the patch date and the image pin."""
    full = {**spec, "InstanceCount": counts.target}
    if counts.minimum is None:
        full.pop("MinInstanceCount", None)
    else:
        full["MinInstanceCount"] = counts.minimum
    full.update(_kept_patch_date(spec, before, live))
    if live.node_type == CONTROLLER and not desired.update_controller_software:
        full.update(_kept_image(spec, live))
    return full


def _kept_patch_date(spec: Mapping[str, Any], before: Mapping[str, Any] | None, live: Group) -> dict[str, Any]:
    """The live date: the service moves it on after each patch, and only a template that changed it may set it."""
    schedule = _schedule(spec, "PatchSchedule")
    shown = _schedule(live.details, "DesiredPatchSchedule")
    if not schedule or not shown or before is None or _schedule(before, "PatchSchedule") != schedule:
        return {}
    return {"AutoPatchConfig": {**spec["AutoPatchConfig"], "PatchSchedule": shown}}


def _schedule(group: Mapping[str, Any], name: str) -> Any:
    return (group.get("AutoPatchConfig") or {}).get(name)


def _kept_image(spec: Mapping[str, Any], live: Group) -> dict[str, Any]:
    """The live image: without the explicit word a controller keeps it, in a call made for another reason too."""
    pins = ("ImageReleaseVersion", "ImageId")
    return {pin: live.details[f"Desired{pin}"] for pin in pins if pin in spec and live.details.get(f"Desired{pin}")}
