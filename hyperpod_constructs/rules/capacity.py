"""Rules of where instances come from, and what is checked before they take jobs."""

from collections.abc import Iterator

from hyperpod_constructs import instance_types, limits
from hyperpod_constructs.options import Capacity
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, bad_name, repeated, shown
from hyperpod_constructs.tokens import is_token

RULES = RuleBook("Capacity and health checks")


@RULES.error("training-plan", limits.TRAINING_PLAN_ARN.source)
def training_plan(case: Case) -> Iterator[Finding]:
    """A training plan is given by its ARN."""
    for index, group in enumerate(case.spec.compute):
        if group.training_plan_arn and not is_token(group.training_plan_arn):
            message = bad_name(
                group.training_plan_arn, limits.TRAINING_PLAN_ARN, otherwise="copy it from describe-training-plan"
            )
            if message:
                yield f"compute[{index}].training_plan_arn", message


@RULES.warning("training-plan-zone", "FACTS 10 and 11; field report N-10")
def training_plan_zone(case: Case) -> Iterator[Finding]:
    """The capacity of a training plan lies in one zone, which the group must be in."""
    for index, group in enumerate(case.spec.compute):
        chosen = group.subnets or group.availability_zone or case.surroundings.zone_was_chosen
        if group.training_plan_arn and not chosen:
            yield (
                f"compute[{index}].availability_zone",
                "missing beside training_plan_arn; the plan's capacity lies in one zone, and instances asked for in "
                "another never come; give the plan's zone, best by its id, such as use1-az4",
            )


@RULES.warning("training-plan-spot", "FACTS 10")
def training_plan_spot(case: Case) -> Iterator[Finding]:
    """Reserved capacity is not bought at the Spot price."""
    for index, group in enumerate(case.spec.compute):
        if group.training_plan_arn and group.capacity is Capacity.SPOT:
            yield (
                f"compute[{index}].capacity",
                "got Capacity.SPOT beside training_plan_arn, whose capacity is reserved and paid; leave capacity out",
            )


@RULES.error("deep-health-checks", "model OnStartDeepHealthChecks")
def deep_health_checks(case: Case) -> Iterator[Finding]:
    """Each deep health check is listed once."""
    for index, group in enumerate(case.spec.compute):
        checks = group.deep_health_checks
        for place, first in repeated(checks):
            where = f"compute[{index}].deep_health_checks[{place}]"
            yield where, f"got {shown(checks[place])}, which stands at [{first}] already, allowed: each once; drop one"


@RULES.warning("deep-health-checks-type", "FACTS 6.4")
def deep_health_checks_type(case: Case) -> Iterator[Finding]:
    """Deep health checks are of accelerators and their network."""
    for index, group in enumerate(case.spec.compute):
        plain = [name for name in group.all_instance_types if _has_none(name)]
        if group.deep_health_checks and plain:
            yield (
                f"compute[{index}].deep_health_checks",
                f"deep health checks test accelerators, and {shown(plain[0])} has none; leave them out",
            )


def _has_none(name: str) -> bool:
    return limits.INSTANCE_TYPE.accepts(name) and not instance_types.is_accelerated(name)
