"""Values of parsed JSON, taken as what they should be; anything else counts as not given. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hyperpod_constructs.tokens import is_token


def mapping_of(value: Any) -> Mapping[str, Any]:
    """An object."""
    return value if isinstance(value, Mapping) else {}


def items_of(value: Any) -> Sequence[Any]:
    """A list."""
    return value if isinstance(value, list | tuple) else ()


def texts_of(value: Any) -> list[str]:
    """The texts of a list."""
    return [item for item in items_of(value) if isinstance(item, str)]


def text_of(value: Any) -> str:
    """Text."""
    return value if isinstance(value, str) else ""


def number_of(value: Any) -> int | None:
    """Whole numbers; those that only a deployment knows count as not given."""
    return value if isinstance(value, int) and not isinstance(value, bool) and not is_token(value) else None


def groups_of(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The instance groups that are objects."""
    return [group for group in items_of(request.get("InstanceGroups")) if isinstance(group, Mapping)]
