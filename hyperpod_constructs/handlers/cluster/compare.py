"""Compares what is wanted with what DescribeCluster shows, field by field, by the change policy. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .policy import CLUSTER_POLICY, GROUP_POLICY, Absence, Change, Policy, Rule

Path = tuple[str, ...]
Leaves = Mapping[Path, Any]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One field that is not as wanted.

    Attributes:
        path: the field in the request's names; a part in brackets says which of several.
        wanted: what the template says, None when it says nothing.
        live: what the service shows, None when it shows nothing.
        drifted: the template did not change: somebody or the service changed the live value.
    """

    path: Path
    rule: Rule
    wanted: Any
    live: Any
    drifted: bool = False

    @property
    def field(self) -> str:
        """The field's dotted name."""
        return ".".join(part for part in self.path if not part.startswith("["))


def group_differences(
    wanted: Mapping[str, Any], live: Mapping[str, Any], before: Mapping[str, Any] | None
) -> list[Difference]:
    """What differs in one instance group.

    Args:
        wanted: the ClusterInstanceGroupSpecification of the template.
        live: the group as DescribeCluster shows it.
        before: the specification before this update; None when it is not known.
    """
    settings = _but_counts(wanted)
    unchanged = before is None or _but_counts(before) == settings
    if unchanged and all(live.get(name) == value for name, value in settings.items()):
        # The usual case, and nearly all of the work of a large cluster: only counts differ, compared elsewhere.
        return []
    wanted_leaves = leaves(wanted)
    before_leaves = None if before is None else wanted_leaves if unchanged else leaves(before)
    return _differences(GROUP_POLICY, wanted_leaves, _live_leaves(live), before_leaves)


def _but_counts(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name not in ("InstanceCount", "MinInstanceCount")}


def cluster_differences(
    wanted: Mapping[str, Any], live: Mapping[str, Any], before: Mapping[str, Any] | None
) -> list[Difference]:
    """What differs in the cluster itself; groups and tags are left out."""
    return _differences(
        CLUSTER_POLICY,
        leaves(_without_groups(wanted)),
        leaves(_without_groups(live)),
        None if before is None else leaves(_without_groups(before)),
    )


def _differences(policy: Policy, wanted: Leaves, live: Leaves, before: Leaves | None) -> list[Difference]:
    paths = wanted if before is None or before is wanted else {**wanted, **before}
    found = (_difference(path, policy.rule_for(path), wanted, live, before) for path in paths)
    return sorted((item for item in found if item is not None), key=lambda item: item.path)


_NOT_COMPARED = (Change.IDENTITY, Change.EKS_ONLY, Change.COUNT)


def _difference(path: Path, rule: Rule, wanted: Leaves, live: Leaves, before: Leaves | None) -> Difference | None:
    value, shown = wanted.get(path, rule.default), live.get(path, rule.default)
    left_alone = value is None and rule.absence is Absence.SERVICE_DECIDES
    if value == shown or left_alone or rule.change in _NOT_COMPARED:
        return None
    templates_agree = before is not None and before.get(path, rule.default) == value
    if shown is None and (templates_agree or before is None):
        # What the service does not show cannot be compared; then only a change of the template counts.
        return None
    if rule.moves and (templates_agree or before is None):
        return None
    return Difference(path=path, rule=rule, wanted=value, live=shown, drifted=templates_agree or before is None)


def leaves(value: Mapping[str, Any]) -> dict[Path, Any]:
    """Every field that holds a value, by its path, normalised so that equal settings are equal values."""
    found: dict[Path, Any] = {}
    storage = value.get("InstanceStorageConfigs")
    _collect((), {**value, "InstanceStorageConfigs": _storage_by_kind(storage)} if storage else value, found)
    return found


def _collect(parent: Path, value: Mapping[str, Any], found: dict[Path, Any]) -> None:
    for name, item in value.items():
        path = (*parent, name)
        if type(item) in _PLAIN and name not in _NORMALISED:
            found[path] = item
        elif isinstance(item, dict) and item:
            _collect(path, item, found)
        elif item is not None and item != []:
            found[path] = _normalised(path, item)


_PLAIN = (str, int, bool)
_NORMALISED = frozenset({"NextPatchDate", "SourceS3Uri", "VolumeKmsKeyId"})


def _normalised(path: Path, value: Any) -> Any:
    if isinstance(value, list | tuple):
        # No list of this API has an order that means anything: subnets, security groups, checks, alarms, partitions.
        return tuple(sorted((_normalised(path, item) for item in value), key=str))
    if isinstance(value, Mapping):
        return json.dumps(value, sort_keys=True, default=str)
    if path[-1] == "NextPatchDate":
        return _epoch(value)
    if path[-1] == "SourceS3Uri" and isinstance(value, str):
        return value.rstrip("/")
    if path[-1] == "VolumeKmsKeyId" and isinstance(value, str):
        # A key may be given by its id or its ARN.
        return value.rsplit("/", 1)[-1]
    return value


def _epoch(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return value
    return int(value.timestamp()) if isinstance(value, datetime) else value


def _storage_by_kind(configs: Any) -> dict[str, Any]:
    """The union members as an object, so that their order means nothing and each keeps its identity."""
    kinds: dict[str, Any] = {}
    for config in configs:
        for kind, settings in config.items():
            # What the model does not know stays as it came, and the service refuses it by its name.
            selector, rest = _identified(kind, settings) if isinstance(settings, Mapping) else ("[]", settings)
            kinds.setdefault(kind, {})[selector] = rest
    return kinds


def _identified(kind: str, settings: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    if kind == "EbsVolumeConfig":
        which = "[root]" if settings.get("RootVolume") else "[secondary]"
        return which, {name: value for name, value in settings.items() if name != "RootVolume"}
    return f"[{settings.get('DnsName')}]", settings


def _without_groups(request: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in request.items() if name in _CLUSTER_MEMBERS}


_CLUSTER_MEMBERS = frozenset(rule.path.split(".")[0] for rule in CLUSTER_POLICY.rules)


def _live_leaves(details: Mapping[str, Any]) -> dict[Path, Any]:
    """The leaves of DescribeCluster's group under the request's names: only what a request can hold."""
    shown = leaves({name: value for name, value in details.items() if name in _SHOWN_MEMBERS})
    renamed = {path: value for path, value in shown.items() if path[:1] not in _RENAMED and path[:2] not in _RENAMED}
    for path, value in shown.items():
        for length in (1, 2):
            if path[:length] in _RENAMED:
                renamed[(*_RENAMED[path[:length]], *path[length:])] = value
    return renamed


_OBSERVED = [(tuple(rule.observed_path.split(".")), tuple(rule.path.split("."))) for rule in GROUP_POLICY.rules]
_SHOWN_MEMBERS = frozenset(observed[0] for observed, _ in _OBSERVED)
_RENAMED: Mapping[Path, Path] = {observed: path for observed, path in _OBSERVED if observed != path}
