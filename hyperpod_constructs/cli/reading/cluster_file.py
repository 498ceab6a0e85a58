"""A cluster file of ours: YAML or JSON with the arguments of SlurmCluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hyperpod_constructs.api_request import create_cluster_request
from hyperpod_constructs.config import check_config
from hyperpod_constructs.config_rules import config_bindings

from .loaded import Loaded, checks_of, group_checks

if TYPE_CHECKING:
    from hyperpod_constructs.errors import Problem
    from hyperpod_constructs.specs import ClusterSpec

    from .documents import Document


def load_cluster_file(document: Document) -> Loaded:
    """Read and check a cluster file."""
    config, errors, warnings = check_config(document.value)
    errors = sorted(
        [*errors, *_step_problems(config.spec, errors)], key=lambda problem: document.position(problem.path)
    )
    checks = checks_of(errors, warnings, document.place)
    spec, bindings = config.spec, config_bindings(config)
    request: dict[str, Any] = {} if errors else create_cluster_request(spec, bindings)
    wrong = {group.name for path, group in spec.paths_and_groups if _has_error(path, errors)}
    named = [group.name for group in spec.groups if group.name]
    return Loaded(
        name=spec.cluster_name,
        source=str(document.path),
        request=request,
        checks=[*checks, *group_checks(named, wrong)],
        spec=spec,
        bindings=bindings,
    )


def _has_error(path: str, errors: list[Problem]) -> bool:
    return any(error.path == path or error.path.startswith((f"{path}.", f"{path}[")) for error in errors)


def _step_problems(spec: ClusterSpec, errors: list[Problem]) -> list[Problem]:
    """The user's scripts are looked at where they lie, unless what names them is wrong already."""
    from hyperpod_constructs.errors import Problem
    from hyperpod_constructs.user_steps import problems

    found: list[Problem] = []
    for index, step in enumerate(spec.lifecycle.user_steps):
        path = f"lifecycle.user_steps[{index}]"
        if _has_error(path, errors):
            continue
        try:
            told = [*problems(step)]
        except (OSError, ValueError) as error:
            told = [("source", f"cannot be looked at: {getattr(error, 'strerror', None) or error}")]
        found += [Problem(path=f"{path}.{name}", message=message, rule="user-step-files") for name, message in told]
    return found
