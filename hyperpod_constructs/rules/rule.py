"""What a rule is, and the words that every message is made of."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from hyperpod_constructs.bindings import Bindings
from hyperpod_constructs.errors import Problem
from hyperpod_constructs.limits import Name
from hyperpod_constructs.specs import ClusterSpec

_SHOWN = 80

Finding = tuple[str, str]
"""Where, and what: the path as the user wrote it, and the message."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What the constructs know about the network at synth time; every part may be unknown.

    Attributes:
        availability_zone: of the cluster's subnet.
        subnet_address_count: usable addresses of the cluster's subnet.
        reserved_address_count: addresses of it that the file systems and others of ours take.
        file_system_zones: zone of each file system that lies in one zone only, by mount path.
        zone_was_chosen: whether the user named the zone, or brought the subnets, rather than take our default.
        group_zones: zone of each group that has subnets of its own, by group name.
    """

    availability_zone: str = ""
    subnet_address_count: int | None = None
    reserved_address_count: int = 0
    file_system_zones: tuple[tuple[str, str], ...] = ()
    zone_was_chosen: bool = False
    group_zones: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """What a rule looks at."""

    spec: ClusterSpec
    bindings: Bindings | None = None
    surroundings: Surroundings = field(default_factory=Surroundings)


class Level(Enum):
    """Errors are what the service or Slurm certainly refuses; warnings where a person probably errs."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        id: stable, in kebab case; warnings appear under ``hyperpod-constructs:<id>``.
        source: page or FACTS section.
        level: error or warning.
        check: yields a finding for each place that breaks the rule.
    """

    id: str
    source: str
    level: Level
    check: Callable[[Case], Iterable[Finding]]

    @property
    def text(self) -> str:
        """What the rule says, in one sentence."""
        return (self.check.__doc__ or "").strip()

    def problems(self, case: Case) -> Iterator[Problem]:
        """Every place of the case that breaks the rule."""
        return (Problem(path=path, message=message, rule=self.id) for path, message in self.check(case))


class RuleBook:
    """Rules of one subject, in the order in which their problems are told.

    Args:
        title: the subject, as docs/rules.md heads it.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.rules: list[Rule] = []

    def error(self, rule_id: str, source: str) -> Callable[[Callable[[Case], Iterable[Finding]]], Rule]:
        """Register a function as a rule whose findings are errors."""
        return self._register(rule_id, source, Level.ERROR)

    def warning(self, rule_id: str, source: str) -> Callable[[Callable[[Case], Iterable[Finding]]], Rule]:
        """Register a function as a rule whose findings are warnings."""
        return self._register(rule_id, source, Level.WARNING)

    def _register(
        self, rule_id: str, source: str, level: Level
    ) -> Callable[[Callable[[Case], Iterable[Finding]]], Rule]:
        def register(check: Callable[[Case], Iterable[Finding]]) -> Rule:
            rule = Rule(id=rule_id, source=source, level=level, check=check)
            self.rules.append(rule)
            return rule

        return register


def shown(value: object) -> str:
    """The value as a message shows it: text in quotes, on one line, long text cut with its length said."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, str):
        if len(value) > _SHOWN:
            return f"{_quoted(value[:_SHOWN])}... ({len(value)} characters)"
        return _quoted(value)
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a foreign object whose repr fails, or a number of more digits than Python will write
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _quoted(text: str) -> str:
    """Text in double quotes; in ASCII only if it has characters that no terminal or file could take."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False)


def bad_name(value: str, name: Name, *, instead: str = "", otherwise: str = "") -> str | None:
    """The message for a name that the service refuses, or ``None`` for one it takes.

    Args:
        value: the name.
        name: what is allowed.
        instead: a name that would be taken; offered if it would.
        otherwise: what to do if there is none to offer.
    """
    if name.accepts(value):
        return None
    length = f" ({len(value)} characters)" if name.maximum < len(value) <= _SHOWN else ""
    advice = f"; use {shown(instead)}" if instead and name.accepts(instead) else otherwise and f"; {otherwise}"
    return f"got {shown(value)}{length}, allowed: {name.words}{advice}"


def hyphenated(value: str) -> str:
    """The nearest name of letters, digits and inner hyphens, or an empty string."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in value)
    return kept.strip("-")[:63].strip("-")


def out_of_range(value: int, allowed: tuple[int, int], unit: str = "") -> str | None:
    """The message for a number outside its range, or ``None``."""
    low, high = allowed
    if low <= value <= high:
        return None
    return f"got {shown(value)}, allowed: {low} to {high}{unit and ' ' + unit}"


def repeated(values: Sequence[object]) -> list[tuple[int, int]]:
    """Index of each value that stood before, with the index where it stood first."""
    first: dict[object, int] = {}
    return [(index, first[value]) for index, value in enumerate(values) if first.setdefault(value, index) != index]
