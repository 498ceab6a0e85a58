"""The properties of the custom resource, one reader for each format version that was ever shipped.

Deployed stacks go on sending the format they were made with, as old properties for one update at least, so a reader
is never removed from the table.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from .errors import MalformedEventError
from .shapes import restored

T = TypeVar("T", bound=StrEnum)

FORMAT_VERSION = "1"
OWNER_TAG_PREFIX = "hyperpod-constructs:"
STACK_ID_TAG = f"{OWNER_TAG_PREFIX}stack-id"
LOGICAL_ID_TAG = f"{OWNER_TAG_PREFIX}logical-id"


class ReadyWhen(StrEnum):
    """When a deployment is done."""

    IN_SERVICE = "IN_SERVICE"
    MINIMUM = "MINIMUM"
    ALL = "ALL"


class OnTimeout(StrEnum):
    """What the deadline means once the controller is up."""

    SUCCEED = "SUCCEED"
    FAIL = "FAIL"


@dataclass(frozen=True, kw_only=True)
class Properties:
    """The wanted cluster.

    Attributes:
        name: the cluster's name, which is the physical id.
        request: the CreateCluster request without InstanceGroups and Tags.
        groups: name -> ClusterInstanceGroupSpecification, in the order in which they are sent.
        tags: the user's tags; neither owner tags nor ``aws:`` ones.
        allow_group_deletion: names of groups that may be removed although they have nodes.
    """

    name: str
    request: Mapping[str, Any]
    groups: Mapping[str, Mapping[str, Any]]
    tags: Mapping[str, str]
    ready_when: ReadyWhen = ReadyWhen.IN_SERVICE
    on_timeout: OnTimeout = OnTimeout.SUCCEED
    force_instance_counts: bool = False
    allow_group_deletion: frozenset[str] = frozenset()
    update_controller_software: bool = False


def read_properties(properties: Any) -> Properties:
    """Read the properties, whatever format version they have.

    Raises:
        MalformedEventError: with every problem found, the version when this handler does not know it.
    """
    if not isinstance(properties, Mapping):
        raise MalformedEventError([f"ResourceProperties: got {properties!r}; needs an object"])
    version = str(properties.get("FormatVersion"))
    reader = READERS.get(version)
    if reader is None:
        known = ", ".join(repr(name) for name in READERS)
        raise MalformedEventError(
            [
                f"FormatVersion: got {properties.get('FormatVersion')!r}; this handler reads {known}; "
                "deploy the stack with the library version that wrote it, or a newer one"
            ]
        )
    return reader(properties)


def _read_version_1(properties: Mapping[str, Any]) -> Properties:
    problems: list[str] = []
    cluster = _object(properties.get("Cluster"), "Cluster", problems)
    request = _request(cluster.get("Request"), problems)
    groups = _groups(properties.get("InstanceGroups"), cluster.get("GroupOrder"), problems)
    tags = _tags(properties.get("Tags"), problems)
    ready_when = _choice(ReadyWhen, cluster.get("ReadyWhen", ReadyWhen.IN_SERVICE), "Cluster.ReadyWhen", problems)
    on_timeout = _choice(OnTimeout, cluster.get("OnTimeout", OnTimeout.SUCCEED), "Cluster.OnTimeout", problems)
    allowed = _names(cluster.get("AllowGroupDeletion"), "Cluster.AllowGroupDeletion", problems)
    if problems or ready_when is None or on_timeout is None:
        raise MalformedEventError(problems)
    return Properties(
        name=request["ClusterName"],
        request=request,
        groups=groups,
        tags=tags,
        ready_when=ready_when,
        on_timeout=on_timeout,
        force_instance_counts=_flag(cluster.get("ForceInstanceCounts")),
        allow_group_deletion=allowed,
        update_controller_software=_flag(cluster.get("UpdateControllerSoftware")),
    )


READERS: Mapping[str, Callable[[Mapping[str, Any]], Properties]] = {"1": _read_version_1}


def _object(value: Any, path: str, problems: list[str]) -> Mapping[str, Any]:
    """An object, from JSON text or as it is."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            problems.append(f"{path}: not valid JSON: {error}")
            return {}
    if not isinstance(value, Mapping):
        problems.append(f"{path}: got {value!r}; needs a JSON object")
        return {}
    return value


def _request(value: Any, problems: list[str]) -> dict[str, Any]:
    request = _object(value, "Cluster.Request", problems)
    for name in ("InstanceGroups", "Tags"):
        if name in request:
            problems.append(f"Cluster.Request.{name}: must not be here; it is a property of its own")
    cluster_name = request.get("ClusterName")
    if not isinstance(cluster_name, str) or not cluster_name:
        problems.append(f"Cluster.Request.ClusterName: got {cluster_name!r}; needs the cluster's name")
    return dict(restored(request, "CreateClusterRequest", "Cluster.Request", problems))


def _groups(value: Any, order: Any, problems: list[str]) -> dict[str, Mapping[str, Any]]:
    """The groups in their order. None may be dropped: a group that goes missing silently costs nodes (C-22)."""
    texts = _object(value, "InstanceGroups", problems)
    groups = {name: _group(name, text, problems) for name, text in texts.items()}
    names = list(order) if isinstance(order, list | tuple) else list(groups)
    if sorted(map(str, names)) != sorted(groups):
        problems.append(f"Cluster.GroupOrder: got {names!r}; needs each of {sorted(groups)!r} exactly once")
        return groups
    return {name: groups[name] for name in names}


def _group(name: str, value: Any, problems: list[str]) -> Mapping[str, Any]:
    path = f"InstanceGroups.{name}"
    group = _object(value, path, problems)
    if group.get("InstanceGroupName") != name:
        problems.append(f"{path}.InstanceGroupName: got {group.get('InstanceGroupName')!r}; needs {name!r}")
    if "InstanceCount" not in group:
        problems.append(f"{path}.InstanceCount: is missing")
    restored_group: Mapping[str, Any] = restored(group, "ClusterInstanceGroupSpecification", path, problems)
    return restored_group


def _tags(value: Any, problems: list[str]) -> dict[str, str]:
    tags: dict[str, str] = {}
    if not isinstance(value, list | tuple | None):
        problems.append(f"Tags: got {value!r}; needs a list of Key and Value")
        return tags
    for index, tag in enumerate(value or ()):
        if not isinstance(tag, Mapping) or "Key" not in tag:
            problems.append(f"Tags[{index}]: got {tag!r}; needs Key and Value")
        elif is_users_tag(str(tag["Key"])):
            tags[str(tag["Key"])] = str(tag.get("Value", ""))
    return tags


def is_users_tag(key: str) -> bool:
    """Whether a tag is the user's: not one of AWS's own, not one of the owner tags."""
    return not key.startswith(("aws:", OWNER_TAG_PREFIX))


def _names(value: Any, path: str, problems: list[str]) -> frozenset[str]:
    if isinstance(value, list | tuple):
        return frozenset(map(str, value))
    if value is not None:
        problems.append(f"{path}: got {value!r}; needs a list of names")
    return frozenset()


def _choice(kind: type[T], value: Any, path: str, problems: list[str]) -> T | None:
    try:
        return kind(value)
    except ValueError:
        problems.append(f"{path}: got {value!r}; needs one of {', '.join(kind)}")
        return None


def _flag(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")
