"""Compares what is wanted with what DescribeCluster shows, field by field, by the change policy. Pure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from .policy import CLUSTER_POLICY, GROUP_POLICY, Change, Policy, Rule

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
    return _differences(
        GROUP_POLICY,
        leaves(wanted),
        leaves(_in_request_names(live, GROUP_POLICY)),
        None if before is None else leaves(before),
    )


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
    found = []
    for path in sorted({*wanted, *(before or {})}):
        rule = policy.rule_for(part for part in path if not part.startswith("["))
        if rule.change in (Change.IDENTITY, Change.EKS_ONLY, Change.COUNT):
            continue
        difference = _difference(path, rule, wanted, live, before)
        if difference is not None:
            found.append(difference)
    return found


def _difference(path: Path, rule: Rule, wanted: Leaves, live: Leaves, before: Leaves | None) -> Difference | None:
    value, shown = wanted.get(path, rule.default), live.get(path, rule.default)
    templates_agree = before is not None and before.get(path, rule.default) == value
    if value == shown or (shown is None and (templates_agree or before is None)):
        # What the service does not show cannot be compared; then only a change of the template counts.
        return None
    if rule.moves and (templates_agree or before is None):
        return None
    return Difference(path=path, rule=rule, wanted=value, live=shown, drifted=templates_agree or before is None)


def leaves(value: Mapping[str, Any]) -> dict[Path, Any]:
    """Every field that holds a value, by its path, normalised so that equal settings are equal values."""
    found: dict[Path, Any] = {}
    for name, item in value.items():
        is_storage = name == "InstanceStorageConfigs"
        found.update(_leaves((name,), _storage_by_kind(item or ()) if is_storage else item))
    return found


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from _leaves((*path, name), item)
    elif value is not None and value != []:
        yield path, _normalised(path, value)


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
            selector, rest = _identified(kind, settings)
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


def _in_request_names(details: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """DescribeCluster's group in the request's names: only what a request can hold, each where a request has it."""
    renamed: dict[str, Any] = {}
    for source, target in _renames(policy):
        value = _at(details, source)
        if value is not None:
            _put(renamed, target, value)
    return renamed


@lru_cache(maxsize=4)
def _renames(policy: Policy) -> tuple[tuple[Path, Path], ...]:
    """Shorter paths first, so that a rule for a part of a member overwrites what the whole member brought."""
    pairs = [(tuple(rule.observed_path.split(".")), tuple(rule.path.split("."))) for rule in policy.rules]
    storage = ("InstanceStorageConfigs",)
    others = [pair for pair in pairs if pair[1][0] != storage[0]]
    return tuple(sorted([(storage, storage), *others], key=lambda pair: len(pair[1])))


def _at(details: Any, path: Path) -> Any:
    for part in path:
        if not isinstance(details, Mapping):
            return None
        details = details.get(part)
    return details


def _put(target: dict[str, Any], path: Path, value: Any) -> None:
    for part in path[:-1]:
        inner = target.get(part)
        target[part] = dict(inner) if isinstance(inner, Mapping) else {}
        target = target[part]
    target[path[-1]] = value
