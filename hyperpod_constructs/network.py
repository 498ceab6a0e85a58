"""The cluster's network: VPC, the zones that nodes and file systems share, security groups and their rules."""

from collections.abc import Sequence
from typing import Self

import jsii
from aws_cdk import CfnResource, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IConstruct, IDependable

from hyperpod_constructs.addresses import Layout, plan_layout
from hyperpod_constructs.endpoints import BASE_SERVICES, endpoint_of, existing_services
from hyperpod_constructs.errors import SpecError
from hyperpod_constructs.network_access import DATABASE, ENDPOINTS, LUSTRE, LUSTRE_EFA, OPEN_ZFS, Kind, NetworkAccess
from hyperpod_constructs.network_checks import Choices, network_problems
from hyperpod_constructs.security import allow_https_out
from hyperpod_constructs.subnets import address_count, chosen_subnets, zone_of
from hyperpod_constructs.vpc import OwnVpc, VpcOptions, create_vpc, database_subnets

_VPC_CIDR = "10.0.0.0/16"


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
        subnets: private subnets of ``vpc`` for nodes and file systems, or a selection of them; by default the first
            private subnet of the VPC. The zone of the first holds the cluster and its file systems; groups that name
            another zone get the subnet there.
        security_group: an existing group for the nodes; rules are added to it. An import with ``mutable=False`` gets
            none, and a warning lists what it must have. By default a new group.
        availability_zone: zone of a new VPC, by name (``us-east-1a``) or id (``use1-az4``, the same place in every
            account); by default the region's first.
        availability_zones: several zones of a new VPC, for groups that name theirs; the first is the cluster's.
        cidr: address block of a new VPC; ``10.0.0.0/16`` by default.
        secondary_cidr: second block of a new VPC, which then holds the nodes; none by default. ``100.64.0.0/16`` is
            what networks use that are short of addresses.
        address_count: addresses that nodes need in one zone; too small a block is refused. See ``addresses_needed``.
        nat_gateways: of a new VPC, 0 to the number of zones; 1 by default. Without one, nodes reach AWS only through
            endpoints, and interface endpoints are made.
        interface_endpoints: services behind ``com.amazonaws.<region>.`` with an interface endpoint; by default
            ``BASE_SERVICES`` in a new VPC without NAT gateways, none otherwise. Each is billed by the hour.
        internet_egress: whether nodes may connect anywhere; by default where a NAT gateway or your own VPC gives
            them a route. Otherwise only inside, and to AWS over HTTPS.
        ipv6: whether a new VPC has IPv6 addresses too; nodes then use both (FACTS 2). Off by default.
        flow_logs: whether a new VPC logs its traffic to CloudWatch; on by default.

    Raises:
        SpecError: with every problem of the arguments.

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
        subnets: Sequence[ec2.ISubnet] | ec2.SubnetSelection = (),
        security_group: ec2.ISecurityGroup | None = None,
        availability_zone: str = "",
        availability_zones: Sequence[str] = (),
        cidr: str = "",
        secondary_cidr: str = "",
        address_count: int = 0,
        nat_gateways: int | None = None,
        interface_endpoints: Sequence[str] | None = None,
        internet_egress: bool | None = None,
        ipv6: bool = False,
        flow_logs: bool = True,
    ) -> None:
        choices = Choices(
            vpc=vpc,
            subnets_given=bool(subnets),
            availability_zone=availability_zone,
            availability_zones=tuple(availability_zones),
            cidr=cidr,
            secondary_cidr=secondary_cidr,
            address_count=address_count,
            nat_gateways=nat_gateways,
            interface_endpoints=tuple(interface_endpoints or ()),
            ipv6=ipv6,
        )
        if problems := network_problems(choices, default_cidr=_VPC_CIDR):
            raise SpecError(problems, subject="network")
        super().__init__(scope, id)
        self.is_owned = vpc is None
        self.zone_was_chosen = vpc is not None or bool(choices.zones)
        self._layout: Layout | None = None
        self._kept: tuple[Construct, ...] = ()
        self._database_subnets: list[ec2.ISubnet] = []
        if vpc is None:
            gateways = 1 if nat_gateways is None else nat_gateways
            layout = plan_layout(cidr=cidr or _VPC_CIDR, secondary_cidr=secondary_cidr, zones=choices.zone_count)
            options = VpcOptions(
                layout=layout, zones=choices.zones, nat_gateways=gateways, ipv6=ipv6, flow_logs=flow_logs
            )
            self._use_own(create_vpc(self, options), options)
        else:
            self._use_brought(vpc, subnets)
        self.is_isolated = self.is_owned and nat_gateways == 0
        reaches_out = not self.is_isolated if internet_egress is None else internet_egress
        self.security_group: ec2.ISecurityGroup = self._create_node_group(security_group, reaches_out, ipv6)
        self._access = NetworkAccess(self, self.vpc, self.security_group)
        self._endpoints: dict[str, ec2.InterfaceVpcEndpoint] = {}
        self.chooses_endpoints = self.is_isolated and interface_endpoints is None
        default = BASE_SERVICES if self.is_isolated else ()
        self.add_interface_endpoints(*(default if interface_endpoints is None else interface_endpoints))

    @classmethod
    def from_vpc(
        cls,
        scope: Construct,
        id: str,
        vpc: ec2.IVpc,
        *,
        subnets: Sequence[ec2.ISubnet] | ec2.SubnetSelection = (),
        security_group: ec2.ISecurityGroup | None = None,
        interface_endpoints: Sequence[str] = (),
        internet_egress: bool | None = None,
    ) -> Self:
        """Use an existing VPC. It keeps its routes and endpoints: nodes need a way to S3 (FACTS 2.2).

        A VPC that this app makes and that has no S3 gateway endpoint gets one; of an imported VPC we cannot know.

        Args:
            scope: parent construct.
            id: construct id.
            vpc: the VPC; may be looked up or imported.
            subnets: private subnets for nodes and file systems, or a selection of them; by default the VPC's first.
            security_group: existing group for the nodes; rules are added to it. By default a new one.
            interface_endpoints: services that get an interface endpoint; none by default.
            internet_egress: whether nodes may connect anywhere; they may by default.
        """
        return cls(
            scope,
            id,
            vpc=vpc,
            subnets=subnets,
            security_group=security_group,
            interface_endpoints=interface_endpoints,
            internet_egress=internet_egress,
        )

    @property
    def connections(self) -> ec2.Connections:
        """Who may connect to the nodes, and whom they may connect to."""
        return ec2.Connections(security_groups=[self.security_group])

    @property
    def subnet_address_count(self) -> int | None:
        """Usable addresses of the cluster's subnet; ``None`` where its size is not known at synth time."""
        return self._layout.node_addresses if self._layout is not None else address_count(self.subnets)

    @property
    def reserved_address_count(self) -> int:
        """Addresses of that subnet that interface endpoints take."""
        return len(self._endpoints)

    def subnet_in(self, zone: str) -> ec2.ISubnet | None:
        """The subnet for nodes in a zone, or ``None`` if the network has none that is known to be there.

        Args:
            zone: name or id of the zone, as it was given.
        """
        return self._zones.get(zone)

    def add_lustre_access(self, *, efa: bool = False) -> tuple[ec2.ISecurityGroup, IDependable]:
        """Make, once, the group of FSx for Lustre file systems, with rules to and from the nodes (FACTS 2.1).

        Args:
            efa: also allow all traffic between the group, itself and the nodes, as file systems with EFA need.

        Returns:
            The group, and the rules, which a file system must wait for (field report N-02).
        """
        return self._access.to(LUSTRE_EFA if efa else LUSTRE)

    def add_open_zfs_access(self) -> tuple[ec2.ISecurityGroup, IDependable]:
        """The same for FSx for OpenZFS, which opens no connections itself (FACTS 2.1)."""
        return self._access.to(OPEN_ZFS)

    def add_database_access(self) -> tuple[ec2.ISecurityGroup, IDependable]:
        """The same for the accounting database, reached from the nodes only (FACTS 2.1)."""
        return self._access.to(DATABASE)

    def add_interface_endpoints(self, *services: str) -> None:
        """Make interface endpoints that nodes may use, except where this app makes one for the same service already.

        Args:
            services: of the table in ``endpoints.ENDPOINTS``, such as ``ecr.api``.
        """
        existing = existing_services(self.vpc) if services else set()
        for service in services:
            if service in existing:
                continue
            group, _ = self._access.to(ENDPOINTS)
            self._endpoints[service] = ec2.InterfaceVpcEndpoint(
                self,
                f"{endpoint_of(service).id}Endpoint",
                vpc=self.vpc,
                service=ec2.InterfaceVpcEndpointAwsService(service),
                subnets=ec2.SubnetSelection(subnets=[self.subnets[0]]),
                security_groups=[group],
                open=False,
            )

    def admit(self, scope: Construct, name: str, group: ec2.ISecurityGroup, *, beside_nodes: bool = False) -> None:
        """Let a further security group's nodes take part: with each other, the other nodes, and the file systems.

        Every group that is attached to a node must name itself (FACTS 2.1).

        Args:
            scope: where the rules are made; of the stack that uses the group, so that stacks stay without a cycle.
            name: for logical ids; part of the contract.
            group: the further group.
            beside_nodes: whether its nodes are in the network's own group too; they are not by default.
        """
        self._access.admit(scope, name, group, beside_nodes=beside_nodes)

    def connect(self, scope: Construct, kind: Kind, group: ec2.ISecurityGroup) -> None:
        """Add the rules between the nodes and the security group of something that exists already.

        Args:
            scope: where the rules are made.
            kind: what it is; of ``network_access``.
            group: its security group.
        """
        self._access.connect(scope, kind, group)

    def database_subnets(self) -> list[ec2.ISubnet]:
        """Subnets for a database, in two zones where the VPC is ours; otherwise the VPC's private ones."""
        if not self._database_subnets:
            self._database_subnets = (
                database_subnets(self, self.vpc, self._layout, self.zones)
                if self._layout is not None
                else [*self.vpc.private_subnets, *self.vpc.isolated_subnets]
            )
        return self._database_subnets

    def retain(self, group: ec2.ISecurityGroup) -> None:
        """Keep what a kept file system or database stands on when the stack goes, as far as it is ours.

        Args:
            group: its security group.
        """
        kept: list[IConstruct] = [group, *self._kept]
        if self.is_owned:
            kept += [self.vpc, *self.subnets, *self._zones.values(), *self._database_subnets]
        for construct in kept:
            resource = construct if isinstance(construct, CfnResource) else construct.node.default_child
            if isinstance(resource, CfnResource):
                resource.apply_removal_policy(RemovalPolicy.RETAIN)

    def _use_own(self, own: OwnVpc, options: VpcOptions) -> None:
        self.vpc: ec2.IVpc = own.vpc
        self.subnets: tuple[ec2.ISubnet, ...] = own.node_subnets[:1]
        self.zones: tuple[str, ...] = tuple(options.zones)
        self._zones = dict(zip(options.zones, own.node_subnets, strict=False))
        self.availability_zone = options.zones[0] if options.zones else self.subnets[0].availability_zone
        self._layout, self._kept = options.layout, own.kept

    def _use_brought(self, vpc: ec2.IVpc, subnets: Sequence[ec2.ISubnet] | ec2.SubnetSelection) -> None:
        self.vpc = vpc
        self.subnets, self._zones = chosen_subnets(vpc, subnets)
        self.zones = tuple(self._zones)
        self.availability_zone = zone_of(self.subnets[0])
        if isinstance(vpc, ec2.Vpc) and "s3" not in existing_services(vpc):
            vpc.add_gateway_endpoint(
                "HyperPodS3",
                service=ec2.GatewayVpcEndpointAwsService.S3,
                subnets=[ec2.SubnetSelection(subnets=list(self.subnets))],
            )

    def _create_node_group(
        self, brought: ec2.ISecurityGroup | None, reaches_out: bool, ipv6: bool
    ) -> ec2.ISecurityGroup:
        if brought is not None:
            return brought
        group = ec2.SecurityGroup(
            self,
            "NodeSecurityGroup",
            vpc=self.vpc,
            description="Nodes of the HyperPod cluster",
            allow_all_outbound=reaches_out,
            allow_all_ipv6_outbound=(reaches_out and ipv6) or None,
        )
        if not reaches_out:
            allow_https_out(self, group)
        return group
