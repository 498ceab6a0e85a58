"""Types restored by the service's own model.

CloudFormation hands every scalar of a custom resource over as a string, even deep inside lists (field report C-01).
The properties travel as JSON text, which keeps types; whoever writes the resource by hand, as objects, gets his
numbers and booleans back here.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

MODEL_FOLDER = Path(__file__).parent / "service_model"
MODEL = MODEL_FOLDER / "sagemaker" / "2017-07-24" / "service-2.json"
BOOLEANS = {"true": True, "false": False}


@cache
def shapes() -> Mapping[str, Any]:
    """The shapes of the trimmed service model that ships with the handler."""
    model: Mapping[str, Any] = json.loads(MODEL.read_text(encoding="utf-8"))
    shapes_by_name: Mapping[str, Any] = model["shapes"]
    return shapes_by_name


def restored(value: Any, shape_name: str, path: str, problems: list[str]) -> Any:
    """The value with the types that the model gives it.

    Args:
        value: as it came out of the event.
        shape_name: the model's name of its shape, such as ``ClusterInstanceGroupSpecification``.
        path: where it stands, for the problems.
        problems: gets a sentence for each value that is not of its type.

    Returns:
        A new value; fields that the model does not know stay as they are and are refused by the SDK, with their names.
    """
    shape = shapes()[shape_name]
    match shape["type"]:
        case "structure":
            return _structure(value, shape, path, problems)
        case "list":
            return _list(value, shape, path, problems)
        case "map":
            return _of_type(value, Mapping, "an object", path, problems)
        case "integer" | "long":
            return _integer(value, path, problems)
        case "boolean":
            return _boolean(value, path, problems)
        case "timestamp":
            return value
        case _:
            return _of_type(value, str, "a text", path, problems)


def _structure(value: Any, shape: Mapping[str, Any], path: str, problems: list[str]) -> Any:
    if not isinstance(value, Mapping):
        # CloudFormation drops an empty object to an empty text on some paths; the documented form is {}.
        return {} if value == "" else _of_type(value, Mapping, "an object", path, problems)
    members = shape["members"]
    return {
        name: restored(item, members[name]["shape"], f"{path}.{name}", problems) if name in members else item
        for name, item in value.items()
    }


def _list(value: Any, shape: Mapping[str, Any], path: str, problems: list[str]) -> Any:
    if not isinstance(value, list | tuple):
        return _of_type(value, list, "a list", path, problems)
    member = shape["member"]["shape"]
    return [restored(item, member, f"{path}[{index}]", problems) for index, item in enumerate(value)]


def _integer(value: Any, path: str, problems: list[str]) -> Any:
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return _of_type(value, int, "a whole number", path, problems)
    if isinstance(value, bool):
        problems.append(f"{path}: got {value!r}; needs a whole number")
        return value
    return _of_type(value, int, "a whole number", path, problems)


def _boolean(value: Any, path: str, problems: list[str]) -> Any:
    if isinstance(value, str) and value.lower() in BOOLEANS:
        return BOOLEANS[value.lower()]
    return _of_type(value, bool, "true or false", path, problems)


def _of_type(value: Any, kind: type, words: str, path: str, problems: list[str]) -> Any:
    if not isinstance(value, kind):
        problems.append(f"{path}: got {value!r}; needs {words}")
    return value
