"""Rules of images and of their updates."""

from collections.abc import Iterator
from datetime import datetime

from hyperpod_constructs import limits
from hyperpod_constructs.options import Batch, BatchType, Deployment
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, bad_name, out_of_range, repeated, shown
from hyperpod_constructs.tokens import is_token

RULES = RuleBook("Images and updates")


@RULES.error("image-id", limits.IMAGE_ID.source)
def image_id(case: Case) -> Iterator[Finding]:
    """An image id is ami-... or default."""
    for path, group in case.spec.paths_and_groups:
        if group.image_id and not is_token(group.image_id):
            message = bad_name(group.image_id, limits.IMAGE_ID, otherwise="leave it out for the service's image")
            if message:
                yield f"{path}.image_id", message


@RULES.error("image-release-version", limits.IMAGE_RELEASE_VERSION.source)
def image_release_version(case: Case) -> Iterator[Finding]:
    """An image release version is x.y.z."""
    for path, group in case.spec.paths_and_groups:
        version = group.image_release_version
        if version and (message := bad_name(version, limits.IMAGE_RELEASE_VERSION, instead=version.lstrip("v"))):
            yield f"{path}.image_release_version", message


@RULES.warning("image-and-release", "model ImageReleaseVersion: the version of the HyperPod-managed image")
def image_and_release(case: Case) -> Iterator[Finding]:
    """A release version belongs to the service's own image, not to a custom one."""
    for path, group in case.spec.paths_and_groups:
        if group.image_release_version and group.image_id not in ("", "default"):
            yield (
                f"{path}.image_release_version",
                f"got {shown(group.image_release_version)} beside an image_id; releases are those of the service's "
                "own image; give one of the two",
            )


@RULES.error("schedule-expression", limits.SCHEDULE_EXPRESSION.source)
def schedule_expression(case: Case) -> Iterator[Finding]:
    """Scheduled updates have a cron expression of six fields."""
    for path, group in case.spec.paths_and_groups:
        if group.scheduled_update is not None:
            message = bad_name(
                group.scheduled_update.schedule_expression,
                limits.SCHEDULE_EXPRESSION,
                otherwise="such as cron(0 3 ? * SUN *) for Sundays at 3 o'clock UTC",
            )
            if message:
                yield f"{path}.scheduled_update.schedule_expression", message


@RULES.error("next-patch-date", limits.PATCH_DATE.source)
def next_patch_date(case: Case) -> Iterator[Finding]:
    """The next patch date is a date, or a date and time."""
    for path, group in case.spec.paths_and_groups:
        date = group.auto_patch.next_patch_date if group.auto_patch else ""
        if date and not _is_date(date):
            yield (
                f"{path}.auto_patch.next_patch_date",
                f"got {shown(date)}, allowed: {limits.PATCH_DATE.words}; give a date of the calendar",
            )


def _is_date(text: str) -> bool:
    try:
        return limits.PATCH_DATE.accepts(text) and datetime.fromisoformat(text) is not None
    except ValueError:
        return False


@RULES.error("idle-wait-window", "model IdleWaitWindowInSecondsValue; FACTS 5.4")
def idle_wait_window(case: Case) -> Iterator[Finding]:
    """Automatic patching waits 3600 to 2160000 seconds for idle nodes."""
    for path, group in case.spec.paths_and_groups:
        window = group.auto_patch.idle_wait_window_seconds if group.auto_patch else None
        if window is not None and (message := out_of_range(window, limits.IDLE_WAIT_WINDOW_SECONDS, "seconds")):
            yield f"{path}.auto_patch.idle_wait_window_seconds", message


def _deployments(case: Case) -> Iterator[tuple[str, Deployment]]:
    for path, group in case.spec.paths_and_groups:
        for name in ("scheduled_update", "auto_patch"):
            update = getattr(group, name)
            if update is not None and update.deployment is not None:
                yield f"{path}.{name}.deployment", update.deployment


@RULES.error("batch-size", "model NodeUnavailabilityValue")
def batch_size(case: Case) -> Iterator[Finding]:
    """A batch is at least one instance, or 1 to 100 percent of them."""
    for path, deployment in _deployments(case):
        for name in ("maximum_batch", "rollback_maximum_batch"):
            batch = getattr(deployment, name)
            if batch is not None and (message := _bad_batch(batch)):
                yield f"{path}.{name}.value", message


def _bad_batch(batch: Batch) -> str | None:
    if batch.type is BatchType.CAPACITY_PERCENTAGE:
        return out_of_range(batch.value, (1, 100), "percent")
    return out_of_range(batch.value, (1, limits.INSTANCE_COUNT_MAXIMUM), "instances")


@RULES.error("wait-interval", "model WaitTimeIntervalInSeconds")
def wait_interval(case: Case) -> Iterator[Finding]:
    """Between batches 0 to 3600 seconds pass."""
    for path, deployment in _deployments(case):
        seconds = deployment.wait_interval_seconds
        if seconds is not None and (message := out_of_range(seconds, limits.WAIT_INTERVAL_SECONDS, "seconds")):
            yield f"{path}.wait_interval_seconds", message


@RULES.error("rollback-alarms", "model AutoRollbackAlarms, AlarmName")
def rollback_alarms(case: Case) -> Iterator[Finding]:
    """An update is rolled back by 1 to 10 alarms, each named once."""
    for path, deployment in _deployments(case):
        names, where = deployment.rollback_alarm_names, f"{path}.rollback_alarm_names"
        if len(names) > limits.ROLLBACK_ALARMS_MAXIMUM:
            yield (
                where,
                f"got {len(names)} alarms, allowed: {limits.ROLLBACK_ALARMS_MAXIMUM}; join some in a composite alarm",
            )
        for index, name in enumerate(names):
            if message := bad_name(name, limits.ALARM_NAME, otherwise="give the name of a CloudWatch alarm"):
                yield f"{where}[{index}]", message
        for index, first in repeated(names):
            yield f"{where}[{index}]", f"got {shown(names[index])}, which stands at [{first}] already; drop one"
