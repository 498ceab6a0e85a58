"""The cluster's network: VPC, the one zone that nodes and file systems share, security groups and their rules."""

from collections.abc import Sequence
from typing import Self

import jsii
from aws_cdk import CfnResource, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct, IConstruct, IDependable

from hyperpod_constructs import limits
from hyperpod_constructs.errors import Problem, SpecError
from hyperpod_constructs.rules.rule import bad_name
from hyperpod_constructs.security import ALL_TRAFFIC, LUSTRE_PORTS, OPEN_ZFS_PORTS, allow

_VPC_CIDR = "10.0.0.0/16"
_PUBLIC_MASK = 24
_PRIVATE_MASK = 17
_AWS_RESERVED_ADDRESSES = 5  # VPC user guide, subnet sizing


@jsii.implements(ec2.IConnectable)
class ClusterNetwork(Construct):
    """The network of a cluster.

    Without arguments it makes a VPC in one Availability Zone, because EFA and FSx for Lustre cannot cross zones
    (FACTS 2): a public subnet with a NAT gateway, a large private subnet for nodes and file systems (a P5 node takes
    32 addresses), an S3 gateway endpoint, and flow logs.

    Args:
        scope: parent construct.
        id: construct id.
        vpc: an existing VPC; see :meth:`from_vpc`. By default a new one.
        subnets: private subnets of ``vpc`` for nodes and file systems; by default the first private subnet of the
            VPC. The first of them holds the file systems.
        security_group: an existing group for the nodes; rules are added to it. By default a new one.
        availability_zone: name of the zone of a new VPC, such as ``us-east-1a``; by default the region's first.
        nat_gateways: 0 or 1 NAT gateway of a new VPC; 1 by default. Without one, nodes reach AWS only through
            endpoints.
        flow_logs: whether a new VPC logs its traffic to CloudWatch; on by default.

    Raises:
        SpecError: arguments that contradict each other.

    Example:
        >>> from aws_cdk import App, Stack
        >>> network = ClusterNetwork(Stack(App(), "Network"), "Network", availability_zone="us-east-1a")
        >>> network.availability_zone
        'us-east-1a'
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc | None = None,
        subnets: Sequence[ec2.ISubnet] = (),
        security_group: ec2.ISecurityGroup | None = None,
        availability_zone: str = "",
        nat_gateways: int = 1,
        flow_logs: bool = True,
    ) -> None:
        _check(vpc, subnets, availability_zone, nat_gateways)
        super().__init__(scope, id)
        self.is_owned = vpc is None
        self.zone_was_chosen = vpc is not None or bool(availability_zone)
        self.vpc: ec2.IVpc = vpc or self._create_vpc(availability_zone, nat_gateways, flow_logs)
        self.subnets: tuple[ec2.ISubnet, ...] = tuple(subnets) or (_first_private_subnet(self.vpc),)
        self.security_group: ec2.ISecurityGroup = security_group or self._create_group(
            "NodeSecurityGroup", "Nodes of the HyperPod cluster", allow_all_outbound=True
        )
        self.node_rules = Construct(self, "NodeRules")
        allow(self.node_rules, self.security_group, self.security_group, [ALL_TRAFFIC], "NodesToNodes")
        self._access: dict[str, tuple[ec2.ISecurityGroup, IDependable]] = {}

    @classmethod
    def from_vpc(
        cls,
        scope: Construct,
        id: str,
        vpc: ec2.IVpc,
        *,
        subnets: Sequence[ec2.ISubnet] = (),
        security_group: ec2.ISecurityGroup | None = None,
    ) -> Self:
        """Use an existing VPC. It keeps its routes and endpoints: nodes need a way to S3 (FACTS 2.2).

        Args:
            scope: parent construct.
            id: construct id.
            vpc: the VPC; may be looked up or imported.
            subnets: private subnets for nodes and file systems; by default the VPC's first private subnet.
            security_group: existing group for the nodes; rules are added to it. By default a new one.
        """
        return cls(scope, id, vpc=vpc, subnets=subnets, security_group=security_group)

    @property
    def connections(self) -> ec2.Connections:
        """Who may connect to the nodes, and whom they may connect to."""
        return ec2.Connections(security_groups=[self.security_group])

    @property
    def availability_zone(self) -> str:
        """Zone of the file systems and, unless a group says otherwise, of the nodes; may be a token."""
        return self.subnets[0].availability_zone

    @property
    def subnet_address_count(self) -> int | None:
        """Usable addresses of the cluster's subnet; ``None`` where the subnet is not ours and its size is unknown."""
        return 2 ** (32 - _PRIVATE_MASK) - _AWS_RESERVED_ADDRESSES if self.is_owned else None

    def add_lustre_access(self, *, efa: bool = False) -> tuple[ec2.ISecurityGroup, IDependable]:
        """Make, once, the group of FSx for Lustre file systems, with rules to and from the nodes (FACTS 2.1).

        Args:
            efa: also allow all traffic between the group, itself and the nodes, as file systems with EFA need.

        Returns:
            The group, and the rules, which a file system must wait for (field report N-02).
        """
        name = "LustreEfa" if efa else "Lustre"
        if name not in self._access:
            group, rules = self._create_access(name)
            ports = [ALL_TRAFFIC] if efa else LUSTRE_PORTS
            allow(rules, self.security_group, group, ports, f"NodesTo{name}")
            allow(rules, group, self.security_group, ports, f"{name}ToNodes")
            allow(rules, group, group, ports, f"{name}To{name}")
        return self._access[name]

    def add_open_zfs_access(self) -> tuple[ec2.ISecurityGroup, IDependable]:
        """Make, once, the group of FSx for OpenZFS file systems, with rules from the nodes (FACTS 2.1).

        Returns:
            The group, and the rules, which a file system must wait for.
        """
        if "OpenZfs" not in self._access:
            group, rules = self._create_access("OpenZfs")
            allow(rules, self.security_group, group, OPEN_ZFS_PORTS, "NodesToOpenZfs")
        return self._access["OpenZfs"]

    def retain(self) -> None:
        """Keep what a kept file system stands on when the stack goes: VPC, subnets and its group, if they are ours."""
        kept: list[IConstruct] = [group for group, _ in self._access.values()]
        if self.is_owned:
            kept += [self.vpc, *self.vpc.public_subnets, *self.vpc.private_subnets]
        for construct in kept:
            resource = construct.node.default_child
            if isinstance(resource, CfnResource):
                resource.apply_removal_policy(RemovalPolicy.RETAIN)

    def _create_vpc(self, availability_zone: str, nat_gateways: int, flow_logs: bool) -> ec2.Vpc:
        nodes_reach_out = nat_gateways > 0
        kind = ec2.SubnetType.PRIVATE_WITH_EGRESS if nodes_reach_out else ec2.SubnetType.PRIVATE_ISOLATED
        public = ec2.SubnetConfiguration(name="Public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=_PUBLIC_MASK)
        nodes = ec2.SubnetConfiguration(name="Nodes", subnet_type=kind, cidr_mask=_PRIVATE_MASK)
        vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(_VPC_CIDR),
            availability_zones=[availability_zone] if availability_zone else None,
            max_azs=None if availability_zone else 1,
            nat_gateways=nat_gateways,
            subnet_configuration=[public, nodes] if nodes_reach_out else [nodes],
            # The scripts come from S3, and the path must not depend on a NAT gateway (FACTS 2.2).
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
        )
        if flow_logs:
            group = logs.LogGroup(
                self, "FlowLogs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
            )
            vpc.add_flow_log("FlowLog", destination=ec2.FlowLogDestination.to_cloud_watch_logs(group))
        return vpc

    def _create_group(self, id: str, description: str, *, allow_all_outbound: bool) -> ec2.SecurityGroup:
        return ec2.SecurityGroup(self, id, vpc=self.vpc, description=description, allow_all_outbound=allow_all_outbound)

    def _create_access(self, name: str) -> tuple[ec2.SecurityGroup, Construct]:
        group = self._create_group(f"{name}SecurityGroup", f"FSx file systems ({name})", allow_all_outbound=False)
        rules = Construct(self, f"{name}Rules")
        self._access[name] = (group, rules)
        return group, rules


def _first_private_subnet(vpc: ec2.IVpc) -> ec2.ISubnet:
    subnets = [*vpc.private_subnets, *vpc.isolated_subnets]
    if not subnets:
        message = "the VPC has no private subnet, allowed: at least one; give the nodes' subnets with subnets=[...]"
        raise SpecError([Problem(path="network.vpc", message=message)], subject="network")
    return subnets[0]


def _check(vpc: ec2.IVpc | None, subnets: Sequence[ec2.ISubnet], availability_zone: str, nat_gateways: int) -> None:
    problems = []
    if subnets and vpc is None:
        problems.append(Problem(path="network.subnets", message="given without vpc; give the VPC that they belong to"))
    if vpc is not None and availability_zone:
        message = "given together with vpc; choose the zone by choosing subnets of the VPC"
        problems.append(Problem(path="network.availability_zone", message=message))
    if availability_zone and (message := bad_name(availability_zone, limits.AVAILABILITY_ZONE) or ""):
        problems.append(Problem(path="network.availability_zone", message=message))
    if nat_gateways not in (0, 1):
        message = f"got {nat_gateways}, allowed: 0 or 1, since nodes live in one Availability Zone"
        problems.append(Problem(path="network.nat_gateways", message=message))
    if problems:
        raise SpecError(problems, subject="network")
