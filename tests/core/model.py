"""The service's own model of the API, and what botocore leaves unchecked of it: patterns, lengths, enums, ranges."""

import functools
from collections.abc import Iterator
from typing import Any

import botocore.session
import regex  # type: ignore[import-untyped]  # the model's patterns use Unicode classes, which re has not
from botocore.model import ListShape, ServiceModel, Shape, StringShape, StructureShape
from botocore.validate import ParamValidator


@functools.cache
def _sagemaker() -> ServiceModel:
    model: ServiceModel = botocore.session.Session().get_service_model("sagemaker")
    return model


@functools.cache
def input_shape(operation: str) -> StructureShape:
    """The input of an operation of SageMaker in the pinned botocore."""
    shape = _sagemaker().operation_model(operation).input_shape
    assert isinstance(shape, StructureShape)
    return shape


@functools.cache
def shape_named(name: str) -> Shape:
    """A shape of the SageMaker model by its name."""
    return _sagemaker().shape_for(name)


def leaves(shape: Shape, path: str = "") -> Iterator[str]:
    """The path of every field that holds a value; a structure without members is one, as Spot is."""
    if isinstance(shape, StructureShape) and shape.members:
        for name, member in shape.members.items():
            yield from leaves(member, f"{path}.{name}" if path else name)
    elif isinstance(shape, ListShape):
        yield from leaves(shape.member, f"{path}[]")
    else:
        yield path


def leaves_of(value: Any, path: str = "") -> Iterator[str]:
    """The path of every value in a request, as ``leaves`` writes it."""
    if isinstance(value, dict) and value:
        for name, member in value.items():
            yield from leaves_of(member, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for member in value:
            yield from leaves_of(member, f"{path}[]")
    else:
        yield path


def problems_of(request: dict[str, Any], operation: str = "CreateCluster") -> list[str]:
    """Everything in a request that the model forbids, whether botocore looks at it or not."""
    shape = input_shape(operation)
    report = ParamValidator().validate(request, shape)
    found = [report.generate_report()] if report.has_errors() else []
    return found + list(_unchecked(request, shape, ""))


def _unchecked(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if isinstance(shape, StructureShape):
        for name, member in value.items():
            yield from _unchecked(member, shape.members[name], f"{path}.{name}")
    elif isinstance(shape, ListShape):
        yield from _size(len(value), shape, path)
        for member in value:
            yield from _unchecked(member, shape.member, f"{path}[]")
    elif isinstance(shape, StringShape):
        yield from _size(len(value), shape, path)
        yield from _text(value, shape, path)
    elif shape.type_name in ("integer", "long"):
        yield from _size(value, shape, path)


def _size(size: int, shape: Shape, path: str) -> Iterator[str]:
    low, high = shape.metadata.get("min", size), shape.metadata.get("max", size)
    if not low <= size <= high:
        yield f"{path}: {size} is not within {low} to {high}"


def _text(value: str, shape: StringShape, path: str) -> Iterator[str]:
    pattern = shape.metadata.get("pattern")
    if pattern and not accepts(pattern, value):
        yield f"{path}: {value!r} does not match {pattern}"
    # A type that is not in the list may be newer than this model, so a specification with it is only warned of.
    if shape.enum and value not in shape.enum and shape.name != "ClusterInstanceType":
        yield f"{path}: {value!r} is none of {shape.enum}"


def accepts(pattern: str, value: str) -> bool:
    """Whether the service's pattern matches the whole value: Java's rules, where only \\p speaks of every script."""
    return regex.fullmatch(pattern, value, flags=0 if r"\p" in pattern else regex.ASCII) is not None
