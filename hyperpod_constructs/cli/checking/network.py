"""Subnets and security groups of an account. Look-ups are thin, verdicts are pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.cli.account import AccountError, Clients, Kind, call

from .outcome import Check, failed, passed, unknown, warning

if TYPE_CHECKING:
    from .subject import Subject

Record = Mapping[str, Any]


def subnet_checks(subject: Subject, clients: Clients) -> list[Check]:
    """Every subnet: it exists, is private, has addresses enough, and lies in the same VPC as the others."""
    if not subject.subnet_ids:
        return []
    try:
        found = find_subnets(clients, subject.subnet_ids)
    except AccountError as error:
        return [unknown(f"subnet {one}: {error}") for one in subject.subnet_ids]
    return [
        check for one in subject.subnet_ids for check in _subnet(one, found.get(one), subject, clients)
    ] + _same_vpc([*found.values()])


def find_subnets(clients: Clients, ids: Sequence[str]) -> dict[str, Record]:
    """Those subnets of the account that exist, by id.

    Raises:
        AccountError: they cannot be looked at.
    """
    # A filter, because DescribeSubnets by id fails as a whole when one id is wrong.
    filters = [{"Name": "subnet-id", "Values": [*ids]}]
    answer = call("ec2:DescribeSubnets", clients.client("ec2").describe_subnets, Filters=filters)
    return {str(one["SubnetId"]): one for one in answer.get("Subnets", ())}


def _subnet(subnet_id: str, found: Record | None, subject: Subject, clients: Clients) -> list[Check]:
    if found is None:
        return [failed(f"subnet {subnet_id}: there is none in {clients.region}; check the id and the region")]
    groups = subject.groups_in(subnet_id)
    needed, free = sum(group.addresses for group in groups), int(found.get("AvailableIpAddressCount", 0))
    if needed > free:
        names = ", ".join(group.name for group in groups)
        text = (
            f"has {free} free addresses, the instances of {names} take {needed}; choose a larger subnet, it cannot grow"
        )
        return [failed(f"subnet {subnet_id}: {text}")]
    if found.get("MapPublicIpOnLaunch"):
        text = "gives instances public addresses, nodes have none; choose a private subnet"
        return [failed(f"subnet {subnet_id}: {text}")]
    try:
        gateway = _internet_gateway(clients, found)
    except AccountError as error:
        return [unknown(f"subnet {subnet_id}: whether it is private is {error}")]
    if gateway:
        text = f"its default route leads to {gateway}, but nodes have no public address; choose a private subnet"
        return [failed(f"subnet {subnet_id}: {text}")]
    return [passed(f"Validated subnet {subnet_id} ...")]


def _internet_gateway(clients: Clients, subnet: Record) -> str:
    """The internet gateway of the subnet's routes, or of the VPC's main ones where it has none of its own; or ""."""
    describe = clients.client("ec2").describe_route_tables
    own = [{"Name": "association.subnet-id", "Values": [subnet["SubnetId"]]}]
    tables = call("ec2:DescribeRouteTables", describe, Filters=own).get("RouteTables")
    if not tables:
        main = [{"Name": "vpc-id", "Values": [subnet["VpcId"]]}, {"Name": "association.main", "Values": ["true"]}]
        tables = call("ec2:DescribeRouteTables", describe, Filters=main).get("RouteTables")
    routes = [route for table in tables or () for route in table.get("Routes", ())]
    gateways = [str(route.get("GatewayId", "")) for route in routes if route.get("DestinationCidrBlock") == "0.0.0.0/0"]
    return next((one for one in gateways if one.startswith("igw-")), "")


def _same_vpc(subnets: Sequence[Record]) -> list[Check]:
    vpcs = {str(one.get("VpcId")): str(one["SubnetId"]) for one in reversed(subnets)}
    if len(vpcs) <= 1:
        return []
    listed = ", ".join(f"{subnet} in {vpc}" for vpc, subnet in sorted(vpcs.items(), key=lambda pair: pair[1]))
    return [failed(f"subnets: got {listed}, allowed: subnets of one VPC")]


def security_group_checks(subject: Subject, clients: Clients) -> list[Check]:
    """Every security group: it exists, and lets all traffic to and from itself pass (FACTS 2.1)."""
    ids = subject.security_group_ids
    if not ids:
        return []
    filters = [{"Name": "group-id", "Values": [*ids]}]
    try:
        answer = call("ec2:DescribeSecurityGroups", clients.client("ec2").describe_security_groups, Filters=filters)
    except AccountError as error:
        return [unknown(f"security group {one}: {error}") for one in ids]
    found = {str(one["GroupId"]): one for one in answer.get("SecurityGroups", ())}
    checks: list[Check] = []
    for one in ids:
        if one not in found:
            checks.append(
                failed(f"security group {one}: there is none in {clients.region}; check the id and the region")
            )
        else:
            checks += security_group_verdict(found[one], needs_efa=_needs_efa(subject, one))
    return checks + _of_vpc(found, subject, clients)


def _needs_efa(subject: Subject, group_id: str) -> bool:
    return any(group.uses_efa for group in subject.groups if group_id in group.security_group_ids)


def security_group_verdict(group: Record, *, needs_efa: bool) -> list[Check]:
    """The lines of one security group, ingress and egress.

    Args:
        group: as DescribeSecurityGroups shows it.
        needs_efa: whether instances in it use EFA, for which an open rule does not count: the rule must name the
            group itself.
    """
    return [
        _direction(group, "ingress", "IpPermissions", needs_efa),
        _direction(group, "egress", "IpPermissionsEgress", needs_efa),
    ]


def _direction(group: Record, word: str, member: str, needs_efa: bool) -> Check:
    group_id = str(group["GroupId"])
    rules = [rule for rule in group.get(member, ()) if rule.get("IpProtocol") == "-1"]
    if any(pair.get("GroupId") == group_id for rule in rules for pair in rule.get("UserIdGroupPairs", ())):
        return passed(f"Validated security group {group_id} {word} rules ...")
    is_open = any(block.get("CidrIp") == "0.0.0.0/0" for rule in rules for block in rule.get("IpRanges", ()))
    way = "from" if word == "ingress" else "to"
    cure = f"add a rule for all traffic {way} {group_id}"
    if is_open and not needs_efa:
        text = f"are open to everything instead of naming the group itself; for EFA {cure}"
        return warning(f"security group {group_id}: its {word} rules {text}")
    text = "no rule for all traffic names the group itself"
    more = ", and EFA does not take an open rule for one" if is_open else ""
    return failed(f"security group {group_id} {word}: {text}{more}; {cure}")


def _of_vpc(found: Mapping[str, Record], subject: Subject, clients: Clients) -> list[Check]:
    if not subject.subnet_ids or not found:
        return []
    try:
        subnets = find_subnets(clients, subject.subnet_ids)
    except AccountError:
        return []  # said at the subnets
    vpcs = {str(one.get("VpcId")) for one in subnets.values()}
    return [
        failed(
            f"security group {one}: is of {group.get('VpcId')}, the subnets of {', '.join(sorted(vpcs))}; use one VPC"
        )
        for one, group in found.items()
        if vpcs and group.get("VpcId") not in vpcs
    ]


def is_missing(error: AccountError) -> bool:
    """Whether the account says that there is no such thing."""
    return error.kind is Kind.NOT_FOUND
