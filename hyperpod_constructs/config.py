"""A cluster from a plain mapping, as a YAML or JSON file or the CDK's context gives it. Standard library only.

The keys are the arguments of ``SlurmCluster`` and of what it is made of. Reading files with their line numbers is the
command line tool's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Any, TypeVar, get_args, get_origin

from hyperpod_constructs.config_options import (
    ClusterConfig,
    FileSystemConfig,
    LustreConfig,
    OpenZfsConfig,
    Reference,
    ReferenceKind,
)
from hyperpod_constructs.config_rules import config_bindings, file_problems, repaired_parts
from hyperpod_constructs.errors import Problem, SpecError
from hyperpod_constructs.options import Accounting, Mount
from hyperpod_constructs.rules import Surroundings, check, is_inside, place
from hyperpod_constructs.rules.rule import shown
from hyperpod_constructs.rules.shape import RULE as KIND_RULE
from hyperpod_constructs.rules.shape import hints_of, placeholder
from hyperpod_constructs.specs import ClusterSpec

KEY_RULE = "unknown-key"
MISSING_RULE = "missing-key"

FILE_SYSTEM_TYPES: Mapping[str, type[FileSystemConfig]] = {"lustre": LustreConfig, "open_zfs": OpenZfsConfig}
_REFERENCES = {
    "execution_role": (ReferenceKind.EXECUTION_ROLE, "the ARN of a role"),
    "volume_kms_key": (ReferenceKind.VOLUME_KMS_KEY, "the ARN of a key"),
    "subnets": (ReferenceKind.SUBNET, "ids of subnets"),
    "security_groups": (ReferenceKind.SECURITY_GROUP, "ids of security groups"),
}
_ACCOUNTING = {"on_controller": Accounting.on_controller, "none": Accounting.none}
_DATABASE_KEYS = ("endpoint", "secret", "port", "database_name")

Record = TypeVar("Record")


def read_config(mapping: Any) -> ClusterConfig:
    """The cluster that a mapping describes.

    Args:
        mapping: of text, numbers, booleans, lists and mappings, as parsers of YAML and JSON make them.

    Returns:
        The specification and the parts around it. Warnings are had with :func:`check_config`.

    Raises:
        SpecError: with every problem of the whole mapping: unknown keys, wrong values, and what the rules find.
    """
    config, errors, _ = check_config(mapping)
    if errors:
        name = mapping.get("cluster_name", "") if isinstance(mapping, Mapping) else ""
        raise SpecError(errors, subject=f"cluster {shown(name)}")
    return config


def check_config(mapping: Any) -> tuple[ClusterConfig, list[Problem], list[Problem]]:
    """The cluster that a mapping describes, as far as it does, with everything that is wrong or probably wrong.

    Args:
        mapping: as for :func:`read_config`.

    Returns:
        The cluster, sound wherever the mapping is not; errors; warnings. Errors and warnings are in the input's order.
    """
    reader = _Reader()
    config, misshapen = repaired_parts(reader.config(mapping))
    own = [*reader.problems, *misshapen]
    own += [problem for problem in file_problems(config) if not is_inside(problem.path, own)]
    around = Surroundings(zone_was_chosen=config.network is not None and config.network.zone_was_chosen)
    errors, warnings = check(config.spec, config_bindings(config), around)
    found = own + [problem for problem in errors if not is_inside(problem.path, own)]
    probable = [problem for problem in warnings if not is_inside(problem.path, own)]
    return config, sorted(found, key=place), probable


@dataclass
class _Reader:
    """Reads one mapping and remembers what was wrong; what is wrong is left out, so that reading goes on."""

    problems: list[Problem] = field(default_factory=list)

    def config(self, mapping: Any) -> ClusterConfig:
        if not isinstance(mapping, Mapping):
            self._wrong("", mapping, "a mapping with the keys cluster_name, controller, compute, ...")
            mapping = {}
        own = {item.name for item in fields(ClusterConfig)} - {"spec"}
        known = [*(item.name for item in fields(ClusterSpec)), *own]
        self._unknown(mapping, known, "")
        given = {key: value for key, value in mapping.items() if key in known}
        around = self._around({key: given.pop(key) for key in list(given) if key in own})
        return ClusterConfig(spec=self._record(ClusterSpec, given, ""), **around)

    def _around(self, given: dict[str, Any]) -> dict[str, Any]:
        hints = hints_of(ClusterConfig)
        systems = given.pop("file_systems", None)
        read = {key: self._value(hints[key], value, key) for key, value in given.items()}
        if systems is not None:
            read["file_systems"] = self._each(systems, "file_systems", self._file_system)
        return {key: value for key, value in read.items() if value is not MISSING}

    def _file_system(self, value: Any, path: str) -> Any:
        if not isinstance(value, Mapping):
            return self._wrong(path, value, "a mapping with the keys type, mount_path, ...")
        kind = value.get("type", "lustre")
        cls = FILE_SYSTEM_TYPES.get(kind) if isinstance(kind, str) else None
        if cls is None:
            return self._wrong(f"{path}.type", kind, ", ".join(FILE_SYSTEM_TYPES))
        return self._record(cls, {key: item for key, item in value.items() if key != "type"}, path)

    def _record(self, cls: type[Record], mapping: Mapping[Any, Any], path: str) -> Record:
        """A dataclass from a mapping of its fields."""
        items = {item.name: item for item in fields(cls)}  # type: ignore[arg-type]
        self._unknown(mapping, [*items], path)
        hints, arguments = hints_of(cls), {}
        for name, item in items.items():
            where = f"{path}.{name}" if path else name
            required = item.default is MISSING and item.default_factory is MISSING
            value = self._field(name, hints[name], mapping[name], where) if name in mapping else MISSING
            if value is not MISSING:
                arguments[name] = value
            elif required:
                if name not in mapping:
                    self.problems.append(Problem(path=where, message=_missing(hints[name]), rule=MISSING_RULE))
                arguments[name] = placeholder(hints[name])
        return cls(**arguments)

    def _field(self, name: str, hint: Any, value: Any, path: str) -> Any:
        if name == "accounting":
            return self._accounting(value, path)
        if name == "file_systems":
            return None if value is None else self._each(value, path, self._mount)
        if name in _REFERENCES and _is_opaque(hint):
            return self._references(name, value, path)
        return self._value(hint, value, path)

    def _value(self, hint: Any, value: Any, path: str) -> Any:
        """The value for a field; ``MISSING`` for one that is left out after its problem was told."""
        choices = [hint] if get_origin(hint) is not None and _is_list(hint) else [*(get_args(hint) or (hint,))]
        if value is None and type(None) in choices:
            return None
        choice = next((one for one in choices if one is not type(None)), hint)
        if _is_list(choice):
            inner = get_args(choice)[0]
            return self._each(value, path, lambda item, where: self._value(inner, item, where), inner)
        if isinstance(choice, type) and issubclass(choice, Enum):
            return self._member(choice, value, path)
        if is_dataclass(choice) and isinstance(choice, type):
            if not isinstance(value, Mapping):
                return self._wrong(path, value, f"a mapping with the keys {_keys(choice)}")
            return self._record(choice, value, path)
        # Text, numbers and mappings of text: the rules on kinds of values look at them.
        return value

    def _each(self, value: Any, path: str, read: Callable[[Any, str], Any], hint: Any = None) -> Any:
        if not isinstance(value, (list, tuple)):
            return self._wrong(path, value, "a list")
        found = [read(item, f"{path}[{index}]") for index, item in enumerate(value)]
        if is_dataclass(hint):
            # Something stands in the place of what could not be read, so that what follows keeps its index.
            found = [placeholder(hint) if item is MISSING else item for item in found]
        return tuple(item for item in found if item is not MISSING)

    def _member(self, cls: type[Enum], value: Any, path: str) -> Any:
        for member in cls:
            if isinstance(value, str) and value.lower() in (str(member.value).lower(), member.name.lower()):
                return member
        return self._wrong(path, value, ", ".join(str(member.value) for member in cls))

    def _references(self, name: str, value: Any, path: str) -> Any:
        kind, words = _REFERENCES[name]
        if value is None:
            return MISSING
        if kind in (ReferenceKind.SUBNET, ReferenceKind.SECURITY_GROUP):
            return self._each(value, path, lambda item, where: self._reference(kind, item, words, where))
        return self._reference(kind, value, words, path)

    def _reference(self, kind: ReferenceKind, value: Any, words: str, path: str) -> Any:
        return Reference(kind=kind, value=value) if isinstance(value, str) else self._wrong(path, value, words)

    def _mount(self, value: Any, path: str) -> Any:
        """A group's file system: its name, or its name with a path of the group's own."""
        if isinstance(value, Mapping):
            self._unknown(value, ["name", "path"], path)
            name = value.get("name")
            where, words = f"{path}.name", "the name of one of file_systems"
            system = self._reference(ReferenceKind.FILE_SYSTEM, name, words, where)
            return system if system is MISSING or "path" not in value else Mount(file_system=system, path=value["path"])
        words = "the name of one of file_systems, or a mapping with the keys name, path"
        return self._reference(ReferenceKind.FILE_SYSTEM, value, words, path)

    def _accounting(self, value: Any, path: str) -> Any:
        if value is None:
            return None
        if isinstance(value, str) and value.lower() in _ACCOUNTING:
            return _ACCOUNTING[value.lower()]()
        if isinstance(value, Mapping):
            self._unknown(value, _DATABASE_KEYS, path)
            given = {key: value[key] for key in _DATABASE_KEYS if value.get(key) is not None}
            return Accounting.external(**({"endpoint": None, "secret": None} | given))
        return self._wrong(path, value, "on_controller, none, or a mapping with the keys endpoint, secret, ...")

    def _unknown(self, mapping: Mapping[Any, Any], known: Sequence[str], path: str) -> None:
        for key in mapping:
            if key in known:
                continue
            where = f"{path}.{key}" if path else str(key)
            near = next(iter(get_close_matches(str(key), known, n=1, cutoff=0.6)), "")
            advice = f"did you mean {shown(near)}?" if near else f"allowed: {', '.join(known)}"
            self.problems.append(Problem(path=where, message=f"unknown key; {advice}", rule=KEY_RULE))

    def _wrong(self, path: str, value: Any, allowed: str) -> Any:
        got = shown(value) if value is None else f"{shown(value)} ({_KINDS.get(type(value), type(value).__name__)})"
        self.problems.append(Problem(path=path, message=f"got {got}, allowed: {allowed}", rule=KIND_RULE))
        return MISSING


_KINDS = {dict: "a mapping", list: "a list", str: "text", int: "a number", float: "a number", bool: "true or false"}


def _is_list(hint: Any) -> bool:
    return get_origin(hint) is Sequence


def _is_opaque(hint: Any) -> bool:
    return hint is Any or (_is_list(hint) and get_args(hint)[0] is Any)


def _keys(cls: type) -> str:
    """The first few: the whole list is in docs/props.md."""
    names = [item.name for item in fields(cls)]
    return ", ".join([*names[:4], "..."] if len(names) > 4 else names)


def _missing(hint: Any) -> str:
    if is_dataclass(hint) and isinstance(hint, type):
        return f"missing; give a mapping with the keys {_keys(hint)}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return f"missing, allowed: {', '.join(str(member.value) for member in hint)}"
    return "missing"
