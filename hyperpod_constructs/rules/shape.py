"""Whether every value is of the kind its field holds, before any rule looks at it.

The fields' own annotations are the table. What is of the wrong kind is reported and replaced by the field's default,
so that the rules see a sound specification and every other problem is still found in the same run.
"""

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from datetime import date
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from hyperpod_constructs.errors import Problem
from hyperpod_constructs.rules.rule import shown
from hyperpod_constructs.specs import ClusterSpec
from hyperpod_constructs.tokens import is_token

RULE = "kind-of-value"
TOKEN_RULE = "known-at-synth-time"  # noqa: S105

# Text fields that are passed on and never looked at when they are tokens: an image id often comes from a parameter.
MAY_BE_TOKENS = frozenset({"image_id", "training_plan_arn"})

# What a person who gives another kind of value most probably wants to know.
_ADVICE = {
    "controller": "a cluster has exactly one controller group, as continuous provisioning knows one controller",
    "login": "a cluster has at most one login group; for more login nodes raise its instance_count",
    "compute": "controller and login groups have arguments of their own",
    "tags": "tags are a mapping of text to text, and numbers go in quotes",
}


def repaired(spec: ClusterSpec) -> tuple[ClusterSpec, list[Problem]]:
    """The specification with every value of the wrong kind replaced, and what was wrong."""
    problems: list[Problem] = []
    if not isinstance(spec, ClusterSpec):
        problems.append(_wrong_kind(spec, ClusterSpec, ""))
        return placeholder(ClusterSpec), problems
    return _record(spec, "", problems), problems


def repaired_record(value: Any, path: str, problems: list[Problem]) -> Any:
    """A dataclass of values with every one of the wrong kind replaced; what was wrong is added to ``problems``."""
    return _record(value, path, problems)


_YAML_BOOLEANS = frozenset({"true", "false", "yes", "no", "on", "off"})

# The kinds of fields are few and are looked at for every value of every group; the typing module is slow at it.
_origin: Callable[[Any], Any] = cache(get_origin)
_arguments: Callable[[Any], tuple[Any, ...]] = cache(get_args)

_HINTS: dict[type, dict[str, Any]] = {}


def hints_of(cls: type) -> dict[str, Any]:
    """The resolved annotations of a class's fields; looked up once, as resolving them is slow."""
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls]


def _record(value: Any, path: str, problems: list[Problem]) -> Any:
    changes = {}
    for item in fields(value):
        where = f"{path}.{item.name}" if path else item.name
        before = getattr(value, item.name)
        after = _value(before, hints_of(type(value))[item.name], where, item, problems)
        if after is not before:
            changes[item.name] = after
    return replace(value, **changes) if changes else value


def _value(value: Any, hint: Any, path: str, item: "Field[Any]", problems: list[Problem]) -> Any:
    if hint is Any:
        return value
    if _tells_tokens(hint) and not _is_record(value) and is_token(value):
        if item.name in MAY_BE_TOKENS and isinstance(value, str):
            return value
        problems.append(_unresolved(path))
        return _default(item, hint)
    found = _checked(value, hint, path, problems)
    if found is MISSING:
        problems.append(_wrong_kind(value, hint, path))
        return _default(item, hint)
    return found


def _checked(value: Any, hint: Any, path: str, problems: list[Problem]) -> Any:
    """The value, repaired inside where it must be; ``MISSING`` if it is of another kind."""
    origin = _origin(hint)
    if origin in (Union, types.UnionType):
        found = (_checked(value, choice, path, problems) for choice in _arguments(hint))
        return next((value for value in found if value is not MISSING), MISSING)
    if hint is Any:
        return value
    if origin in (Sequence, tuple):
        return _items(value, _arguments(hint)[0], path, problems)
    if origin is Mapping:
        return MISSING  # made a tuple of pairs when the spec was made
    if is_dataclass(hint):
        return _record(value, path, problems) if isinstance(value, hint) else MISSING  # type: ignore[arg-type]
    if isinstance(value, bool) and hint is not bool:
        return MISSING
    return value if isinstance(value, hint) else MISSING


def _items(value: Any, hint: Any, path: str, problems: list[Problem]) -> Any:
    if not isinstance(value, tuple):
        return MISSING
    if _origin(hint) is tuple:
        return _pairs(value, path, problems)
    kept = []
    for index, element in enumerate(value):
        found = _checked(element, hint, f"{path}[{index}]", problems)
        if found is MISSING:
            problems.append(_wrong_kind(element, hint, f"{path}[{index}]"))
            # Something stands in its place, so that what follows keeps its index; a member would count as a second one.
            kept += [] if _is_enum(hint) else [placeholder(hint)]
        else:
            kept.append(found)
    return value if _same(kept, value) else tuple(kept)


def _pairs(value: tuple[Any, ...], path: str, problems: list[Problem]) -> Any:
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return MISSING
    kept = []
    for pair in value:
        where = f"{path}[{shown(pair[0])}]"
        if wrong := [part for part in pair if not isinstance(part, str)]:
            problems.append(_wrong_kind(wrong[0], str, where, advice=_ADVICE["tags"]))
        elif any(is_token(part) for part in pair):
            problems.append(_unresolved(where))
        else:
            kept.append(pair)
    return value if _same(kept, value) else tuple(kept)


def _same(kept: Sequence[Any], value: Sequence[Any]) -> bool:
    return len(kept) == len(value) and all(new is old for new, old in zip(kept, value, strict=True))


@cache
def _tells_tokens(hint: Any) -> bool:
    """Whether a token in the value is told for the value as a whole: not of tags, nor of references."""
    return not any(choice is Any or _origin(choice) is tuple for choice in _arguments(hint))


def _is_record(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _default(item: "Field[Any]", hint: Any) -> Any:
    if item.default is not MISSING:
        return item.default
    if item.default_factory is not MISSING:
        return item.default_factory()
    return placeholder(hint)


def _is_enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Enum)


def placeholder(hint: Any) -> Any:
    """A sound value for a required field; its own path is reported, so nothing more is said about it."""
    if is_dataclass(hint) and isinstance(hint, type):
        required = [item for item in fields(hint) if item.default is MISSING and item.default_factory is MISSING]
        return hint(**{item.name: placeholder(hints_of(hint)[item.name]) for item in required})
    if _is_enum(hint):
        return next(iter(hint))
    return {str: "", int: 1, bool: False}.get(hint)


def _unresolved(path: str) -> Problem:
    message = (
        "got a value that is known at deploy time only (a CDK token), allowed: a value known at synth time; "
        "write it out, or read it from the context"
    )
    return Problem(path=path, message=message, rule=TOKEN_RULE)


def _wrong_kind(value: Any, hint: Any, path: str, advice: str = "") -> Problem:
    whole_field = path if path in _ADVICE else path.partition("[")[0] if path.endswith("]") else ""
    advice = advice or _member_meant(value, hint) or _quotes_meant(value, hint) or _ADVICE.get(whole_field, "")
    got = shown(value) if value is None else f"{shown(value)} ({type(value).__name__})"
    message = f"got {got}, allowed: {_words(hint)}{advice and '; ' + advice}"
    return Problem(path=path, message=message, rule=RULE)


def _member_meant(value: Any, hint: Any) -> str:
    """The advice for text that is an enum's value or member name."""
    for choice in (hint, *_arguments(hint)):
        if isinstance(value, str) and isinstance(choice, type) and issubclass(choice, Enum):
            for member in choice:
                if value.lower() in (str(member.value).lower(), member.name.lower()):
                    return f"use {choice.__name__}.{member.name}"
    return ""


def _quotes_meant(value: Any, hint: Any) -> str:
    """The advice where quotes make the difference, as they do in a YAML file: 2.1 is a number, "2" is text."""
    kinds = (hint, *_arguments(hint))
    if isinstance(value, str):
        if int in kinds and value.strip().lstrip("+-").isdecimal():
            return "write the number without quotes"
        return "write it without quotes" if bool in kinds and value.lower() in _YAML_BOOLEANS else ""
    return "write it in quotes" if str in kinds and isinstance(value, (bool, int, float, date)) else ""


def _words(hint: Any) -> str:
    origin = _origin(hint)
    if origin in (Union, types.UnionType):
        choices = dict.fromkeys(_words(choice) for choice in _arguments(hint) if choice is not type(None))
        return " or ".join(choices)
    if origin is Mapping or (origin is tuple and _origin(_arguments(hint)[0]) is tuple):
        return "a mapping of text to text"
    if origin in (Sequence, tuple):
        return f"a list of {_words(_arguments(hint)[0])}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"{hint.__name__}.{member.name}" for member in hint)
    plain = {str: "text", int: "a whole number", bool: "True or False", Any: "anything"}
    return plain.get(hint) or f"{'an' if hint.__name__[0] in 'AEIOU' else 'a'} {hint.__name__}"
