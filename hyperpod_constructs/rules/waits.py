"""Rules of how long a deployment waits. CloudFormation gives a custom resource one hour."""

from collections.abc import Iterator

from hyperpod_constructs import limits
from hyperpod_constructs.options import DeepHealthCheck, OnTimeout, ReadyWhen
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, shown
from hyperpod_constructs.specs import ComputeGroup

RULES = RuleBook("Waiting")


def _awaited(case: Case) -> Iterator[tuple[str, ComputeGroup, int]]:
    """The compute groups whose instances the deployment waits for, with how many."""
    for index, group in enumerate(case.spec.compute):
        counts = {ReadyWhen.ALL: group.instance_count, ReadyWhen.MINIMUM: group.min_instance_count}
        if count := counts.get(case.spec.ready_when):
            yield f"compute[{index}]", group, count


@RULES.warning("minimum-outlasts-the-hour", "FACTS 5.1; field report V-18; STYLE fact 3")
def minimum_outlasts_the_hour(case: Case) -> Iterator[Finding]:
    """The service tries for a minimum for three hours, CloudFormation waits for one."""
    for path, group, _ in _awaited(case):
        if group.min_instance_count:
            yield (
                f"{path}.min_instance_count",
                f"got {shown(group.min_instance_count)} with {shown(case.spec.ready_when)}: the service tries for "
                f"{limits.MINIMUM_ROLLBACK_MINUTES} minutes, CloudFormation for {limits.CLOUDFORMATION_WAIT_MINUTES}, "
                f"so the deployment may end first, with {shown(case.spec.on_timeout)}; "
                "use ReadyWhen.IN_SERVICE and follow the group with hyperpod-slurm watch",
            )


@RULES.warning("checks-outlast-the-hour", "FACTS 6.4; STYLE fact 3")
def checks_outlast_the_hour(case: Case) -> Iterator[Finding]:
    """The InstanceStress check alone takes 45 to 90 minutes, CloudFormation waits 60."""
    for path, group, count in _awaited(case):
        if DeepHealthCheck.INSTANCE_STRESS in group.deep_health_checks:
            low, high = limits.INSTANCE_STRESS_MINUTES
            yield (
                f"{path}.deep_health_checks",
                f"got DeepHealthCheck.INSTANCE_STRESS, which takes {low} to {high} minutes, while the deployment waits "
                f"for {count} checked instances and CloudFormation for {limits.CLOUDFORMATION_WAIT_MINUTES} minutes; "
                "use ReadyWhen.IN_SERVICE",
            )


@RULES.warning("shortage-rolls-back", "DESIGN section 3; FACTS 5.5")
def shortage_rolls_back(case: Case) -> Iterator[Finding]:
    """With OnTimeout.FAIL a lack of capacity rolls back a working cluster."""
    awaited = [path for path, _, _ in _awaited(case)]
    if awaited and case.spec.on_timeout is OnTimeout.FAIL:
        yield (
            "on_timeout",
            f"got OnTimeout.FAIL with {shown(case.spec.ready_when)}: if {', '.join(awaited)} lacks capacity for "
            f"{limits.CLOUDFORMATION_WAIT_MINUTES} minutes, CloudFormation deletes or shrinks a working cluster; "
            "use OnTimeout.SUCCEED, which reports the missing instances as a warning",
        )
