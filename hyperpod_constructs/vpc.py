"""The VPC that a cluster's network makes when none is brought."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Fn, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

from hyperpod_constructs.addresses import DATABASE_ZONES, Layout
from hyperpod_constructs.helper_logs import RESTRICT_DEFAULT_GROUP, give_log_group


@dataclass(frozen=True, kw_only=True, slots=True)
class VpcOptions:
    """How the VPC is made.

    Attributes:
        layout: its address blocks.
        zones: names or ids of its Availability Zones; the region's first ones if empty.
        nat_gateways: NAT gateways; without any there is no public subnet.
        ipv6: whether VPC and subnets also have IPv6 addresses.
        flow_logs: whether its traffic is logged.
    """

    layout: Layout
    zones: Sequence[str] = ()
    nat_gateways: int = 1
    ipv6: bool = False
    flow_logs: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnVpc:
    """A VPC and the subnets that nodes use.

    Attributes:
        vpc: the VPC.
        node_subnets: one a zone, in the order of the zones.
        kept: further resources that a kept file system's subnet stands on.
    """

    vpc: ec2.Vpc
    node_subnets: tuple[ec2.ISubnet, ...]
    kept: tuple[Construct, ...] = ()


def create_vpc(scope: Construct, options: VpcOptions) -> OwnVpc:
    """Make the VPC: public subnets with NAT gateways, private subnets for nodes, S3 gateway endpoint, flow logs.

    Args:
        scope: the network.
        options: how.
    """
    vpc = _vpc(scope, options)
    give_log_group(scope, RESTRICT_DEFAULT_GROUP)
    kept: tuple[Construct, ...] = ()
    subnets: tuple[ec2.ISubnet, ...] = tuple(vpc.private_subnets or vpc.isolated_subnets)
    if options.layout.secondary is not None:
        block = ec2.CfnVPCCidrBlock(scope, "SecondaryCidr", vpc_id=vpc.vpc_id, cidr_block=str(options.layout.secondary))
        kept = (block,)
        subnets = tuple(_secondary_subnets(scope, vpc, block, options))
    _place(vpc, subnets, options.zones)
    # The scripts come from S3, and the path must not depend on a NAT gateway (FACTS 2.2).
    vpc.add_gateway_endpoint(
        "S3", service=ec2.GatewayVpcEndpointAwsService.S3, subnets=[ec2.SubnetSelection(subnets=list(subnets))]
    )
    if options.flow_logs:
        _log_traffic(scope, vpc)
    return OwnVpc(vpc=vpc, node_subnets=subnets, kept=kept)


def zone_placeholder(index: int) -> str:
    """A zone of the region by number: needs no look-up, so that synthesis needs no credentials.

    Args:
        index: 0 for the region's first.
    """
    return Fn.select(index, Fn.get_azs())


def database_subnets(scope: Construct, vpc: ec2.IVpc, layout: Layout, zones: Sequence[str]) -> list[ec2.ISubnet]:
    """Two small subnets without a route out, in two zones: what Aurora's subnet group wants.

    Args:
        scope: the network.
        vpc: a VPC of ours.
        layout: its address blocks.
        zones: names of zones to use; the region's first two if fewer than two are given.
    """
    named = [zone for zone in zones if "-az" not in zone]
    chosen = named if len(named) >= DATABASE_ZONES else [zone_placeholder(index) for index in range(DATABASE_ZONES)]
    return [
        ec2.PrivateSubnet(
            scope,
            f"DatabaseSubnet{index + 1}",
            vpc_id=vpc.vpc_id,
            availability_zone=zone,
            cidr_block=str(block),
            map_public_ip_on_launch=False,
        )
        for index, (zone, block) in enumerate(zip(chosen, layout.database_subnets, strict=False))
    ]


def _vpc(scope: Construct, options: VpcOptions) -> ec2.Vpc:
    layout, has_public = options.layout, options.nat_gateways > 0
    public = ec2.SubnetConfiguration(
        name="Public",
        subnet_type=ec2.SubnetType.PUBLIC,
        cidr_mask=layout.public_prefix,
        # Without NAT gateways only its addresses are set aside, so that gateways may come later.
        reserved=not has_public,
        map_public_ip_on_launch=False if has_public else None,
    )
    nodes = ec2.SubnetConfiguration(
        name="Nodes",
        subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS if has_public else ec2.SubnetType.PRIVATE_ISOLATED,
        cidr_mask=layout.node_prefix,
        ipv6_assign_address_on_creation=options.ipv6 or None,
    )
    in_first_block = [nodes] if layout.secondary is None else []
    by_name = options.zones and all("-az" not in zone for zone in options.zones)
    return ec2.Vpc(
        scope,
        "Vpc",
        ip_addresses=ec2.IpAddresses.cidr(str(layout.cidr)),
        ip_protocol=ec2.IpProtocol.DUAL_STACK if options.ipv6 else None,
        availability_zones=(
            list(options.zones) if by_name else [zone_placeholder(index) for index in range(layout.zones)]
        ),
        nat_gateways=options.nat_gateways,
        subnet_configuration=[public, *in_first_block],
    )


def _secondary_subnets(
    scope: Construct, vpc: ec2.Vpc, block: ec2.CfnVPCCidrBlock, options: VpcOptions
) -> list[ec2.PrivateSubnet]:
    subnets = []
    for index, (zone, cidr) in enumerate(zip(vpc.availability_zones, options.layout.secondary_subnets, strict=True)):
        subnet = ec2.PrivateSubnet(
            scope,
            f"NodesSubnet{index + 1}",
            vpc_id=vpc.vpc_id,
            availability_zone=zone,
            cidr_block=str(cidr),
            map_public_ip_on_launch=False,
        )
        subnet.node.add_dependency(block)
        if gateways := _nat_gateways(vpc):
            subnet.add_default_nat_route(gateways[index % len(gateways)].ref)
        subnets.append(subnet)
    return subnets


def _nat_gateways(vpc: ec2.Vpc) -> list[ec2.CfnNatGateway]:
    found = (subnet.node.try_find_child("NATGateway") for subnet in vpc.public_subnets)
    return [gateway for gateway in found if isinstance(gateway, ec2.CfnNatGateway)]


def _place(vpc: ec2.Vpc, node_subnets: Sequence[ec2.ISubnet], zones: Sequence[str]) -> None:
    """Say the zone by its id, which means the same place in every account (field report N-10)."""
    for group in (vpc.public_subnets, node_subnets):
        for subnet, zone in zip(group, zones, strict=False):
            resource = subnet.node.default_child
            if isinstance(resource, ec2.CfnSubnet):
                is_id = "-az" in zone
                resource.availability_zone_id = zone if is_id else None
                resource.availability_zone = None if is_id else zone


def _log_traffic(scope: Construct, vpc: ec2.Vpc) -> None:
    group = logs.LogGroup(
        scope, "FlowLogs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
    )
    vpc.add_flow_log("FlowLog", destination=ec2.FlowLogDestination.to_cloud_watch_logs(group))
