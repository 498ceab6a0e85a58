"""A request against the service's own model: kinds, names, required members, patterns, lengths, values. Pure.

The model is the trimmed copy that ships with the handler, so that no SDK is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from hyperpod_constructs.errors import Problem
from hyperpod_constructs.handlers.cluster.shapes import shapes
from hyperpod_constructs.instance_types import nearest
from hyperpod_constructs.rules.rule import shown
from hyperpod_constructs.tokens import is_token

RULE = "service-model"
_SHOWN_CHOICES = 8

Found = Iterator[tuple[str, str]]


def request_problems(request: Any, shape: str = "CreateClusterRequest") -> list[Problem]:
    """Everything that the model does not allow.

    Args:
        request: as parsed from JSON; values that only a deployment knows (tokens) pass.
        shape: the model's name for it.
    """
    return [Problem(path=path, message=message, rule=RULE) for path, message in _check(shape, request, "")]


def _check(name: str, value: Any, path: str) -> Found:
    if is_token(value):
        return
    shape = shapes()[name]
    kind = shape["type"]
    checks = {"structure": _structure, "list": _list, "map": _map, "string": _text, "boolean": _boolean}
    if kind in ("integer", "long", "float", "double"):
        yield from _number(shape, value, path)
    elif kind in checks:
        yield from checks[kind](shape, value, path)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _structure(shape: Mapping[str, Any], value: Any, path: str) -> Found:
    if not isinstance(value, Mapping):
        yield path, _wrong_kind(value, "an object")
        return
    members = shape["members"]
    for key in value:
        if key not in members:
            near = next(iter(get_close_matches(str(key), members, n=1, cutoff=0.6)), "")
            advice = f"did you mean {shown(near)}?" if near else f"allowed: {', '.join(members)}"
            yield _join(path, str(key)), f"the service has no such field; {advice}"
    for key in shape.get("required", ()):
        if value.get(key) is None:
            yield _join(path, key), "missing; the service needs it"
    if shape.get("union") and len(value) != 1:
        yield path, f"got {', '.join(value) or 'nothing'}, allowed: exactly one of {', '.join(members)}"
    for key, item in value.items():
        if key in members and item is not None:
            yield from _check(members[key]["shape"], item, _join(path, key))


def _list(shape: Mapping[str, Any], value: Any, path: str) -> Found:
    if not isinstance(value, list | tuple):
        yield path, _wrong_kind(value, "a list")
        return
    yield from _size(shape, len(value), "entries", path)
    for index, item in enumerate(value):
        yield from _check(shape["member"]["shape"], item, f"{path}[{index}]")


def _map(shape: Mapping[str, Any], value: Any, path: str) -> Found:
    if not isinstance(value, Mapping):
        yield path, _wrong_kind(value, "an object")
        return
    for key, item in value.items():
        yield from _check(shape["value"]["shape"], item, _join(path, str(key)))


def _text(shape: Mapping[str, Any], value: Any, path: str) -> Found:
    if not isinstance(value, str):
        yield path, _wrong_kind(value, "text")
        return
    choices = shape.get("enum")
    if choices:
        if value not in choices:
            yield path, f"got {shown(value)}, allowed: {_choices(choices, value)}"
        return
    sizes = list(_size(shape, len(value), "characters", path))
    yield from sizes
    pattern = shape.get("pattern")
    if pattern and not sizes and not _matches(pattern, value):
        yield path, f"got {shown(value)}, allowed: what matches {pattern}"


def _boolean(_shape: Mapping[str, Any], value: Any, path: str) -> Found:
    if not isinstance(value, bool):
        yield path, _wrong_kind(value, "true or false")


def _number(shape: Mapping[str, Any], value: Any, path: str) -> Found:
    whole = shape["type"] in ("integer", "long")
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        yield path, _wrong_kind(value, "a whole number" if whole else "a number")
        return
    least, most = shape.get("min"), shape.get("max")
    if (least is not None and value < least) or (most is not None and value > most):
        yield path, f"got {value}, allowed: {_between(least, most)}"


def _size(shape: Mapping[str, Any], length: int, unit: str, path: str) -> Found:
    least, most = shape.get("min"), shape.get("max")
    if (least is not None and length < least) or (most is not None and length > most):
        yield path, f"got {length} {unit}, allowed: {_between(least, most)}"


def _between(least: Any, most: Any) -> str:
    if least is None:
        return f"at most {most}"
    return f"{least} to {most}" if most is not None else f"at least {least}"


def _choices(choices: list[str], value: str) -> str:
    if len(choices) <= _SHOWN_CHOICES:
        return ", ".join(choices)
    near = nearest(value) if value.startswith("ml.") else next(iter(get_close_matches(value, choices, n=1)), "")
    return f"one of {len(choices)} values of the service" + (f"; did you mean {shown(near)}?" if near else "")


def _matches(pattern: str, value: str) -> bool:
    """The model's patterns are Java's; its letters, digits and separators of any script are taken as they come."""
    if r"\p{" in pattern:
        return all(char.isalnum() or char.isspace() or char in "_.:/=+-@" for char in value)
    return re.fullmatch(pattern, value, re.ASCII) is not None


def _wrong_kind(value: Any, wanted: str) -> str:
    kinds = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    got = shown(value) if value is None else f"{shown(value)} ({kinds.get(type(value), type(value).__name__)})"
    return f"got {got}, allowed: {wanted}"
