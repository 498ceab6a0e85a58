"""Say who this node is, before anything is touched: a wrong input must cost a second, not a quarter of an hour."""

from nodelib.errors import StepError
from nodelib.step import Context, Step


def run(context: Context) -> None:
    """Note the node's role; refuse a script set that lacks a user's step.

    Raises:
        StepError: a user step of node_config.json is not among the scripts.
    """
    identity = context.identity
    context.note(f"{identity.group.node_type} of instance group {identity.group.name}, {identity.address}")
    if context.style != identity.group.style:
        context.note(f"node_config.json says style {identity.group.style}, the entry script {context.style}")
    missing = [step.path for step in context.config.user_steps if not (context.scripts / step.path).is_file()]
    if missing:
        raise StepError(f"user steps are missing in {context.scripts}: {', '.join(missing)}")


CHECK_CONFIGURATION = Step(
    name="check_configuration",
    summary="Check the configuration and note the node's role",
    run=run,
    timeout_seconds=10,
)
