"""docs/cluster.schema.json: a JSON Schema of the cluster file, so that editors complete and explain its keys."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any, get_args, get_origin, get_type_hints

from hyperpod_constructs import limits
from hyperpod_constructs.config import FILE_SYSTEM_TYPES
from hyperpod_constructs.config_options import ClusterConfig
from hyperpod_constructs.specs import ClusterSpec
from scripts.docs.source import arguments

Schema = dict[str, Any]

_MODULES = {f"hyperpod_constructs.{name}": f"{name}.py" for name in ("specs", "options", "lifecycle_options")}
_NAMES: Mapping[tuple[str, str], limits.Name] = {
    ("ClusterSpec", "cluster_name"): limits.CLUSTER_NAME,
    ("Group", "name"): limits.GROUP_NAME,
    ("Group", "instance_type"): limits.INSTANCE_TYPE,
    ("Group", "partition"): limits.PARTITION,
    ("Group", "image_release_version"): limits.IMAGE_RELEASE_VERSION,
    ("Group", "training_plan_arn"): limits.TRAINING_PLAN_ARN,
    ("Group", "availability_zone"): limits.AVAILABILITY_ZONE,
    ("PosixUser", "name"): limits.USER_NAME,
    ("LustreConfig", "mount_path"): limits.MOUNT_PATH,
    ("OpenZfsConfig", "mount_path"): limits.MOUNT_PATH,
}
_RANGES: Mapping[tuple[str, str], tuple[int, int]] = {
    ("Group", "instance_count"): (0, limits.INSTANCE_COUNT_MAXIMUM),
    ("Group", "min_instance_count"): (0, limits.INSTANCE_COUNT_MAXIMUM),
    ("Group", "threads_per_core"): (1, 2),
    ("EbsVolume", "size_gib"): limits.EBS_VOLUME_GIB,
    ("PosixUser", "uid"): limits.USER_IDS,
    ("PosixUser", "gid"): limits.USER_IDS,
}
# Fields whose values are objects of the CDK in Python, and text in a file.
_OPAQUE: Mapping[str, Schema] = {
    "execution_role": {"type": "string", "pattern": f"^{limits.ROLE_ARN.pattern}$"},
    "volume_kms_key": {"type": "string"},
    "subnets": {"type": "array", "items": {"type": "string"}},
    "security_groups": {"type": "array", "items": {"type": "string"}},
}
_MOUNT: Schema = {
    "anyOf": [
        {"type": "string", "description": "The name of one of file_systems."},
        {
            "type": "object",
            "properties": {"name": {"type": "string"}, "path": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
        },
    ]
}
_ACCOUNTING: Schema = {
    "anyOf": [
        {"enum": ["on_controller", "none"]},
        {
            "type": "object",
            "properties": {
                "endpoint": {"type": "string", "pattern": f"^{limits.DATABASE_ENDPOINT.pattern}$"},
                "secret": {"type": "string", "pattern": f"^{limits.SECRET_ARN.pattern}$"},
                "port": {"type": "integer", "minimum": 1, "maximum": 65535},
                "database_name": {"type": "string", "pattern": f"^{limits.DATABASE_NAME.pattern}$"},
            },
            "required": ["endpoint", "secret"],
            "additionalProperties": False,
        },
    ]
}
# What the rules require although the arguments have a default, so that everything missing is told at once.
_REQUIRED = {"ComputeGroup": ["name", "instance_count"]}


def page() -> str:
    """The schema's text."""
    return json.dumps(cluster_schema(), indent=2) + "\n"


def cluster_schema() -> Schema:
    """The schema of a cluster file."""
    definitions: dict[str, Schema] = {}
    spec = _properties(ClusterSpec, "specs.py", definitions)
    around = _properties(ClusterConfig, "config_options.py", definitions)
    around.pop("spec")
    systems = [_file_system(name, cls, definitions) for name, cls in FILE_SYSTEM_TYPES.items()]
    around["file_systems"] |= {"type": "array", "items": {"anyOf": systems}}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "HyperPod Slurm cluster",
        "type": "object",
        "properties": {**spec, **around},
        "required": ["cluster_name", "controller"],
        "additionalProperties": False,
        "definitions": dict(sorted(definitions.items())),
    }


def _properties(cls: Any, module: str, definitions: dict[str, Schema]) -> dict[str, Schema]:
    described = {item.name: item.text for item in _arguments(module, cls.__name__)}
    hints = get_type_hints(cls)
    found = {}
    for item in fields(cls):
        schema = _field(cls, item.name, hints[item.name], module, definitions)
        if described.get(item.name):
            schema = _described(schema, described[item.name])
        found[item.name] = schema
    return found


def _arguments(module: str, name: str) -> list[Any]:
    own = arguments(module, name)
    return [*arguments(module, "_Group"), *own] if name.endswith("Group") else own


def _described(schema: Schema, text: str) -> Schema:
    # Draft 7 ignores what stands beside a reference.
    return {"allOf": [schema], "description": text} if "$ref" in schema else {**schema, "description": text}


def _field(cls: Any, name: str, hint: Any, module: str, definitions: dict[str, Schema]) -> Schema:
    if name == "accounting":
        return _ACCOUNTING
    if name == "file_systems" and cls is not ClusterConfig:
        return {"type": "array", "items": _MOUNT}
    if name in _OPAQUE:
        return _OPAQUE[name]
    if name == "slurm_settings":
        return {"type": "object", "additionalProperties": {"type": ["string", "integer"]}}
    owner = "Group" if cls.__name__.endswith("Group") else cls.__name__
    return _schema(hint, module, definitions) | _limits(owner, name)


def _limits(owner: str, name: str) -> Schema:
    if allowed := _NAMES.get((owner, name)):
        return {"pattern": f"^({allowed.pattern})$", "maxLength": allowed.maximum}
    if bounds := _RANGES.get((owner, name)):
        return {"minimum": bounds[0], "maximum": bounds[1]}
    return {}


def _schema(hint: Any, module: str, definitions: dict[str, Schema]) -> Schema:
    if get_origin(hint) is Sequence:
        return {"type": "array", "items": _schema(get_args(hint)[0], module, definitions)}
    if any(get_origin(choice) is Mapping for choice in get_args(hint)):
        return {"type": "object", "additionalProperties": {"type": "string"}}
    if get_args(hint):
        return _schema(next(one for one in get_args(hint) if one is not type(None)), module, definitions)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [str(member.value) for member in hint]}
    if is_dataclass(hint) and isinstance(hint, type):
        return _reference(hint, module, definitions)
    return {"type": {str: "string", int: "integer", bool: "boolean"}[hint]}


def _reference(cls: type, module: str, definitions: dict[str, Schema]) -> Schema:
    if cls.__name__ not in definitions:
        definitions[cls.__name__] = {}  # in the making: a record may hold another of its kind
        definitions[cls.__name__] = _object(cls, _MODULES.get(cls.__module__, module), definitions)
    return {"$ref": f"#/definitions/{cls.__name__}"}


def _object(cls: Any, module: str, definitions: dict[str, Schema]) -> Schema:
    without = [item.name for item in fields(cls) if item.default is MISSING and item.default_factory is MISSING]
    required = without + _REQUIRED.get(cls.__name__, [])
    schema: Schema = {"type": "object", "properties": _properties(cls, module, definitions)}
    return {**schema, **({"required": required} if required else {}), "additionalProperties": False}


def _file_system(name: str, cls: Any, definitions: dict[str, Schema]) -> Schema:
    reference = _reference(cls, "config_options.py", definitions)
    kind: Schema = {"const": name, "description": "Lustre by default."}
    definition = definitions[cls.__name__]
    definition["properties"] = {"type": kind, **definition["properties"]}
    if name != "lustre":
        definition["required"] = ["type"]
    return reference
