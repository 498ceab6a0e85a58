"""What is wrong with the arguments of a network, all at once."""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2

from hyperpod_constructs import limits
from hyperpod_constructs.addresses import layout_problems
from hyperpod_constructs.endpoints import unknown_services
from hyperpod_constructs.errors import Problem
from hyperpod_constructs.rules.rule import bad_name, repeated


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """The arguments of ``ClusterNetwork`` that can be wrong; explained there."""

    vpc: ec2.IVpc | None
    subnets_given: bool
    availability_zone: str
    availability_zones: tuple[str, ...]
    cidr: str
    secondary_cidr: str
    address_count: int
    nat_gateways: int | None
    interface_endpoints: tuple[str, ...]
    ipv6: bool

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones that were named."""
        return self.availability_zones or ((self.availability_zone,) if self.availability_zone else ())

    @property
    def zone_count(self) -> int:
        """How many zones have nodes."""
        return len(self.zones) or 1


def network_problems(choices: Choices, *, default_cidr: str) -> list[Problem]:
    """Everything that is wrong.

    Args:
        choices: the arguments.
        default_cidr: block of a new VPC for which none is given.
    """
    found = [*(_brought(choices) if choices.vpc is not None else _new(choices, default_cidr))]
    return [
        *(Problem(path=f"network.{name}", message=message) for name, message in found),
        *unknown_services(choices.interface_endpoints),
    ]


def _brought(choices: Choices) -> Iterator[tuple[str, str]]:
    if getattr(choices.vpc, "dns_support_enabled", None) is False:
        yield "vpc", "it has no DNS support, allowed: enableDnsSupport, for file systems are found by name; turn it on"
    options = {
        "availability_zone": "choose the zone by choosing subnets of the VPC",
        "availability_zones": "choose zones by choosing subnets of the VPC",
        "cidr": "the VPC has its own",
        "secondary_cidr": "the VPC has its own; choose subnets in it",
        "nat_gateways": "the VPC has its own routes",
        "ipv6": "nodes use both kinds of addresses where the VPC and its subnets have them",
    }
    for name, advice in options.items():
        if getattr(choices, name) not in ("", (), None, False):
            yield name, f"given together with vpc, allowed: one of them; {advice}"


def _new(choices: Choices, default_cidr: str) -> Iterator[tuple[str, str]]:
    if choices.subnets_given:
        yield "subnets", "given without vpc; give the VPC that they belong to"
    if choices.availability_zone and choices.availability_zones:
        yield "availability_zone", "given together with availability_zones, allowed: one of them; use the list"
    name = "availability_zones" if choices.availability_zones else "availability_zone"
    for index, zone in enumerate(choices.zones):
        path = f"{name}[{index}]" if choices.availability_zones else name
        if message := bad_name(zone, limits.AVAILABILITY_ZONE):
            yield path, message
    for index, first in repeated(choices.zones):
        yield f"{name}[{index}]", f'got "{choices.zones[index]}" as in [{first}] too, allowed: once; drop it'
    if choices.nat_gateways is not None and not 0 <= choices.nat_gateways <= choices.zone_count:
        yield "nat_gateways", f"got {choices.nat_gateways}, allowed: 0 to {choices.zone_count}, one a zone at most"
    if choices.ipv6 and choices.secondary_cidr:
        yield "ipv6", "given together with secondary_cidr, allowed: one of them; bring a VPC for both, with from_vpc"
    yield from layout_problems(
        cidr=choices.cidr or default_cidr,
        secondary_cidr=choices.secondary_cidr,
        zones=choices.zone_count,
        needed=choices.address_count,
    )
