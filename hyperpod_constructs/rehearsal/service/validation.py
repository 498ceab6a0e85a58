"""Requests against botocore's model: what boto3 checks itself, and what only the service checks.

boto3's `ParamValidator` looks at types, unknown keys, required members, unions and minimums. Patterns, maximums and
enums are left to the service (field reports, section V), so they are checked here.

The patterns are written for Java: `\\p{L}`, `\\p{N}` and `\\p{Z}` (letters, numbers, separators of any script) are
unknown to Python's `re`. Within ASCII these three are exactly `a-zA-Z`, `0-9` and the space; every other character of
a value is therefore replaced by an ASCII one of its kind before it is matched. `\\d`, `\\s` and `\\w` mean ASCII in
Java.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any

from botocore.validate import ParamValidator

from .errors import validation_error
from .model import operation_model, pattern_of, range_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CLASSES = {r"\p{L}": "a-zA-Z", r"\p{N}": "0-9", r"\p{Z}": " "}
_STAND_INS = {"L": "a", "N": "0", "Z": " "}
_NO_STAND_IN = "\0"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    for java, python in _CLASSES.items():
        pattern = pattern.replace(java, python)
    return re.compile(pattern, re.ASCII)


def _stand_in(character: str) -> str:
    if character.isascii():
        return character
    return _STAND_INS.get(unicodedata.category(character)[0], _NO_STAND_IN)


def matches(pattern: str, value: str) -> bool:
    """Whether the whole value matches a pattern of the model."""
    if r"\p{" in pattern:
        value = "".join(map(_stand_in, value))
    return _compiled(pattern).fullmatch(value) is not None


def check_request(service: str, operation: str, parameters: Mapping[str, Any]) -> None:
    """Refuse a request that the model does not allow.

    Raises:
        ServiceError: `ValidationException` with every problem found.
    """
    found = request_problems(service, operation, parameters)
    if found:
        noun = "error" if len(found) == 1 else "errors"
        raise validation_error(f"{len(found)} validation {noun} detected: {'; '.join(found)}")


def request_problems(service: str, operation: str, parameters: Mapping[str, Any]) -> list[str]:
    """Everything in a request that the model does not allow, one sentence each."""
    shape = operation_model(service, operation).input_shape
    return shape_problems(shape, parameters) if shape else []


def shape_problems(shape: Any, value: Mapping[str, Any]) -> list[str]:
    """Everything in a value that its shape does not allow, one sentence each."""
    report = ParamValidator().validate(value, shape)
    if report.has_errors():
        return str(report.generate_report()).splitlines()
    return list(_constraints(shape, value, ""))


def _constraints(shape: Any, value: Any, path: str) -> Iterator[str]:
    if shape.type_name == "structure":
        for name, member in value.items():
            yield from _constraints(shape.members[name], member, _join(path, name[:1].lower() + name[1:]))
    elif shape.type_name == "list":
        yield from _size(shape, len(value), value, path)
        for number, item in enumerate(value, start=1):
            yield from _constraints(shape.member, item, f"{path}.{number}.member")
    elif shape.type_name == "map":
        yield from _size(shape, len(value), value, path)
        for key, item in value.items():
            yield from _constraints(shape.key, key, f"{path}.key")
            yield from _constraints(shape.value, item, _join(path, key))
    elif shape.type_name == "string":
        yield from _text(shape, value, path)
    elif shape.type_name in ("integer", "long", "float", "double"):
        yield from _number(shape, value, path)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _failed(value: Any, path: str, constraint: str) -> str:
    return f"Value '{value}' at '{path}' failed to satisfy constraint: Member must {constraint}"


def _size(shape: Any, length: int, value: Any, path: str) -> Iterator[str]:
    least, most = range_of(shape)
    if most is not None and length > most:
        yield _failed(value, path, f"have length less than or equal to {most}")
    if least is not None and length < least:
        yield _failed(value, path, f"have length greater than or equal to {least}")


def _text(shape: Any, value: str, path: str) -> Iterator[str]:
    if shape.enum and value not in shape.enum:
        yield _failed(value, path, f"satisfy enum value set: [{', '.join(sorted(shape.enum))}]")
        return
    too_long_or_short = list(_size(shape, len(value), value, path))
    yield from too_long_or_short
    pattern = pattern_of(shape)
    if pattern and not too_long_or_short and not matches(pattern, value):
        yield _failed(value, path, f"satisfy regular expression pattern: {pattern}")


def _number(shape: Any, value: float, path: str) -> Iterator[str]:
    least, most = range_of(shape)
    if most is not None and value > most:
        yield _failed(value, path, f"have value less than or equal to {most}")
    if least is not None and value < least:
        yield _failed(value, path, f"have value greater than or equal to {least}")
