"""Where the groups of a cluster go: zones, subnets, further security groups, and what the rules must know of them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IConstruct

from hyperpod_constructs.addresses import addresses_needed
from hyperpod_constructs.endpoints import services_for
from hyperpod_constructs.errors import Problem, SpecError
from hyperpod_constructs.network import ClusterNetwork
from hyperpod_constructs.options import AccountingKind, Mount
from hyperpod_constructs.rules import Surroundings
from hyperpod_constructs.specs import ClusterSpec, Group
from hyperpod_constructs.subnets import zone_of

if TYPE_CHECKING:
    from hyperpod_constructs.lustre import LustreFileSystem
    from hyperpod_constructs.open_zfs import OpenZfsFileSystem

    FileSystem = LustreFileSystem | OpenZfsFileSystem


def network_for(scope: Construct, spec: ClusterSpec, vpc: ec2.IVpc | None) -> ClusterNetwork:
    """The network of a cluster that is given none: large enough, in the zones that its groups name.

    The first zone that a compute group names is the cluster's, so that controller and file system are where the jobs
    are.

    Args:
        scope: the cluster.
        spec: the cluster's specification.
        vpc: a brought VPC, if any.
    """
    if vpc is not None:
        return ClusterNetwork.from_vpc(scope, "Network", vpc)
    named = [group.availability_zone for group in (*spec.compute, *spec.groups) if not group.subnets]
    return ClusterNetwork(
        scope,
        "Network",
        availability_zones=list(dict.fromkeys(zone for zone in named if zone)),
        address_count=addresses_needed(group for group in spec.groups if not group.subnets),
    )


def subnets_of(group: Group, network: ClusterNetwork) -> tuple[ec2.ISubnet, ...]:
    """The subnets of a group that is not in the cluster's; none if it is.

    Args:
        group: one of the cluster's.
        network: of the cluster.
    """
    if group.subnets:
        return tuple(group.subnets)
    zone = group.availability_zone
    if not zone or zone == network.availability_zone:
        return ()
    subnet = network.subnet_in(zone)
    return () if subnet is None else (subnet,)


def check_zones(spec: ClusterSpec, network: ClusterNetwork) -> None:
    """Refuse a group whose zone the network does not have.

    Args:
        spec: the cluster's specification.
        network: of the cluster.

    Raises:
        SpecError: with every such group.
    """
    problems = list(_zone_problems(spec, network))
    if problems:
        raise SpecError(problems, subject=f'cluster "{spec.cluster_name}"')


def _zone_problems(spec: ClusterSpec, network: ClusterNetwork) -> Iterator[Problem]:
    known = ", ".join(dict.fromkeys(zone for zone in (*network.zones, network.availability_zone) if zone))
    for path, group in spec.paths_and_groups:
        zone = group.availability_zone
        if not zone:
            continue
        if not group.subnets and zone != network.availability_zone and network.subnet_in(zone) is None:
            yield Problem(
                path=f"{path}.availability_zone",
                message=f'got "{zone}", allowed: the zones of the network ({known or "not known"}); name it in '
                "ClusterNetwork(availability_zones=[...]), or give the group subnets",
                rule="availability-zone-of-network",
            )
        elsewhere = [theirs for subnet in group.subnets if (theirs := zone_of(subnet)) and _differ(theirs, zone)]
        if elsewhere:
            yield Problem(
                path=f"{path}.subnets",
                message=f"got a subnet in {elsewhere[0]}, allowed: {zone}, as availability_zone says; change one",
                rule="availability-zone-of-subnet",
            )


def _differ(first: str, second: str) -> bool:
    return "${" not in first and ("-az" in first) == ("-az" in second) and first != second


def admit_security_groups(scope: Construct, spec: ClusterSpec, network: ClusterNetwork) -> None:
    """Add the rules of security groups that groups bring: without them such nodes reach neither peers nor storage.

    Args:
        scope: the cluster; holds the rules.
        spec: the cluster's specification.
        network: of the cluster.
    """
    admitted = {network.security_group.node.path}
    for group in spec.groups:
        beside = any(item.node.path == network.security_group.node.path for item in group.security_groups)
        for index, item in enumerate(group.security_groups):
            if item.node.path not in admitted:
                admitted.add(item.node.path)
                name = "".join(part.capitalize() for part in group.name.split("-"))
                network.admit(scope, f"{name}Group{index + 1}", item, beside_nodes=beside)


def add_endpoints(spec: ClusterSpec, network: ClusterNetwork, file_systems: Sequence["FileSystem"]) -> None:
    """In a network of ours without internet, add the endpoints that the cluster's features need.

    Args:
        spec: the cluster's specification.
        network: of the cluster.
        file_systems: of the cluster.
    """
    if not network.chooses_endpoints:
        return
    features = ["fsx"] if any(getattr(item, "efa", False) for item in file_systems) else []
    if spec.accounting is not None and spec.accounting.kind is AccountingKind.EXTERNAL:
        features.append("accounting")
    if any(group.volume_kms_key is not None for group in spec.groups):
        features.append("kms")
    network.add_interface_endpoints(*services_for(*features))


def database_of(spec: ClusterSpec) -> list[IConstruct]:
    """The database construct that the cluster uses, for it must be wholly made before; none if it is not ours.

    Args:
        spec: the cluster's specification.
    """
    node = getattr(getattr(spec.accounting, "secret", None), "node", None)
    if node is None:
        return []
    from hyperpod_constructs.accounting import AccountingDatabase  # the CDK's database module takes a second to import

    return [node.scope] if isinstance(node.scope, AccountingDatabase) else []


def surroundings_of(spec: ClusterSpec, network: ClusterNetwork, file_systems: Sequence["FileSystem"]) -> Surroundings:
    """What the rules must know of network and file systems.

    Args:
        spec: the cluster's specification.
        network: of the cluster.
        file_systems: of groups that name none of their own.
    """
    own = (item for group in spec.groups for item in group.file_systems or ())
    mounted = [(_path(item), _file_system(item)) for item in (*file_systems, *own)]
    used = {item.node.path: item for _, item in mounted}
    zones = ((group.name, zone_of(group.subnets[0])) for group in spec.groups if group.subnets)
    return Surroundings(
        availability_zone=network.availability_zone,
        subnet_address_count=network.subnet_address_count,
        reserved_address_count=network.reserved_address_count + sum(item.address_count for item in used.values()),
        file_system_zones=tuple((path, item.availability_zone) for path, item in mounted if item.availability_zone),
        zone_was_chosen=network.zone_was_chosen,
        group_zones=tuple((name, zone) for name, zone in zones if zone),
    )


def _file_system(item: "FileSystem | Mount") -> "FileSystem":
    file_system: FileSystem = item.file_system if isinstance(item, Mount) else item
    return file_system


def _path(item: "FileSystem | Mount") -> str:
    return item.path if isinstance(item, Mount) else item.mount_path
