"""Software updates: UpdateClusterSoftware only when the pinned image changes, started and not awaited. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .observed import CONTROLLER, Cluster, Group
from .properties import Properties

DEFAULT_IMAGE = "default"
TAKEN_BACK = ("RollbackInProgress", "RollbackComplete", "Failed")
PINS = ("ImageReleaseVersion", "ImageId")


@dataclass
class SoftwarePlan:
    """Requests of UpdateClusterSoftware, and what is to be told or refused."""

    requests: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def plan_software(
    desired: Properties, previous: Properties | None, observed: Cluster, *, rolling_back: bool
) -> SoftwarePlan:
    """Decide which groups get another image.

    Compute and login groups follow the template; the controller, on whose root volume the accounting database lies,
    only on the explicit word ``update_controller_software`` (FACTS 5.4, 11). A rollback starts none: it would replace
    every root volume a second time.
    """
    result = SoftwarePlan()
    versions: list[dict[str, Any]] = []
    images: dict[str, list[str]] = {}
    for live, spec in _repinned_groups(desired, previous, observed):
        if rolling_back:
            result.notes.append(f"{live.name}: stays on image {_image_of(live)}; a rollback starts no software update")
        elif live.node_type == CONTROLLER and not desired.update_controller_software:
            result.notes.append(_controller_stays(live))
        elif _custom_from_default(spec, live):
            result.problems.append(
                f"{live.name}: ImageId cannot change from the default image to {spec['ImageId']}: give the group "
                "another name, which makes a new group with that image"
            )
        elif spec.get("ImageId"):
            images.setdefault(spec["ImageId"], []).append(live.name)
        else:
            versions.append({"InstanceGroupName": live.name, "ImageReleaseVersion": spec["ImageReleaseVersion"]})
    result.requests = _requests(observed.name, versions, images)
    return result


def _repinned_groups(
    desired: Properties, previous: Properties | None, observed: Cluster
) -> list[tuple[Group, Mapping[str, Any]]]:
    """The live groups whose pinned image the template changed and that neither have it nor are getting it."""
    if previous is None:
        return []
    new_word = desired.update_controller_software and not previous.update_controller_software
    found = []
    for name, spec in desired.groups.items():
        live, before = observed.groups.get(name), previous.groups.get(name)
        if live is None or before is None or not _lacks_pin(spec, live):
            continue
        changed = any(before.get(pin) != spec[pin] for pin in PINS if spec.get(pin))
        if changed or (new_word and live.node_type == CONTROLLER):
            found.append((live, spec))
    return found


def failed_software(desired: Properties, previous: Properties, observed: Cluster) -> str:
    """The first group whose new pin the service took back, "" when there is none.

    Only the status counts: the last line of a script's log may be that of the rollback (field report C-13).
    """
    for name, spec in desired.groups.items():
        live, before = observed.groups.get(name), previous.groups.get(name, {})
        repinned = any(before.get(pin) != spec[pin] for pin in PINS if spec.get(pin))
        if live and repinned and live.details.get("SoftwareUpdateStatus") in TAKEN_BACK:
            return name
    return ""


def _lacks_pin(spec: Mapping[str, Any], live: Group) -> bool:
    pins = {pin: spec[pin] for pin in PINS if spec.get(pin)}
    if all(live.details.get(f"Current{pin}") == value for pin, value in pins.items()):
        return False
    getting_it = all(live.details.get(f"Desired{pin}") == value for pin, value in pins.items())
    return not (live.software_update_active and getting_it)


def _custom_from_default(spec: Mapping[str, Any], live: Group) -> bool:
    image = spec.get("ImageId")
    return bool(image) and image != DEFAULT_IMAGE and live.details.get("CurrentImageId") in (None, DEFAULT_IMAGE)


def _requests(
    cluster_name: str, versions: list[dict[str, Any]], images: Mapping[str, list[str]]
) -> list[dict[str, Any]]:
    requests: list[dict[str, Any]] = []
    if versions:
        requests.append({"ClusterName": cluster_name, "InstanceGroups": versions})
    for image, names in images.items():
        groups = [{"InstanceGroupName": name} for name in names]
        requests.append({"ClusterName": cluster_name, "InstanceGroups": groups, "ImageId": image})
    return requests


def _controller_stays(live: Group) -> str:
    return (
        f"{live.name}: the controller keeps its image {_image_of(live)}: a new one replaces the root volume, where its "
        "accounting database lies; update_controller_software=True is the word for it"
    )


def _image_of(live: Group) -> str:
    return str(live.details.get("CurrentImageReleaseVersion") or live.details.get("CurrentImageId") or "as it is")
