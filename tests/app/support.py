"""Every app of this repository, synthesized once a process."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from aws_cdk import App
from cdk_nag import AwsSolutionsChecks

import app as repository_app
from tests.constructs.support import CONTEXT

ROOT = Path(__file__).parents[2]
APPS = ("app", *sorted(path.parent.name for path in (ROOT / "examples").glob("*/app.py")))


@dataclass(frozen=True)
class Assembly:
    """What an app came to.

    Attributes:
        templates: by stack name.
        messages: warnings and errors of its constructs.
        nag: findings of cdk-nag's AwsSolutions pack that nobody acknowledged, with their place.
    """

    templates: dict[str, dict[str, Any]]
    messages: list[str]
    nag: list[str]


def builder(name: str) -> Callable[[App], object]:
    """What fills an app: of an example, or of the repository's own ``app.py``."""
    if name == "app":
        return repository_app.build_app
    spec = importlib.util.spec_from_file_location(f"examples_{name}", ROOT / "examples" / name / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    build: Callable[[App], object] = module.build
    return build


def new_app(**context: Any) -> App:
    """An app with the feature flags of cdk.json and without CDK's slow built-in check."""
    return App(context={**CONTEXT, **context}, builtin_cloud_formation_validation=False)


@cache
def assembly(name: str) -> Assembly:
    """The app of a name, synthesized."""
    app = new_app()
    builder(name)(app)
    report = AwsSolutionsChecks().validate_scope(app)
    findings = [
        f"{violation.rule_name} at {resource.construct_path}"
        for violation in report.violations
        for resource in violation.violating_resources
    ]
    synthesized = app.synth()
    return Assembly(
        templates={stack.stack_name: dict(stack.template) for stack in synthesized.stacks},
        messages=[str(message.entry.data) for stack in synthesized.stacks for message in stack.messages],
        nag=findings,
    )


def resources(name: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Every resource of an app: stack, logical id, resource."""
    return [
        (stack, logical_id, resource)
        for stack, template in assembly(name).templates.items()
        for logical_id, resource in template["Resources"].items()
    ]
