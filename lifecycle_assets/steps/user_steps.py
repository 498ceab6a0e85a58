"""The user's own scripts as steps."""

import shlex
from pathlib import Path

from nodelib.errors import StepError
from nodelib.node_config import NODE_TYPES, NodeConfig, UserStep
from nodelib.shared import home_base
from nodelib.step import Context, Step

NAME_PREFIX = "user:"


def user_steps(config: NodeConfig, stage: str) -> list[Step]:
    """The user's steps of a stage, in their order."""
    return [_step(step) for step in config.user_steps if step.stage == stage]


def _step(step: UserStep) -> Step:
    return Step(
        name=f"{NAME_PREFIX}{step.name}",
        summary=f"The user's {step.path}",
        run=lambda context: run(context, step),
        node_types=step.node_types or NODE_TYPES,
        required=step.required,
        timeout_seconds=step.timeout_seconds,
    )


def run(context: Context, step: UserStep) -> None:
    """Run the script by its shebang, in its own folder; its output goes to the log.

    Raises:
        StepError: it did not end with 0; with its exit code.
    """
    path = context.scripts / step.path
    result = context.runner.run(
        [*interpreter(path), str(path), *step.arguments],
        timeout_seconds=step.timeout_seconds,
        check=False,
        environment=environment(context),
        folder=str(path.parent),
    )
    context.show(result.stdout + result.stderr)
    if result.returncode != 0:
        lines = (result.stderr.strip() or result.stdout.strip()).splitlines()
        raise StepError(f"exit code {result.returncode}" + (f": {lines[-1]}" if lines else ""))


def interpreter(path: Path) -> list[str]:
    """What the first line says: S3 keeps no executable bit, so the script cannot be started by itself.

    Raises:
        StepError: it says nothing.
    """
    with path.open("rb") as stream:
        first = stream.readline(256).decode(errors="replace").strip()
    if not first.startswith("#!") or not first[2:].strip():
        raise StepError(f"{path}: the first line is {first[:40]!r}, expected #! and an interpreter")
    return shlex.split(first[2:])


def environment(context: Context) -> dict[str, str]:
    """What a user's script finds besides the node's environment; part of the contract in docs/lifecycle.md."""
    return {
        "HYPERPOD_CLUSTER_NAME": context.config.cluster_name,
        "HYPERPOD_NODE_TYPE": context.node_type,
        "HYPERPOD_INSTANCE_GROUP": context.group.name,
        "HYPERPOD_INSTANCE_ID": context.identity.instance_id,
        "HYPERPOD_CONTROLLER_ADDRESS": context.identity.controller_address,
        "HYPERPOD_LIFECYCLE_STYLE": context.style,
        "HYPERPOD_HOMES": home_base(context),
        "HYPERPOD_NODE_CONFIG": str(context.scripts / "node_config.json"),
    }
