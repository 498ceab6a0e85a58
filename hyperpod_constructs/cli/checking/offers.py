"""Where instance types are offered, and whether training plans cover what is asked of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.cli.account import AccountError, Clients, Kind, call, pages
from hyperpod_constructs.cli.live import clock

from .network import find_subnets
from .outcome import Check, failed, passed, unknown, warning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .subject import GroupSubject, Subject

_LAST_HOURS = timedelta(hours=24)


def offer_checks(subject: Subject, clients: Clients) -> list[Check]:
    """Every group's instance types in the zone of its subnets; in the region where the subnets are not there yet."""
    names = {name for group in subject.groups for name in group.instance_types}
    try:
        zones = _offered(clients, sorted(names))
        subnets = find_subnets(clients, subject.subnet_ids) if subject.subnet_ids else {}
    except AccountError as error:
        return [unknown(f"instance types: {error}")]
    return [check for group in subject.groups for check in _offers(group, zones, subnets, clients.region)]


def _offered(clients: Clients, names: list[str]) -> dict[str, set[str]]:
    filters = [{"Name": "instance-type", "Values": [name.removeprefix("ml.") for name in names]}]
    request = {"LocationType": "availability-zone-id", "Filters": filters}
    ec2 = clients.client("ec2")
    answers = pages("ec2:DescribeInstanceTypeOfferings", ec2, "describe_instance_type_offerings", **request)
    zones: dict[str, set[str]] = {name: set() for name in names}
    for answer in answers:
        for one in answer.get("InstanceTypeOfferings", ()):
            zones[f"ml.{one['InstanceType']}"].add(str(one["Location"]))
    return zones


def _offers(
    group: GroupSubject, zones: Mapping[str, set[str]], subnets: Mapping[str, Mapping[str, Any]], region: str
) -> Iterator[Check]:
    own = {str(subnets[one]["AvailabilityZoneId"]) for one in group.subnet_ids if one in subnets}
    for name in group.instance_types:
        offered = zones[name]
        listed = ", ".join(sorted(offered)) or "none"
        if not offered:
            yield failed(f"{group.name}: {name} is not offered in {region}; choose another type or region")
        elif not own:
            yield passed(f"Validated instance type {name} of {group.name}, offered in {listed} ...")
        elif own & offered:
            yield passed(f"Validated instance type {name} of {group.name} in {', '.join(sorted(own & offered))} ...")
        else:
            where = ", ".join(sorted(own))
            yield failed(
                f"{group.name}: {name} is not offered in {where}, but in {listed}; choose a subnet there, since "
                "most errors of capacity are a wrong zone"
            )


def training_plan_checks(subject: Subject, clients: Clients) -> list[Check]:
    """Every training plan: it is for clusters, is now, has instances enough of the type, and lies in the zone."""
    groups = [group for group in subject.groups if group.training_plan_arn]
    if not groups:
        return []
    try:
        subnets = find_subnets(clients, subject.subnet_ids) if subject.subnet_ids else {}
    except AccountError:
        subnets = {}  # said at the subnets
    return [check for group in groups for check in _plan(group, subnets, clients)]


def _plan(group: GroupSubject, subnets: Mapping[str, Mapping[str, Any]], clients: Clients) -> list[Check]:
    name = group.training_plan_arn.rpartition("/")[2]
    describe = clients.client("sagemaker").describe_training_plan
    try:
        found = call("sagemaker:DescribeTrainingPlan", describe, TrainingPlanName=name)
    except AccountError as error:
        if error.kind is Kind.NOT_FOUND:
            return [failed(f"training plan {name}: there is none in {clients.region}; check the ARN")]
        return [unknown(f"training plan {name}: {error}")]
    zones = {str(subnets[one]["AvailabilityZoneId"]) for one in group.subnet_ids if one in subnets}
    problems = [*_window(found), *_capacity(found, group, zones)]
    checks = [failed(f"training plan {name}: {text}") for text in problems]
    ends = found.get("EndTime")
    if not problems and ends is not None and ends - _now() < _LAST_HOURS:
        checks.append(warning(f"training plan {name}: ends {clock.shown_time(ends)}; instances end an hour before"))
    return checks or [passed(f"Validated training plan {name} for {group.count} x {group.instance_types[0]} ...")]


def _now() -> datetime:
    return datetime.fromtimestamp(clock.now(), UTC)


def _window(plan: Mapping[str, Any]) -> Iterator[str]:
    if "hyperpod-cluster" not in plan.get("TargetResources", ()):
        yield f"is for {', '.join(plan.get('TargetResources', ())) or 'nothing'}, allowed: hyperpod-cluster"
    status, start, end = plan.get("Status"), plan.get("StartTime"), plan.get("EndTime")
    if status in ("Expired", "Failed", "Pending"):
        yield f"is {status}, allowed: Active"
    elif start is not None and start > _now():
        yield f"begins {clock.shown_time(start)}; until then its instances cannot be had"
    elif end is not None and end <= _now():
        yield f"ended {clock.shown_time(end)}"


def _capacity(plan: Mapping[str, Any], group: GroupSubject, zones: set[str]) -> Iterator[str]:
    available = plan.get("AvailableInstanceCount")
    if available is not None and available < group.count:
        yield f"has {available} instances free, {group.name} wants {group.count}"
    summaries = plan.get("ReservedCapacitySummaries") or ()
    types = {str(one.get("InstanceType")) for one in summaries if one.get("InstanceType")}
    if types and not types & set(group.instance_types):
        yield f"is for {', '.join(sorted(types))}, {group.name} is of {', '.join(group.instance_types)}"
    own = {str(one["AvailabilityZoneId"]) for one in summaries if one.get("AvailabilityZoneId")}
    if own and zones and not own & zones:
        theirs = ", ".join(sorted(zones))
        yield f"lies in {', '.join(sorted(own))}, the subnets of {group.name} in {theirs}; use its zone"
