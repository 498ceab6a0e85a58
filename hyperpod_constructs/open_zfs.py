"""FSx for OpenZFS file systems for a cluster: home directories."""

from collections.abc import Sequence
from typing import Self

from aws_cdk import RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from constructs import Construct

from hyperpod_constructs.bindings import OpenZfsMount
from hyperpod_constructs.errors import Problem, SpecError
from hyperpod_constructs.network import ClusterNetwork
from hyperpod_constructs.network_access import OPEN_ZFS
from hyperpod_constructs.open_zfs_options import (
    MULTI_AZ_SUBNETS,
    OpenZfsCompression,
    OpenZfsDeploymentType,
    OpenZfsOptions,
    open_zfs_problems,
    throughputs,
)
from hyperpod_constructs.subnets import zone_of

# Root of a node makes home directories and hands them to their owners: without no_root_squash it may not (FACTS 4.3).
_EXPORT_OPTIONS = ("rw", "crossmnt", "no_root_squash")
# Which addresses nodes have is the security group's business.
_EVERY_CLIENT = "*"
# Without it, deletion fails as soon as somebody has made a volume or a snapshot (FACTS 4.3).
_DELETE_EVERYTHING = "DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"


class OpenZfsFileSystem(Construct):
    """An FSx for OpenZFS file system in the cluster's zone, for home directories.

    Kept when the stack goes, with what it stands on, unless ``removal_policy`` is ``DESTROY``. A change of subnet, key,
    deployment type or of what concerns its root volume would replace it: CloudFormation then makes a new, empty one,
    and keeps the old one with its data.

    Args:
        scope: parent construct.
        id: construct id.
        network: gives the subnets, the security group, and the rules that creation waits for.
        capacity_gib: 64 to 524288 GiB; 256 by default.
        throughput_mb_per_s: 160, 320, 640, ... 10240; 64, 128, ... 4096 with the first generation; the least by
            default.
        mount_path: where nodes mount it; ``/home`` by default.
        removal_policy: ``RETAIN`` by default.
        deployment_type: ``SINGLE_AZ_HA_2`` by default.
        iops: at least 3 for each GiB, which is the default.
        compression: ``ZSTD`` by default.
        record_size_kib: 4 to 1024, a power of two; 128 by default.
        kms_key: key of the data at rest; by default the account's key for FSx.
        backup_retention_days: 0 to 90 days; 30 by default, since homes exist nowhere else.
        backup_start_time: ``HH:MM`` in UTC; the service chooses by default.
        maintenance_start_time: ``d:HH:MM`` in UTC, 1 is Monday; the service chooses by default.
        subnets: in which it lies: two with ``MULTI_AZ_1``, the first preferred; by default those of the network's
            first zones.

    Raises:
        SpecError: with everything that FSx would refuse.

    Example:
        >>> from aws_cdk import App, Stack
        >>> stack = Stack(App(), "Storage")
        >>> OpenZfsFileSystem(stack, "Homes", network=ClusterNetwork(stack, "Network"), capacity_gib=512).mount_path
        '/home'
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: ClusterNetwork,
        capacity_gib: int = 256,
        throughput_mb_per_s: int | None = None,
        mount_path: str = "/home",
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        deployment_type: OpenZfsDeploymentType = OpenZfsDeploymentType.SINGLE_AZ_HA_2,
        iops: int | None = None,
        compression: OpenZfsCompression = OpenZfsCompression.ZSTD,
        record_size_kib: int = 128,
        kms_key: kms.IKey | None = None,
        backup_retention_days: int = 30,
        backup_start_time: str = "",
        maintenance_start_time: str = "",
        subnets: Sequence[ec2.ISubnet] = (),
    ) -> None:
        places = tuple(subnets) or _places(network, deployment_type)
        options = OpenZfsOptions(
            deployment_type=deployment_type,
            capacity_gib=capacity_gib,
            throughput_mb_per_s=throughputs(deployment_type)[0] if throughput_mb_per_s is None else throughput_mb_per_s,
            iops=iops,
            record_size_kib=record_size_kib,
            backup_retention_days=backup_retention_days,
            backup_start_time=backup_start_time,
            maintenance_start_time=maintenance_start_time,
            subnet_count=len(places),
        )
        _check(options, removal_policy)
        super().__init__(scope, id)
        group, rules = network.add_open_zfs_access()
        resource = fsx.CfnFileSystem(
            self,
            "Resource",
            file_system_type="OPENZFS",
            storage_capacity=capacity_gib,
            storage_type="SSD",
            subnet_ids=[subnet.subnet_id for subnet in places],
            security_group_ids=[group.security_group_id],
            kms_key_id=kms_key.key_arn if kms_key is not None else None,
            open_zfs_configuration=_configuration(options, places, compression),
        )
        resource.node.add_dependency(rules)
        resource.apply_removal_policy(removal_policy)
        if removal_policy is RemovalPolicy.RETAIN:
            network.retain(group)
        self.resource: fsx.CfnFileSystem | None = resource
        self.address_count = 2  # two servers at most, one address each
        first = network.availability_zone if not subnets else zone_of(places[0])
        self.availability_zone = "" if options.is_multi_az else first
        self._describe(resource.ref, resource.attr_dns_name, mount_path)

    @classmethod
    def from_attributes(
        cls,
        scope: Construct,
        id: str,
        *,
        file_system_id: str,
        dns_name: str,
        mount_path: str = "/home",
        availability_zone: str = "",
        security_group: ec2.ISecurityGroup | None = None,
        network: ClusterNetwork | None = None,
    ) -> Self:
        """Use an existing file system. Its group must admit the nodes on 111, 2049 and 20001-20003 (FACTS 2.1).

        Args:
            scope: parent construct.
            id: construct id.
            file_system_id: ``fs-...``.
            dns_name: as ``describe-file-systems`` shows it.
            mount_path: where nodes mount it.
            availability_zone: where it is, so that it can be compared with the nodes' zone; unknown by default.
            security_group: its group; with ``network``, the rules between it and the nodes are added.
            network: of the nodes.
        """
        imported = cls.__new__(cls)
        Construct.__init__(imported, scope, id)
        imported.resource = None
        imported.address_count = 0
        imported.availability_zone = availability_zone
        if security_group is not None and network is not None:
            network.connect(imported, OPEN_ZFS, security_group)
        imported._describe(file_system_id, dns_name, mount_path)
        return imported

    @property
    def mount(self) -> OpenZfsMount:
        """How nodes mount it, by default."""
        return self.mount_at(self.mount_path)

    def mount_at(self, path: str) -> OpenZfsMount:
        """How nodes mount it at a path of your choice.

        Args:
            path: absolute path on the node.
        """
        return OpenZfsMount(dns_name=self.dns_name, path=path)

    def _describe(self, file_system_id: str, dns_name: str, mount_path: str) -> None:
        self.file_system_id = file_system_id
        self.dns_name = dns_name
        self.mount_path = mount_path


def _places(network: ClusterNetwork, deployment_type: OpenZfsDeploymentType) -> tuple[ec2.ISubnet, ...]:
    if deployment_type is not OpenZfsDeploymentType.MULTI_AZ_1:
        return network.subnets[:1]
    found = (network.subnet_in(zone) for zone in network.zones)
    return tuple(subnet for subnet in found if subnet is not None)[:MULTI_AZ_SUBNETS]


def _configuration(
    options: OpenZfsOptions, places: Sequence[ec2.ISubnet], compression: OpenZfsCompression
) -> fsx.CfnFileSystem.OpenZFSConfigurationProperty:
    root = fsx.CfnFileSystem.RootVolumeConfigurationProperty(
        data_compression_type=compression.value,
        record_size_kib=options.record_size_kib,
        copy_tags_to_snapshots=True,
        nfs_exports=[
            fsx.CfnFileSystem.NfsExportsProperty(
                client_configurations=[
                    fsx.CfnFileSystem.ClientConfigurationsProperty(clients=_EVERY_CLIENT, options=list(_EXPORT_OPTIONS))
                ]
            )
        ],
    )
    iops = fsx.CfnFileSystem.DiskIopsConfigurationProperty(mode="USER_PROVISIONED", iops=options.iops)
    return fsx.CfnFileSystem.OpenZFSConfigurationProperty(
        deployment_type=options.deployment_type.value,
        throughput_capacity=options.throughput_mb_per_s,
        disk_iops_configuration=iops if options.iops is not None else None,
        root_volume_configuration=root,
        automatic_backup_retention_days=options.backup_retention_days,
        copy_tags_to_backups=True,
        copy_tags_to_volumes=True,
        daily_automatic_backup_start_time=options.backup_start_time or None,
        weekly_maintenance_start_time=options.maintenance_start_time or None,
        preferred_subnet_id=places[0].subnet_id if options.is_multi_az else None,
        route_table_ids=[subnet.route_table.route_table_id for subnet in places] if options.is_multi_az else None,
        options=[_DELETE_EVERYTHING],
    )


def _check(options: OpenZfsOptions, removal_policy: RemovalPolicy) -> None:
    found = list(open_zfs_problems(options))
    if removal_policy is RemovalPolicy.SNAPSHOT:
        found.append(("removal_policy", "got SNAPSHOT, allowed: RETAIN or DESTROY; CloudFormation snapshots no FSx"))
    if found:
        problems = [Problem(path=path, message=message) for path, message in found]
        raise SpecError(problems, subject="OpenZFS file system")
