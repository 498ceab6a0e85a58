"""What is_complete does: one DescribeCluster a poll while all is well, and pending calls once they are possible."""

from dataclasses import dataclass, field, replace

from .aws import Aws
from .compare import cluster_differences
from .creation import CREATE_CLUSTER, start_creation
from .diagnosis import CLOCK_SKEW_SECONDS, Fault, newest_faults, reason
from .errors import ChangeRefusedError, ClusterFailedError, DeniedError, NotFoundError, ServiceError, UnclearError
from .events import Event, Progress, RequestType, elapsed_seconds, wanted
from .log import log
from .memory import accepted_call, is_accepted
from .observed import Cluster
from .operations import apply_plan, change_tags, is_rolling_back, not_undone, start_deletion
from .ownership import owns, taken_text
from .plan import Calls, plan
from .services import Services
from .software import failed_software
from .waiting import DEADLINE_SECONDS, Failed, NotYet, Ready, Verdict, changed_counts, judge, picture

PATIENCE_SECONDS = 120
"""How long a cluster may be missing after its creation, or a permission after its policy, before that is a failure."""

SLOW_DELETION_SECONDS = 10 * 60
"""When a deletion is slow enough to look at what the nodes say (field report C-09)."""

MISSING_PERMISSION = ("not authorized", "unauthorized", "accessdenied", "access denied", "permission")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The answer of a poll: done or not, the cluster as last seen, and what the user should know."""

    complete: bool
    cluster: Cluster | None = None
    notes: tuple[str, ...] = field(default=())


def poll(event: Event, services: Services) -> Outcome:
    """Look once; every transient trouble only means to look again.

    Raises:
        ClusterFailedError, ChangeRefusedError, ServiceError: the request has failed; never while rolling back.
    """
    try:
        return _poll_deletion(event, services) if event.request_type is RequestType.DELETE else _poll(event, services)
    # Any exception: rolling back, a fault of ours must not wedge the stack in UPDATE_ROLLBACK_FAILED either.
    except Exception as error:
        rolling_back = event.progress.rolling_back
        if not (rolling_back or isinstance(error, UnclearError | DeniedError)):
            raise
        patience = DEADLINE_SECONDS if isinstance(error, UnclearError) else PATIENCE_SECONDS
        if elapsed_seconds(event.progress, None, services.now) < patience:
            log("poll was not answered", error=repr(error))
            return Outcome(complete=False)
        if rolling_back:
            return Outcome(complete=True, notes=(*event.progress.notes, f"not checked: {error}"))
        raise


def _poll(event: Event, services: Services) -> Outcome:
    progress, name = event.progress, str(event.physical_id)
    cluster = services.aws.describe(name)
    elapsed = elapsed_seconds(progress, cluster.created_at if cluster and _is_create(event) else None, services.now)
    if cluster is None and CREATE_CLUSTER in progress.pending and elapsed < PATIENCE_SECONDS:
        start_creation(event, services)
        return Outcome(complete=False)
    if cluster is None or (progress.cluster_arn and cluster.arn != progress.cluster_arn):
        return _vanished(event, name, elapsed)
    if _is_create(event):
        return _poll_creation(event, services, cluster, elapsed)
    if progress.rolling_back:
        return _poll_rollback(event, services, cluster, elapsed)
    if progress.pending:
        accepted = _try_again(event, services, cluster, elapsed)
        if accepted is None:
            return Outcome(complete=False)
        progress = accepted
    return _judged(event, services, cluster, progress, elapsed)


def _poll_creation(event: Event, services: Services, cluster: Cluster, elapsed: float) -> Outcome:
    """Wait for the cluster; whose it is, is asked at the end, and at once when it does not look like ours."""
    progress = event.progress
    verdict = judge(wanted(event), cluster, expected=progress.expected, elapsed_seconds=elapsed)
    if not progress.cluster_arn and (not isinstance(verdict, NotYet) or _looks_strange(event, cluster)):
        _check_owner(event, services, cluster)
    return _answer(event, services, cluster, progress, verdict, elapsed)


def _looks_strange(event: Event, cluster: Cluster) -> bool:
    """Older than the request, or of other groups: CreateCluster makes all groups at once."""
    older = cluster.created_at is not None and cluster.created_at + CLOCK_SKEW_SECONDS < event.progress.started_at
    return older or set(cluster.groups) != set(wanted(event).groups)


def _check_owner(event: Event, services: Services, cluster: Cluster) -> None:
    tags = services.aws.tags(cluster.arn)
    if not owns(event.owner, tags):
        raise ChangeRefusedError([taken_text(cluster.name, event.owner, tags)])


def _is_create(event: Event) -> bool:
    return event.request_type is RequestType.CREATE


def _vanished(event: Event, name: str, elapsed: float) -> Outcome:
    text = f"the cluster {name} does not exist any more: it was deleted outside CloudFormation"
    if CREATE_CLUSTER in event.progress.pending:
        text = f"the cluster {name} does not exist: its creation was not answered, or it was deleted meanwhile"
    if event.progress.rolling_back:
        return Outcome(complete=True, notes=(*event.progress.notes, text))
    if _is_create(event) and elapsed < PATIENCE_SECONDS:
        return Outcome(complete=False)
    raise ClusterFailedError(text)


def _poll_rollback(event: Event, services: Services, cluster: Cluster, elapsed: float) -> Outcome:
    """A rollback is done when its calls are accepted; whatever goes wrong is told, and the answer is success."""
    notes = event.progress.notes
    if cluster.status == "Failed":
        return Outcome(complete=True, cluster=cluster, notes=(*notes, f"the cluster failed: {cluster.failure_message}"))
    if not event.progress.pending:
        return Outcome(complete=True, cluster=cluster, notes=notes)
    try:
        tags = services.aws.tags(cluster.arn)
        progress = apply_plan(event, services, cluster.name, rolling_back=True, tags=tags)
        change_tags(event, services.aws, cluster.arn, tags)
    except (ServiceError, ChangeRefusedError) as error:
        if isinstance(error, UnclearError) and elapsed < DEADLINE_SECONDS:
            return Outcome(complete=False)
        return Outcome(complete=True, cluster=cluster, notes=(*notes, not_undone(error)))
    if not progress.pending:
        return Outcome(complete=True, cluster=cluster, notes=(*notes, *progress.notes))
    late = f"not undone, the cluster was busy: {picture(cluster)}"
    return Outcome(complete=elapsed >= DEADLINE_SECONDS, cluster=cluster, notes=(*notes, late))


def _try_again(event: Event, services: Services, cluster: Cluster, elapsed: float) -> Progress | None:
    """Make the calls that conflicted before, once; what operators change afterwards is theirs.

    Returns:
        How to go on once an earlier poll has made them; None now, because this picture is from before the calls.
    """
    tags = services.aws.tags(cluster.arn)
    if is_accepted(tags, event.request_id):
        return replace(event.progress, pending=(), expected=changed_counts(wanted(event), event.previous))
    if cluster.status == "Failed":
        raise ClusterFailedError(_reason(event, services, cluster, cluster.failure_message or "the cluster failed", ""))
    if elapsed >= DEADLINE_SECONDS:
        minutes = DEADLINE_SECONDS // 60
        raise ClusterFailedError(
            f"the change was not accepted within {minutes} minutes, the cluster was busy: {picture(cluster)}"
        )
    if is_rolling_back(event, services.aws):
        # CloudFormation cancels an update without telling us; its calls must not come after those of the rollback.
        raise ClusterFailedError("the update was cancelled before the cluster accepted it")
    made = apply_plan(_with_accepted_counts(event), services, cluster.name, rolling_back=False, tags=tags)
    if not made.pending:
        call = accepted_call(cluster.arn, event.request_id)
        services.aws.change(call.operation, call.request)
    return None


def _with_accepted_counts(event: Event) -> Event:
    """The event as if the counts that on_event brought through had been the template's before."""
    if event.previous is None or not event.progress.expected:
        return event
    groups = dict(event.previous.groups)
    for name in event.progress.expected:
        spec = wanted(event).groups[name]
        counts = {key: spec[key] for key in ("InstanceCount", "MinInstanceCount") if key in spec}
        groups[name] = {**groups.get(name, spec), **counts}
    return replace(event, previous=replace(event.previous, groups=groups))


def _judged(event: Event, services: Services, cluster: Cluster, progress: Progress, elapsed: float) -> Outcome:
    verdict = judge(wanted(event), cluster, expected=progress.expected, elapsed_seconds=elapsed)
    if isinstance(verdict, Ready):
        verdict = _taken_back(event, services, cluster, elapsed) or verdict
    return _answer(event, services, cluster, progress, verdict, elapsed)


def _answer(
    event: Event, services: Services, cluster: Cluster, progress: Progress, verdict: Verdict, elapsed: float
) -> Outcome:
    match verdict:
        case Ready(notes=()):
            return Outcome(complete=True, cluster=cluster, notes=progress.notes)
        case Ready(notes=late):
            newest = _newest_fault(event, services, cluster)
            return Outcome(complete=True, cluster=cluster, notes=(*late, *newest, *progress.notes))
        case NotYet(reason=missing):
            log("waiting", missing=missing, elapsed_seconds=int(elapsed))
            return Outcome(complete=False)
        case Failed(cause=cause, group=group):
            raise ClusterFailedError(_reason(event, services, cluster, cause, group))


def _taken_back(event: Event, services: Services, cluster: Cluster, elapsed: float) -> Verdict | None:
    """Whether the service took an accepted update back, which leaves the cluster InService and looks like success."""
    desired, previous = wanted(event), event.previous
    if previous is None:
        return None
    failed = failed_software(desired, previous, cluster)
    if failed and event.progress.software_started:
        return Failed(cause=f"{failed}: the software update failed and was rolled back", group=failed)
    if cluster.failure_message and isinstance(plan(desired, previous, cluster), Calls):
        return Failed(cause=cluster.failure_message)
    if desired.request.get("Orchestrator") != previous.request.get("Orchestrator"):
        return _accounting_failed(event, services, cluster, elapsed)
    return None


def _accounting_failed(event: Event, services: Services, cluster: Cluster, elapsed: float) -> Verdict | None:
    """The external database fails in an event only; until it shows in DescribeCluster it is not there."""
    faults = _faults(event, services, cluster)
    failed = next((fault for fault in faults if fault.subtree == "DatabaseConfiguration"), None)
    if failed is not None:
        return Failed(cause=f"the accounting database: {failed.text}")
    differences = cluster_differences(wanted(event).request, cluster.details, None)
    if not any(item.path[0] == "Orchestrator" for item in differences):
        return None
    if elapsed >= DEADLINE_SECONDS:
        return Failed(cause="the accounting database was accepted, but the cluster does not show it")
    return NotYet(reason="the accounting database")


def _faults(event: Event, services: Services, cluster: Cluster) -> list[Fault]:
    try:
        return newest_faults(services.aws, cluster.name, _since(event))
    except ServiceError as error:
        log("details not available", error=str(error))
        return []


def _newest_fault(event: Event, services: Services, cluster: Cluster) -> tuple[str, ...]:
    return tuple(f"newest error: {fault.text}" for fault in _faults(event, services, cluster)[:1])


def _reason(event: Event, services: Services, cluster: Cluster, cause: str, group: str) -> str:
    return reason(services.aws, cluster, cause, group=group, since=_since(event))


def _since(event: Event) -> float | None:
    """Events of a new cluster are all of this story; those of an old one only since this request began."""
    return None if _is_create(event) else event.progress.started_at or None


def _poll_deletion(event: Event, services: Services) -> Outcome:
    """Complete only when DescribeCluster says that there is none, or that the name has another cluster by now."""
    progress = event.progress
    if event.physical_id is None or (progress.started_at and not progress.cluster_arn and not progress.pending):
        return Outcome(complete=True)
    cluster = services.aws.describe(event.physical_id)
    try:
        if cluster is None or not _is_ours(event, services.aws, cluster):
            return Outcome(complete=True)
        _check_deletion(services.aws, cluster, elapsed_seconds(progress, None, services.now))
        start_deletion(services.aws, cluster)
    except NotFoundError as error:
        log("gone between two calls", error=str(error))
    return Outcome(complete=False)


def _is_ours(event: Event, aws: Aws, cluster: Cluster) -> bool:
    if event.progress.cluster_arn:
        return cluster.arn == event.progress.cluster_arn
    return owns(event.owner, aws.tags(cluster.arn))


def _check_deletion(aws: Aws, cluster: Cluster, elapsed: float) -> None:
    """Fail early when the deletion cannot succeed, and in words when time is over."""
    texts = [cluster.failure_message] if cluster.status in ("Deleting", "Failed") else []
    if cluster.status == "Deleting" and elapsed >= SLOW_DELETION_SECONDS:
        texts += _node_messages(aws, cluster)
    for text in texts:
        if any(words in text.lower() for words in MISSING_PERMISSION):
            raise ClusterFailedError(
                f"the cluster {cluster.name} cannot be deleted: {text}\nThe execution role and its EC2 permissions "
                "must exist until the cluster is gone: put them back, then delete the stack again"
            )
    if elapsed >= DEADLINE_SECONDS:
        minutes = DEADLINE_SECONDS // 60
        raise ClusterFailedError(
            f"the cluster is not deleted after {minutes} minutes: {picture(cluster)}; it may still go: delete the "
            "stack again"
        )


def _node_messages(aws: Aws, cluster: Cluster) -> list[str]:
    try:
        return aws.node_messages(cluster.name)
    except ServiceError as error:
        log("nodes not listed", error=str(error))
        return []
