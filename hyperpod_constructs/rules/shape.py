"""Whether every value is of the kind its field holds, before any rule looks at it.

The fields' own annotations are the table. What is of the wrong kind is reported and replaced by the field's default,
so that the rules see a sound specification and every other problem is still found in the same run.
"""

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from hyperpod_constructs.errors import Problem
from hyperpod_constructs.rules.rule import shown
from hyperpod_constructs.specs import ClusterSpec
from hyperpod_constructs.tokens import is_token

RULE = "kind-of-value"
TOKEN_RULE = "known-at-synth-time"  # noqa: S105

# Text fields that are passed on and never looked at when they are tokens: an image id often comes from a parameter.
MAY_BE_TOKENS = frozenset({"image_id", "training_plan_arn"})


def repaired(spec: ClusterSpec) -> tuple[ClusterSpec, list[Problem]]:
    """The specification with every value of the wrong kind replaced, and what was wrong."""
    problems: list[Problem] = []
    return _record(spec, "", problems), problems


_HINTS: dict[type, dict[str, Any]] = {}


def _hints(cls: type) -> dict[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls]


def _record(value: Any, path: str, problems: list[Problem]) -> Any:
    changes = {}
    for item in fields(value):
        where = f"{path}.{item.name}" if path else item.name
        before = getattr(value, item.name)
        after = _value(before, _hints(type(value))[item.name], where, item, problems)
        if after is not before:
            changes[item.name] = after
    return replace(value, **changes) if changes else value


def _value(value: Any, hint: Any, path: str, item: "Field[Any]", problems: list[Problem]) -> Any:
    if hint is Any:
        return value
    if is_token(value) and not _is_record(value):
        if item.name in MAY_BE_TOKENS and isinstance(value, str):
            return value
        message = "got an unresolved token, allowed: a value known at synth time; write it out, or read it from context"
        problems.append(Problem(path=path, message=message, rule=TOKEN_RULE))
        return _default(item, hint)
    found = _checked(value, hint, path, item, problems)
    if found is MISSING:
        message = f"got {shown(value)} ({type(value).__name__}), allowed: {_words(hint)}"
        problems.append(Problem(path=path, message=message, rule=RULE))
        return _default(item, hint)
    return found


def _checked(value: Any, hint: Any, path: str, item: "Field[Any]", problems: list[Problem]) -> Any:
    """The value, repaired inside where it must be; ``MISSING`` if it is of another kind."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        for choice in get_args(hint):
            if (found := _checked(value, choice, path, item, problems)) is not MISSING:
                return found
        return MISSING
    if hint is Any:
        return value
    if origin in (Sequence, tuple):
        return _items(value, get_args(hint)[0], path, item, problems)
    if origin is Mapping:
        return MISSING  # made a tuple of pairs when the spec was made
    if is_dataclass(hint):
        return _record(value, path, problems) if isinstance(value, hint) else MISSING  # type: ignore[arg-type]
    if isinstance(value, bool) and hint is not bool:
        return MISSING
    return value if isinstance(value, hint) else MISSING


def _items(value: Any, hint: Any, path: str, item: "Field[Any]", problems: list[Problem]) -> Any:
    if not isinstance(value, tuple):
        return MISSING
    if get_origin(hint) is tuple:
        return value if all(_is_pair(pair) for pair in value) else MISSING
    kept = []
    for index, element in enumerate(value):
        found = _checked(element, hint, f"{path}[{index}]", item, problems)
        if found is MISSING:
            message = f"got {shown(element)} ({type(element).__name__}), allowed: {_words(hint)}"
            problems.append(Problem(path=f"{path}[{index}]", message=message, rule=RULE))
        else:
            kept.append(found)
    return (
        value
        if all(new is old for new, old in zip(kept, value, strict=False)) and len(kept) == len(value)
        else tuple(kept)
    )


def _is_record(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(isinstance(part, str) and not is_token(part) for part in value)
    )


def _default(item: "Field[Any]", hint: Any) -> Any:
    if item.default is not MISSING:
        return item.default
    if item.default_factory is not MISSING:
        return item.default_factory()
    return _placeholder(hint)


def _placeholder(hint: Any) -> Any:
    """A sound value for a required field; its own path is reported, so nothing more is said about it."""
    if is_dataclass(hint) and isinstance(hint, type):
        required = [item for item in fields(hint) if item.default is MISSING and item.default_factory is MISSING]
        return hint(**{item.name: _placeholder(_hints(hint)[item.name]) for item in required})
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint))
    return {str: "", int: 1, bool: False}.get(hint)


def _words(hint: Any) -> str:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_words(choice) for choice in get_args(hint)))
    if origin in (Sequence, tuple):
        return (
            f"a list of {_words(get_args(hint)[0])}" if get_origin(get_args(hint)[0]) is not tuple else "pairs of text"
        )
    if origin is Mapping:
        return "a mapping of text to text"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"{hint.__name__}.{member.name}" for member in hint)
    plain = {str: "text", int: "a whole number", bool: "True or False", type(None): "None", Any: "anything"}
    return plain.get(hint) or f"{'an' if hint.__name__[0] in 'AEIOU' else 'a'} {hint.__name__}"
