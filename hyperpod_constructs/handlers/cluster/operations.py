"""What on_event does with a cluster that exists: observe, plan, apply, and hand over to the polls."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .aws import Aws
from .creation import with_tags
from .errors import ChangeRefusedError, ConflictError, HandlerError, NotFoundError, ServiceError, UnclearError
from .events import Event, Progress, wanted
from .log import log
from .memory import memory_call, remembered_counts
from .observed import Cluster
from .ownership import foreign_text, owns
from .plan import UPDATE_CLUSTER, UPDATE_SOFTWARE, Call, Calls, Decision, Refusal, Wait, plan
from .services import Services
from .tags import tag_calls
from .waiting import expected_counts

DELETE_CLUSTER = "DeleteCluster"
PENDING_PLAN = "plan"
NOTE_LIMIT = 12


def update(event: Event, services: Services) -> Progress:
    """Apply what changed; what the cluster is too busy for is left to the polls.

    Raises:
        ChangeRefusedError: before any call, with every reason; never while rolling back.
        ServiceError: the service refused a call; never while rolling back.
    """
    rolling_back = is_rolling_back(event, services.aws)
    started_at = services.now()
    try:
        progress = _update(event, services, rolling_back)
    # Any exception: a fault of ours must not wedge the stack in UPDATE_ROLLBACK_FAILED either.
    except Exception as error:
        if not rolling_back:
            raise
        progress = _left_of_rollback(error)
    return replace(progress, started_at=started_at, rolling_back=rolling_back, notes=progress.notes[:NOTE_LIMIT])


def _left_of_rollback(error: Exception) -> Progress:
    """A rollback goes on whatever happens: what may come later is left to the polls, the rest is told."""
    log("rollback goes on without this", error=repr(error))
    if isinstance(error, UnclearError):
        return Progress(pending=(PENDING_PLAN,))
    return Progress(notes=(not_undone(error),))


def not_undone(error: Exception) -> str:
    """The note of a rollback that had to leave something; of a fault of ours with its kind, which says more."""
    return f"not undone: {error if isinstance(error, HandlerError) else repr(error)}"


def is_rolling_back(event: Event, aws: Aws) -> bool:
    """Whether CloudFormation is undoing an update; not knowing counts as going forward."""
    status = aws.stack_status(event.owner.stack_id)
    return "ROLLBACK" in status and status.endswith("IN_PROGRESS")


def _update(event: Event, services: Services, rolling_back: bool) -> Progress:
    name, aws = str(event.physical_id), services.aws
    cluster, tags = aws.patiently(lambda: with_tags(aws, name))
    if cluster is None:
        raise ChangeRefusedError([_gone_text(name)])
    if not owns(event.owner, tags):
        raise ChangeRefusedError([foreign_text(name, event.owner, "changed")])
    try:
        progress = apply_plan(event, services, name, rolling_back, tags)
    except (ServiceError, ChangeRefusedError) as error:
        if not rolling_back:
            raise
        progress = replace(_left_of_rollback(error), cluster_arn=cluster.arn)
    try:
        change_tags(event, aws, cluster.arn, tags)
    except ServiceError as error:
        if not rolling_back:
            raise
        progress = replace(progress, notes=(*progress.notes, f"tags {not_undone(error)}"))
    return progress


def change_tags(event: Event, aws: Aws, arn: str, live: Mapping[str, str]) -> None:
    """Make the user's tags as the template has them.

    Args:
        live: the cluster's tags now.
    """
    before = event.previous.tags if event.previous else {}
    for call in tag_calls(arn, wanted(event).tags, before, live):
        aws.change(call.operation, call.request)


def _gone_text(name: str) -> str:
    return (
        f"the cluster {name} does not exist any more: it was deleted outside CloudFormation. To make it anew, deploy "
        "once without it, then with it"
    )


def apply_plan(
    event: Event, services: Services, name: str, rolling_back: bool, tags: Mapping[str, str] | None = None
) -> Progress:
    """Observe, plan and call. What conflicts with another operation is pending and tried again by the next poll.

    Args:
        tags: the cluster's tags when they have just been read; read here otherwise.
    """
    desired = wanted(event)
    cluster = services.aws.describe(name)
    if cluster is None:
        raise ChangeRefusedError([_gone_text(name)])
    tags = services.aws.tags(cluster.arn) if tags is None else tags
    remembered = remembered_counts(tags)
    decision = plan(desired, event.previous, cluster, rolling_back=rolling_back, remembered=remembered)
    log("planned", decision=type(decision).__name__, **_told(decision))
    if isinstance(decision, Refusal):
        raise ChangeRefusedError(decision.problems)
    if isinstance(decision, Wait):
        return Progress(cluster_arn=cluster.arn, pending=(PENDING_PLAN,))
    calls = decision.calls if isinstance(decision, Calls) else ()
    overridden = decision.overridden if isinstance(decision, Calls) and not rolling_back else {}
    memory = memory_call(cluster.arn, tags, overridden, event.request_id)
    pending = _apply_remembering(services.aws, calls, memory, rolling_back)
    return Progress(
        cluster_arn=cluster.arn,
        pending=(PENDING_PLAN,) if pending else (),
        software_started=any(call.operation == UPDATE_SOFTWARE for call in calls) and not pending,
        expected=_accepted(calls, pending),
        notes=decision.notes,
    )


def _told(decision: Decision) -> dict[str, Any]:
    if isinstance(decision, Calls):
        return {"calls": [call.operation for call in decision.calls], "notes": decision.notes}
    return vars(decision)


def _apply_remembering(aws: Aws, calls: tuple[Call, ...], memory: Call | None, rolling_back: bool) -> tuple[Call, ...]:
    """Going forward, the memory is written before the calls; rolling back, it is needed until they are accepted."""
    if memory is not None and not rolling_back:
        aws.change(memory.operation, memory.request)
    pending = _apply(aws, calls)
    if memory is not None and rolling_back and not pending:
        aws.change(memory.operation, memory.request)
    return pending


def _apply(aws: Aws, calls: tuple[Call, ...]) -> tuple[Call, ...]:
    """Make the calls in order; the rest from the first that the cluster is too busy for."""
    for index, call in enumerate(calls):
        try:
            aws.change(call.operation, call.request)
        except (ConflictError, UnclearError) as error:
            log("not accepted, will try again", operation=call.operation, message=error.detail)
            return calls[index:]
    return ()


def _accepted(calls: tuple[Call, ...], pending: tuple[Call, ...]) -> dict[str, tuple[int, int]]:
    made = [call for call in calls if call not in pending and call.operation == UPDATE_CLUSTER]
    groups = {spec["InstanceGroupName"]: spec for call in made for spec in call.request.get("InstanceGroups", ())}
    return expected_counts(groups)


def delete(event: Event, services: Services) -> Progress:
    """Start the deletion of a cluster that both owner tags say is ours.

    A cluster that does not exist, or a physical id that never was one, is success without a call.

    Raises:
        ChangeRefusedError: a cluster of this name exists and is not ours.
        DeniedError: the handler may not look or delete.
    """
    started_at = services.now()
    if event.physical_id is None or not is_cluster_name(event.physical_id):
        return Progress(started_at=started_at)
    try:
        arn, pending = _delete(event, event.physical_id, services.aws)
    except (UnclearError, NotFoundError) as error:
        # No answer, or gone between two calls: only DescribeCluster says for certain, and the polls ask it.
        log("delete was not answered, the polls go on", error=str(error))
        arn, pending = "", (DELETE_CLUSTER,)
    return Progress(started_at=started_at, cluster_arn=arn, pending=pending)


def _delete(event: Event, name: str, aws: Aws) -> tuple[str, tuple[str, ...]]:
    cluster = aws.describe(name)
    if cluster is None:
        return "", ()
    if not owns(event.owner, aws.tags(cluster.arn)):
        raise ChangeRefusedError([foreign_text(name, event.owner, "deleted")])
    return cluster.arn, start_deletion(aws, cluster)


def start_deletion(aws: Aws, cluster: Cluster) -> tuple[str, ...]:
    """Call DeleteCluster by ARN, which no other cluster ever has; what is pending when the cluster is too busy."""
    if cluster.status == "Deleting":
        return ()
    try:
        aws.change(DELETE_CLUSTER, {"ClusterName": cluster.arn})
    except ConflictError as error:
        log("busy, will delete later", status=cluster.status, message=error.detail)
        return (DELETE_CLUSTER,)
    return ()


def is_cluster_name(text: str) -> bool:
    """Whether a text can be a cluster's name; what cannot be one never was a cluster of ours (FACTS 5.1)."""
    parts = text.split("-")
    plain = text.isascii() and all(part.isalnum() or not part for part in parts)
    return plain and 1 <= len(text) <= 63 and bool(parts[0]) and bool(parts[-1])
