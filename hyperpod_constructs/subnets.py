"""Which subnets of a brought VPC nodes use; lookups and tokens are taken as they come."""

from collections.abc import Sequence

from aws_cdk import Token
from aws_cdk import aws_ec2 as ec2

from hyperpod_constructs.addresses import parse_block, usable_addresses
from hyperpod_constructs.errors import Problem, SpecError


def chosen_subnets(
    vpc: ec2.IVpc, chosen: Sequence[ec2.ISubnet] | ec2.SubnetSelection
) -> tuple[tuple[ec2.ISubnet, ...], dict[str, ec2.ISubnet]]:
    """The cluster's subnets, and the subnet of each zone that is known.

    Several subnets in one zone are all the cluster's; those of other zones wait for groups that name them, since the
    service puts a group into one zone of its own choice (FACTS 2).

    Args:
        vpc: a brought VPC.
        chosen: what the user gave; empty for the VPC's first private subnet.

    Raises:
        SpecError: there is no such subnet.
    """
    if isinstance(chosen, ec2.SubnetSelection):
        subnets = list(vpc.select_subnets(**chosen._values).subnets)
    else:
        subnets = list(chosen)
    private = [*vpc.private_subnets, *vpc.isolated_subnets]
    if not subnets and not private:
        message = "the VPC has no private subnet, allowed: at least one; give the nodes' subnets with subnets=[...]"
        raise SpecError([Problem(path="network.vpc", message=message)], subject="network")
    first = (subnets or private)[0]
    own = tuple(subnet for subnet in subnets or [first] if zone_of(subnet) == zone_of(first))
    zones: dict[str, ec2.ISubnet] = {}
    for subnet in subnets or private:
        if zone := zone_of(subnet):
            zones.setdefault(zone, subnet)
    return own, zones


def zone_of(subnet: ec2.ISubnet) -> str:
    """Zone of a subnet; empty where the import does not say."""
    try:
        return subnet.availability_zone
    except RuntimeError:  # CDK: an import by id alone has none
        return ""


def address_count(subnets: Sequence[ec2.ISubnet]) -> int | None:
    """Usable addresses of some subnets together; ``None`` where the size of one is not known."""
    counts = [_addresses_of(subnet) for subnet in subnets]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _addresses_of(subnet: ec2.ISubnet) -> int | None:
    try:
        cidr = subnet.ipv4_cidr_block
    except RuntimeError:  # CDK: an import by id alone has none
        return None
    block = None if Token.is_unresolved(cidr) else parse_block(cidr)
    return usable_addresses(block.prefixlen) if block else None
