"""Address arithmetic: the documented numbers, and subnets that never overlap."""

from ipaddress import IPv4Network
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from hyperpod_constructs import ComputeGroup, ControllerGroup, LoginGroup
from hyperpod_constructs.addresses import addresses_needed, layout_problems, plan_layout, usable_addresses

if TYPE_CHECKING:
    from hyperpod_constructs.specs import Group


@pytest.mark.parametrize(("prefix", "usable"), [(16, 65531), (17, 32763), (24, 251), (28, 11)])
def test_aws_keeps_five_addresses_of_every_subnet(prefix: int, usable: int) -> None:
    assert usable_addresses(prefix) == usable


def test_a_p5_takes_32_addresses_and_other_nodes_at_least_one() -> None:
    groups: list[Group] = [
        ControllerGroup(instance_type="ml.m5.xlarge"),
        LoginGroup(instance_type="ml.m5.xlarge", instance_count=2),
        ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=16),
    ]
    assert addresses_needed(groups) == 1 + 2 + 16 * 32


def test_of_several_instance_types_the_hungriest_counts() -> None:
    types = ["ml.m5.xlarge", "ml.p5.48xlarge"]
    assert addresses_needed([ComputeGroup(name="mixed", instance_types=types, instance_count=2)]) == 64


@pytest.mark.parametrize(
    ("cidr", "zones", "node_prefix", "public_prefix"),
    [
        ("10.0.0.0/16", 1, 17, 24),
        ("10.0.0.0/16", 2, 18, 24),
        ("10.0.0.0/16", 3, 18, 24),
        ("10.0.0.0/16", 4, 19, 24),
        ("10.0.0.0/24", 1, 25, 27),
        ("10.0.0.0/25", 1, 26, 28),
    ],
)
def test_nodes_get_the_largest_blocks_that_leave_one_for_everything_else(
    cidr: str, zones: int, node_prefix: int, public_prefix: int
) -> None:
    layout = plan_layout(cidr=cidr, zones=zones)
    assert (layout.node_prefix, layout.public_prefix) == (node_prefix, public_prefix)


_ACCEPTED = [
    (prefix, zones)
    for prefix in range(16, 29)
    for zones in range(1, 7)
    if not list(layout_problems(cidr=f"10.0.0.0/{prefix}", zones=zones))
]


@pytest.mark.parametrize(("prefix", "zones"), _ACCEPTED)
def test_no_two_subnets_overlap_in_any_layout_that_is_accepted(prefix: int, zones: int) -> None:
    layout = plan_layout(cidr=f"10.0.0.0/{prefix}", zones=zones)
    public = list(layout.cidr.subnets(new_prefix=layout.public_prefix))[:zones]
    nodes = list(layout.cidr.subnets(new_prefix=layout.node_prefix))[1 : zones + 1]
    subnets = [*public, *nodes, *layout.database_subnets]
    assert len(nodes) == zones
    assert len(layout.database_subnets) == 2
    assert not [pair for pair in combinations(subnets, 2) if pair[0].overlaps(pair[1])]
    assert all(subnet.prefixlen <= 28 and subnet.subnet_of(layout.cidr) for subnet in subnets)


def test_with_a_second_block_nodes_fill_it() -> None:
    layout = plan_layout(cidr="10.0.0.0/16", secondary_cidr="100.64.0.0/16", zones=2)
    assert layout.secondary_subnets == (IPv4Network("100.64.0.0/17"), IPv4Network("100.64.128.0/17"))
    assert all(subnet.subnet_of(layout.cidr) for subnet in layout.database_subnets)


@pytest.mark.parametrize(
    ("arguments", "path", "words"),
    [
        ({"cidr": "10.0.0.0/8"}, "cidr", "/16 to /25"),
        ({"cidr": "10.0.0.0/26"}, "cidr", "/16 to /25"),
        ({"cidr": "10.0.0.0/24", "zones": 3}, "cidr", "/16 to /23"),
        ({"cidr": "10.0.0.1/16"}, "cidr", "no bits set"),
        ({"cidr": "fd00::/56"}, "cidr", "an IPv4 block"),
        ({"cidr": "10.0.0.0/16", "secondary_cidr": "10.0.128.0/17"}, "secondary_cidr", "overlaps"),
        ({"cidr": "10.0.0.0/24", "needed": 200}, "cidr", "need 200 addresses, the subnet in 10.0.0.0/24 has 123"),
        (
            {"cidr": "10.0.0.0/24", "secondary_cidr": "100.64.0.0/20", "needed": 5000},
            "secondary_cidr",
            "100.64.0.0/20 has 4091",
        ),
    ],
)
def test_a_block_that_cannot_hold_the_cluster_is_refused_with_the_numbers(
    arguments: dict[str, object], path: str, words: str
) -> None:
    ((found, message),) = layout_problems(**arguments)  # type: ignore[arg-type]
    assert found == path
    assert words in message
