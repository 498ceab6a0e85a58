"""Deploy-time values filled in from the live cluster: what only a deployment knows is as it is now. Pure.

A placeholder that stands where the cluster has a value means that value, since the deployment would resolve it to the
same resource; text around placeholders must agree, so that another scripts prefix still shows as a change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.tokens import is_token

if TYPE_CHECKING:
    from hyperpod_constructs.handlers.cluster.observed import Cluster
    from hyperpod_constructs.handlers.cluster.properties import Properties

_MARKER = re.compile(r"\$\{Token\[[^\]]*\]\}")
_OBSERVED = {"ImageId": "DesiredImageId", "ImageReleaseVersion": "DesiredImageReleaseVersion"}


def filled(wanted: Properties, live: Cluster) -> Properties:
    """The properties with the live cluster's values in place of the placeholders that they fit."""
    groups = {
        name: _filled(group, live.groups[name].details) if name in live.groups else group
        for name, group in wanted.groups.items()
    }
    return replace(wanted, request=_filled(wanted.request, live.details), groups=groups)


def _filled(value: Any, live: Any) -> Any:
    if isinstance(value, str):
        return live if isinstance(live, str) and _fits(value, live) else value
    if isinstance(value, Mapping):
        known = live if isinstance(live, Mapping) else {}
        return {key: _filled(item, known.get(_OBSERVED.get(key, key))) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return _list(list(value), list(live) if isinstance(live, list | tuple) else [])
    return value


def _list(value: list[Any], live: list[Any]) -> list[Any]:
    if any(isinstance(item, Mapping) for item in value):
        return [_filled(item, _counterpart(item, live)) for item in value]
    # Which of several subnets a placeholder is cannot be known; as many as before are taken for the same.
    return live if is_token(value) and len(value) == len(live) else value


def _counterpart(item: Any, live: list[Any]) -> Any:
    """The live storage configuration of the same kind, and of EBS volumes that of the same use."""
    kind = next(iter(item), None) if isinstance(item, Mapping) else None
    for other in live:
        if isinstance(other, Mapping) and kind in other and _is_root(item[kind]) == _is_root(other[kind]):
            return other
    return None


def _is_root(settings: Any) -> bool:
    return bool(settings.get("RootVolume")) if isinstance(settings, Mapping) else False


def _fits(pattern: str, value: str) -> bool:
    if not _MARKER.search(pattern):
        return False
    return re.fullmatch(".+".join(map(re.escape, _MARKER.split(pattern))), value) is not None
