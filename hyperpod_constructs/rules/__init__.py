"""Everything that can be known about a cluster before it is deployed. Standard library only.

One function a rule, each with an id, a level and its source; docs/rules.md is generated from them.
"""

import re
from dataclasses import fields

from hyperpod_constructs.bindings import Bindings
from hyperpod_constructs.errors import Problem, SpecError
from hyperpod_constructs.rules import (
    accounting,
    capacity,
    cluster,
    groups,
    images,
    lifecycle,
    literals,
    network,
    partitions,
    payload,
    references,
    storage,
    tags,
    users,
    waits,
)
from hyperpod_constructs.rules.rule import Case, Level, Rule, RuleBook, Surroundings, shown
from hyperpod_constructs.rules.shape import repaired
from hyperpod_constructs.specs import ClusterSpec

__all__ = ["ALL_RULES", "BOOKS", "Level", "Rule", "RuleBook", "Surroundings", "check", "validate"]

BOOKS = (
    cluster.RULES,
    groups.RULES,
    partitions.RULES,
    capacity.RULES,
    references.RULES,
    images.RULES,
    storage.RULES,
    network.RULES,
    accounting.RULES,
    users.RULES,
    lifecycle.RULES,
    tags.RULES,
    waits.RULES,
    literals.RULES,
    payload.RULES,
)
ALL_RULES: tuple[Rule, ...] = tuple(rule for book in BOOKS for rule in book.rules)


def check(
    spec: ClusterSpec, bindings: Bindings | None = None, surroundings: Surroundings | None = None
) -> tuple[list[Problem], list[Problem]]:
    """Find everything that is wrong, and everything that is probably wrong.

    Args:
        spec: the cluster.
        bindings: deploy-time values, whose literal parts (the mount paths) are checked; not yet known by default.
        surroundings: what is known of the network; unknown by default.

    Returns:
        Errors and warnings, each in the order of the input.
    """
    sound, misshapen = repaired(spec)
    case = Case(spec=sound, bindings=bindings, surroundings=surroundings or Surroundings())
    found: dict[Level, list[Problem]] = {Level.ERROR: list(misshapen), Level.WARNING: []}
    for rule in ALL_RULES:
        found[rule.level] += [p for p in rule.problems(case) if not is_inside(p.path, misshapen)]
    return sorted(found[Level.ERROR], key=place), sorted(found[Level.WARNING], key=place)


def validate(
    spec: ClusterSpec, bindings: Bindings | None = None, surroundings: Surroundings | None = None
) -> tuple[Problem, ...]:
    """Refuse what the service or Slurm would refuse; return what is probably a mistake.

    Args:
        spec: the cluster.
        bindings: deploy-time values; not yet known by default.
        surroundings: what is known of the network; unknown by default.

    Returns:
        Warnings, possibly none.

    Raises:
        SpecError: with every error of the whole specification.
    """
    errors, warnings = check(spec, bindings, surroundings)
    if errors:
        raise SpecError(errors, subject=f"cluster {shown(getattr(spec, 'cluster_name', ''))}")
    return tuple(warnings)


def is_inside(path: str, misshapen: list[Problem]) -> bool:
    """Whether a value of the wrong kind was replaced at this path: what a rule says of the replacement is no news."""
    return any(path == bad.path or path.startswith((f"{bad.path}.", f"{bad.path}[")) for bad in misshapen)


_ORDER = {item.name: place for place, item in enumerate(fields(ClusterSpec))}
_FIRST_PART = re.compile(r"(\w*)(?:\[(\d+)\])?")


def place(problem: Problem) -> tuple[int, int]:
    """Sort key: where in the input a problem lies, by argument of the cluster, then by position in a list."""
    match = _FIRST_PART.match(problem.path)
    name, index = match.groups() if match else ("", None)
    return _ORDER.get(name, len(_ORDER)), int(index or 0)
