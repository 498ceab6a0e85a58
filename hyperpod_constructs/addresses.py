"""Address arithmetic of a cluster's VPC: how large its subnets are and where they lie. Standard library only."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network

from hyperpod_constructs.instance_types import subnet_addresses
from hyperpod_constructs.specs import Group

RESERVED_BY_AWS = 5
"""Addresses of every subnet that AWS keeps (VPC user guide, subnet sizing)."""

LARGEST_PREFIX, SMALLEST_PREFIX = 16, 28  # VPC user guide: a VPC and a subnet have /16 to /28
_PUBLIC_PREFIX = 24
_DATABASE_PREFIX = 27  # Aurora wants subnets in two zones; 27 addresses each are ample for its instances
DATABASE_ZONES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Where the subnets of a VPC lie.

    Attributes:
        cidr: of the VPC.
        zones: number of Availability Zones with nodes.
        node_prefix: prefix length of each subnet of nodes.
        public_prefix: prefix length of each public subnet.
        secondary: second CIDR block, which then holds the nodes; none if the nodes are in ``cidr``.
    """

    cidr: IPv4Network
    zones: int
    node_prefix: int
    public_prefix: int
    secondary: IPv4Network | None = None

    @property
    def node_addresses(self) -> int:
        """Addresses that the nodes and file systems of one zone can have."""
        return usable_addresses(self.node_prefix)

    @property
    def secondary_subnets(self) -> tuple[IPv4Network, ...]:
        """The nodes' subnets in the second block, one a zone; none without such a block."""
        if self.secondary is None:
            return ()
        return tuple(self.secondary.subnets(new_prefix=self.node_prefix))[: self.zones]

    @property
    def database_subnets(self) -> tuple[IPv4Network, ...]:
        """Two small blocks that no other subnet uses, for a database."""
        # Public subnets grow from the start of the first block, so its end is free; the nodes begin after it.
        prefix = self.node_prefix if self.secondary is None else self.cidr.prefixlen + 1
        first = next(self.cidr.subnets(new_prefix=prefix))
        # A public subnet's size divides the first block into enough parts for both kinds.
        size = max(_DATABASE_PREFIX, self.public_prefix)
        return tuple(first.subnets(new_prefix=size))[-DATABASE_ZONES:]


def usable_addresses(prefix: int) -> int:
    """Addresses that a subnet of a prefix length has for us.

    Args:
        prefix: prefix length, such as 17.
    """
    return (1 << (32 - prefix)) - RESERVED_BY_AWS


def addresses_needed(groups: Iterable[Group]) -> int:
    """Subnet addresses that the instances of some groups take (FACTS 2: one P5 takes 32).

    Args:
        groups: of a cluster; of several instance types the hungriest counts.
    """
    return sum((group.instance_count or 0) * _each(group) for group in groups)


def _each(group: Group) -> int:
    return max((subnet_addresses(name) for name in group.all_instance_types), default=1)


def parse_block(text: str) -> IPv4Network | None:
    """The network that a CIDR block means, or ``None`` if it means none.

    Args:
        text: such as ``10.0.0.0/16``; no bits set behind the prefix.
    """
    try:
        network = ip_network(text)
    except ValueError:
        return None
    return network if isinstance(network, IPv4Network) else None


def plan_layout(*, cidr: str, secondary_cidr: str = "", zones: int = 1) -> Layout:
    """Divide a VPC: one block a zone for nodes, the rest for public and database subnets.

    Args:
        cidr: of the VPC; one that :func:`layout_problems` accepts.
        secondary_cidr: second block for the nodes; none by default.
        zones: Availability Zones with nodes.
    """
    block, second = ip_network(cidr), ip_network(secondary_cidr) if secondary_cidr else None
    assert isinstance(block, IPv4Network)  # noqa: S101  layout_problems() has refused anything else
    assert second is None or isinstance(second, IPv4Network)  # noqa: S101
    # One block more than zones, so that public subnets have a place; with a block of their own, nodes fill it.
    node_prefix = block.prefixlen + _bits(zones + 1) if second is None else second.prefixlen + _bits(zones)
    first_prefix = node_prefix if second is None else block.prefixlen + 1
    public_prefix = min(SMALLEST_PREFIX, max(_PUBLIC_PREFIX, first_prefix + _bits(zones + DATABASE_ZONES)))
    return Layout(cidr=block, zones=zones, node_prefix=node_prefix, public_prefix=public_prefix, secondary=second)


def layout_problems(
    *, cidr: str, secondary_cidr: str = "", zones: int = 1, needed: int = 0
) -> Iterator[tuple[str, str]]:
    """What is wrong with the blocks, as pairs of the argument's name and a message.

    Args:
        cidr: of the VPC.
        secondary_cidr: second block for the nodes; empty for none.
        zones: Availability Zones with nodes.
        needed: addresses that nodes and file systems need in one zone.
    """
    blocks = {"cidr": cidr, **({"secondary_cidr": secondary_cidr} if secondary_cidr else {})}
    parsed = {name: parse_block(text) for name, text in blocks.items()}
    smallest = SMALLEST_PREFIX - _bits(zones + 1) - _bits(zones + DATABASE_ZONES)
    for name, block in parsed.items():
        low = smallest if name == "cidr" else SMALLEST_PREFIX - _bits(zones)
        if block is None or not LARGEST_PREFIX <= block.prefixlen <= low:
            yield (
                name,
                (
                    f'got "{blocks[name]}", allowed: an IPv4 block of /{LARGEST_PREFIX} to /{low} for {zones} zones, '
                    "no bits set behind the prefix, such as 10.0.0.0/16"
                ),
            )
            return
    first, second = parsed["cidr"], parsed.get("secondary_cidr")
    if first is not None and second is not None and first.overlaps(second):
        yield "secondary_cidr", f"got {second}, which overlaps {first}, allowed: another block, such as 100.64.0.0/16"
        return
    have = plan_layout(cidr=cidr, secondary_cidr=secondary_cidr, zones=zones).node_addresses
    if needed > have:
        message = (
            f"nodes and file systems need {needed} addresses, the subnet in {second or first} has {have}; give a "
            f"larger block, since a subnet cannot grow: secondary_cidr=100.64.0.0/16 has "
            f"{usable_addresses(LARGEST_PREFIX)} in one zone"
        )
        yield "secondary_cidr" if secondary_cidr else "cidr", message


def _bits(count: int) -> int:
    """Bits that tell so many blocks apart."""
    return math.ceil(math.log2(count))
