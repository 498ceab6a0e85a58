"""A CreateCluster request by itself, and the two classic files held against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.classic import PARAMETERS_FILE, REQUEST_FILE, classic_problems
from hyperpod_constructs.classic import RULE as CLASSIC_RULE
from hyperpod_constructs.cli.checking.model import request_problems
from hyperpod_constructs.cli.checking.outcome import Check, Outcome
from hyperpod_constructs.errors import Problem
from hyperpod_constructs.rules.rule import shown

from .loaded import Loaded, checks_of, group_checks
from .parameters import parameters_problems
from .plain import groups_of, items_of
from .requests import RULE, Reading, read_request, roles_of_parameters, roles_of_request

if TYPE_CHECKING:
    from .documents import Document
    from .specification import Role

_CONTINUOUS_ONLY = {
    "MinInstanceCount": "the older form starts all instances or none",
    "SlurmConfig": f"in the older form {PARAMETERS_FILE} says what a group is to Slurm",
}


def load_classic(request: Document, parameters: Document) -> Loaded:
    """Read and check a pair of classic files."""
    wanted, given = _object(request.value), _object(parameters.value) or {}
    model = [] if wanted is None else request_problems(wanted)
    reading = read_request(wanted or {}, roles_of_parameters(given))
    ruled, warnings = _rules(reading, [*model, *_classic_form(wanted or {})])
    own = parameters_problems(given)
    ruled = [problem for problem in ruled if not problem.path.endswith("SlurmConfig.PartitionNames")]

    errors = [*ruled, *_between(request, parameters), *own]
    checks = [
        *_classic_checks(errors, Outcome.FAILED, request, parameters),
        *_classic_checks(warnings, Outcome.WARNING, request, parameters),
    ]
    return _loaded(request, wanted or {}, checks, errors, parameters=given)


_ROLE_KEYS = ("controller_group", "login_group", "worker_groups")


def _between(request: Document, parameters: Document) -> list[Problem]:
    """What is wrong between the files; without any group, that the names lead nowhere is no news."""
    found = classic_problems(request.value, parameters.value)
    if groups_of(_object(request.value) or {}):
        return found
    return [one for one in found if not one.path.startswith(tuple(f"{PARAMETERS_FILE}: {key}" for key in _ROLE_KEYS))]


def _classic_checks(
    problems: Sequence[Problem], outcome: Outcome, request: Document, parameters: Document
) -> Iterator[Check]:
    """Lines whose place is the file that the user gave, under whatever name."""
    for problem in problems:
        of_parameters = problem.path.startswith(f"{PARAMETERS_FILE}: ")
        path = problem.path.removeprefix(f"{PARAMETERS_FILE}: ").removeprefix(f"{REQUEST_FILE}: ")
        place = (parameters if of_parameters else request).place(path)
        text = f"{path}: {problem.message}" if path else problem.message
        yield Check(outcome=outcome, text=text, rule=problem.rule, place=place)


def load_request(document: Document) -> Loaded:
    """Read and check a CreateCluster request with SlurmConfig on its groups."""
    wanted = _object(document.value)
    if wanted is None:
        problem = Problem(path="", message=f"got {shown(document.value)}, allowed: a JSON object", rule=RULE)
        return _loaded(document, {}, checks_of([problem], [], document.place), [problem])
    errors, warnings = check_request(wanted)
    return _loaded(document, wanted, checks_of(errors, warnings, document.place), errors)


def check_request(request: Mapping[str, Any]) -> tuple[list[Problem], list[Problem]]:
    """Errors and warnings of a request for continuous provisioning."""
    roles = roles_of_request(request)
    return _rules(read_request(request, roles), [*request_problems(request), *_continuous_form(request, roles)])


def _loaded(
    document: Document,
    request: Mapping[str, Any],
    checks: Sequence[Any],
    errors: Sequence[Problem],
    parameters: Mapping[str, Any] | None = None,
) -> Loaded:
    names = [str(group.get("InstanceGroupName") or "") for group in groups_of(request)]
    wrong = {name for index, name in enumerate(names) if _concerns(errors, index, name)}
    return Loaded(
        name=str(request.get("ClusterName") or ""),
        source=str(document.path),
        request=request,
        checks=[*checks, *group_checks([name for name in names if name], wrong)],
        parameters=parameters,
    )


def _concerns(errors: Sequence[Problem], index: int, name: str) -> bool:
    here = f"InstanceGroups[{index}]"
    return any(here in error.path or error.path.endswith(f": {name}") for error in errors)


def _rules(reading: Reading, first: list[Problem]) -> tuple[list[Problem], list[Problem]]:
    """What the rules say beside what was found before: the same place is told once."""
    errors, warnings = reading.rule_problems()
    found = list(first)
    told = {problem.path for problem in first}
    for problem in (*reading.problems, *errors):
        if problem in reading.problems or not _is_told(problem.path, told):
            found.append(problem)
    return found, [one for one in warnings if not _is_told(one.path, told)]


def _is_told(path: str, told: set[str]) -> bool:
    """Whether something was said of the place, or of a part of it."""
    return any(one == path or one.startswith((f"{path}.", f"{path}[")) for one in told)


def _continuous_form(request: Mapping[str, Any], roles: Mapping[str, Role]) -> Iterator[Problem]:
    """What only the request as a whole shows (FACTS 5.1, 5.2)."""
    orchestrator = request.get("Orchestrator")
    if not isinstance(orchestrator, Mapping) or "Slurm" not in orchestrator:
        message = 'got none, allowed: {"Slurm": {}}; without it the service takes the older form'
        yield Problem(path="Orchestrator", message=message, rule=RULE)
    elif isinstance(orchestrator["Slurm"], Mapping) and "SlurmConfigStrategy" in orchestrator["Slurm"]:
        message = "given, allowed: nothing; it is an error with continuous provisioning"
        yield Problem(path="Orchestrator.Slurm.SlurmConfigStrategy", message=message, rule=RULE)
    if request.get("NodeProvisioningMode") != "Continuous":
        message = f'got {shown(request.get("NodeProvisioningMode"))}, allowed: "Continuous"'
        yield Problem(path="NodeProvisioningMode", message=message, rule=RULE)
    for index, group in enumerate(items_of(request.get("InstanceGroups"))):
        if isinstance(group, Mapping) and "SlurmConfig" not in group:
            message = "missing; say what the group is to Slurm: Controller, Login or Compute"
            yield Problem(path=f"InstanceGroups[{index}].SlurmConfig", message=message, rule=RULE)
    if not any(role.node_type == "Controller" for role in roles.values()):
        message = "no group is a controller, allowed: exactly one; give one the node type Controller"
        yield Problem(path="InstanceGroups", message=message, rule=RULE)
    yield from _both_forms(request)


def _both_forms(request: Mapping[str, Any]) -> Iterator[Problem]:
    if request.get("VpcConfig"):
        return
    for index, group in enumerate(groups_of(request)):
        storage = [item for item in items_of(group.get("InstanceStorageConfigs")) if isinstance(item, Mapping)]
        if any("FsxLustreConfig" in item or "FsxOpenZfsConfig" in item for item in storage):
            message = "given without VpcConfig; nodes reach a file system only in a VPC of yours; give VpcConfig"
            yield Problem(path=f"InstanceGroups[{index}].InstanceStorageConfigs", message=message, rule=RULE)
        if "OverrideVpcConfig" in group:
            message = "given without VpcConfig, allowed: only beside it; give VpcConfig"
            yield Problem(path=f"InstanceGroups[{index}].OverrideVpcConfig", message=message, rule=RULE)


def _classic_form(request: Mapping[str, Any]) -> Iterator[Problem]:
    for index, group in enumerate(groups_of(request)):
        path = f"InstanceGroups[{index}]"
        for name, reason in _CONTINUOUS_ONLY.items():
            if name in group:
                yield Problem(path=f"{path}.{name}", message=f"given, allowed: nothing; {reason}", rule=CLASSIC_RULE)
        config = group.get("LifeCycleConfig")
        if not isinstance(config, Mapping):
            message = "missing; in the older form scripts set up every node"
            yield Problem(path=f"{path}.LifeCycleConfig", message=message, rule=CLASSIC_RULE)
        elif config.get("OnInitComplete"):
            message = "given, allowed: OnCreate; in the older form scripts set up every node"
            yield Problem(path=f"{path}.LifeCycleConfig.OnInitComplete", message=message, rule=CLASSIC_RULE)
    yield from _both_forms(request)


def _object(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, Mapping) else None
