"""FSx for Lustre file systems for a cluster."""

from collections.abc import Sequence
from typing import Self

from aws_cdk import RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from constructs import Construct

from hyperpod_constructs.bindings import LustreMount
from hyperpod_constructs.data_repositories import DataRepository, link, repository_problems
from hyperpod_constructs.errors import Problem, SpecError
from hyperpod_constructs.lustre_options import (
    LustreDeploymentType,
    LustreOptions,
    LustreStorageType,
    default_throughput,
    lustre_problems,
)
from hyperpod_constructs.network import ClusterNetwork
from hyperpod_constructs.network_access import LUSTRE, LUSTRE_EFA
from hyperpod_constructs.subnets import zone_of

_DEFAULT_CAPACITY_GIB = 1200
_VERSION = "2.15"  # the image's client is 2.15, and 2.10 servers are out of its range (FACTS 4.1)


class LustreFileSystem(Construct):
    """An FSx for Lustre file system in the cluster's zone.

    Kept when the stack goes, with the subnet, VPC and security group that it stands on, unless ``removal_policy`` is
    ``DESTROY``. Its security group is the network's own, so that rules change without replacing it. A change of
    subnet, key, deployment type or storage type would replace it: CloudFormation then makes a new, empty one, and
    keeps the old one with its data.

    Args:
        scope: parent construct.
        id: construct id.
        network: gives the subnet, the security group, and the rules that creation waits for.
        capacity_gib: 1200, or a multiple of 2400 GiB (FACTS 4.1); 1200 by default. Can only grow. Not with
            ``INTELLIGENT_TIERING``.
        throughput_mb_per_s_per_tib: 125, 250, 500 or 1000 with ``PERSISTENT_2``; 50, 100 or 200 (HDD: 12 or 40) with
            ``PERSISTENT_1``; the second of them by default.
        mount_path: where nodes mount it; ``/fsx`` by default.
        removal_policy: ``RETAIN`` by default.
        deployment_type: ``PERSISTENT_2`` by default.
        storage_type: ``SSD`` by default.
        throughput_mb_per_s: of ``INTELLIGENT_TIERING``: 4000 or a multiple of it.
        read_cache_gib: SSD cache of ``INTELLIGENT_TIERING``; 0 for none, sized by throughput by default.
        metadata_iops: 1500, 3000, 6000, 12000 or a multiple of it; by default FSx chooses and scales them.
        efa: whether nodes reach it over EFA and GPUDirect Storage; off by default. Fixed once made (FACTS 4.1).
        compress: whether data is compressed with LZ4; it is by default.
        version: Lustre version of the servers; 2.15 by default.
        kms_key: key of the data at rest; by default the account's key for FSx. Persistent types only.
        backup_retention_days: 0 to 90 days; none by default. Not with ``data_repositories``.
        backup_start_time: ``HH:MM`` in UTC; the service chooses by default.
        maintenance_start_time: ``d:HH:MM`` in UTC, 1 is Monday; the service chooses by default.
        subnet: in which it lies; by default the network's first.
        data_repositories: directories that show S3 prefixes; none by default.

    Raises:
        SpecError: with everything that FSx would refuse.

    Example:
        >>> from aws_cdk import App, Stack
        >>> stack = Stack(App(), "Storage")
        >>> file_system = LustreFileSystem(stack, "Data", network=ClusterNetwork(stack, "Network"), capacity_gib=4800)
        >>> file_system.mount_path
        '/fsx'
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: ClusterNetwork,
        capacity_gib: int | None = None,
        throughput_mb_per_s_per_tib: int | None = None,
        mount_path: str = "/fsx",
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        deployment_type: LustreDeploymentType = LustreDeploymentType.PERSISTENT_2,
        storage_type: LustreStorageType = LustreStorageType.SSD,
        throughput_mb_per_s: int | None = None,
        read_cache_gib: int | None = None,
        metadata_iops: int | None = None,
        efa: bool = False,
        compress: bool = True,
        version: str = _VERSION,
        kms_key: kms.IKey | None = None,
        backup_retention_days: int = 0,
        backup_start_time: str = "",
        maintenance_start_time: str = "",
        subnet: ec2.ISubnet | None = None,
        data_repositories: Sequence[DataRepository] = (),
    ) -> None:
        is_tiering = storage_type is LustreStorageType.INTELLIGENT_TIERING
        options = LustreOptions(
            deployment_type=deployment_type,
            storage_type=storage_type,
            capacity_gib=_DEFAULT_CAPACITY_GIB if capacity_gib is None and not is_tiering else capacity_gib,
            throughput_mb_per_s_per_tib=throughput_mb_per_s_per_tib
            if throughput_mb_per_s_per_tib is not None
            else default_throughput(deployment_type, storage_type),
            throughput_mb_per_s=throughput_mb_per_s,
            read_cache_gib=read_cache_gib,
            metadata_iops=metadata_iops,
            efa=efa,
            version=version,
            has_kms_key=kms_key is not None,
            backup_retention_days=backup_retention_days,
            backup_start_time=backup_start_time,
            maintenance_start_time=maintenance_start_time,
            has_data_repositories=bool(data_repositories),
        )
        _check(options, data_repositories, removal_policy)
        super().__init__(scope, id)
        place = subnet or network.subnets[0]
        group, rules = network.add_lustre_access(efa=efa)
        resource = fsx.CfnFileSystem(
            self,
            "Resource",
            file_system_type="LUSTRE",
            file_system_type_version=version,
            storage_capacity=options.capacity_gib,
            storage_type=storage_type.value,
            subnet_ids=[place.subnet_id],
            security_group_ids=[group.security_group_id],
            kms_key_id=kms_key.key_arn if kms_key is not None else None,
            lustre_configuration=_configuration(options, compress=compress),
        )
        # FSx checks the rules when the file system is made: without this it fails now and then (field report N-02).
        resource.node.add_dependency(rules)
        resource.apply_removal_policy(removal_policy)
        if removal_policy is RemovalPolicy.RETAIN:
            network.retain(group)
        self.data_repositories = tuple(link(self, resource, item, removal_policy) for item in data_repositories)
        self.resource: fsx.CfnFileSystem | None = resource
        self.efa = efa
        self.address_count = options.address_count
        self.availability_zone = network.availability_zone if subnet is None else zone_of(subnet)
        self._describe(resource.ref, resource.attr_dns_name, resource.attr_lustre_mount_name, mount_path)

    @classmethod
    def from_attributes(
        cls,
        scope: Construct,
        id: str,
        *,
        file_system_id: str,
        dns_name: str,
        mount_name: str,
        mount_path: str = "/fsx",
        efa: bool = False,
        availability_zone: str = "",
        security_group: ec2.ISecurityGroup | None = None,
        network: ClusterNetwork | None = None,
    ) -> Self:
        """Use an existing file system. Its security group must admit the nodes on 988 and 1018-1023 (FACTS 2.1).

        Args:
            scope: parent construct.
            id: construct id.
            file_system_id: ``fs-...``.
            dns_name: as ``describe-file-systems`` shows it.
            mount_name: as ``describe-file-systems`` shows it.
            mount_path: where nodes mount it.
            efa: whether it was made with EFA.
            availability_zone: where it is, so that it can be compared with the nodes' zone; unknown by default.
            security_group: its group; with ``network``, the rules between it and the nodes are added.
            network: of the nodes.
        """
        imported = cls.__new__(cls)
        Construct.__init__(imported, scope, id)
        imported.resource = None
        imported.data_repositories = ()
        imported.efa = efa
        imported.address_count = 0
        imported.availability_zone = availability_zone
        if security_group is not None and network is not None:
            network.connect(imported, LUSTRE_EFA if efa else LUSTRE, security_group)
        imported._describe(file_system_id, dns_name, mount_name, mount_path)
        return imported

    @property
    def mount(self) -> LustreMount:
        """How nodes mount it, by default."""
        return self.mount_at(self.mount_path)

    def mount_at(self, path: str) -> LustreMount:
        """How nodes mount it at a path of your choice.

        Args:
            path: absolute path on the node.
        """
        return LustreMount(dns_name=self.dns_name, mount_name=self.mount_name, path=path, efa=self.efa)

    def _describe(self, file_system_id: str, dns_name: str, mount_name: str, mount_path: str) -> None:
        self.file_system_id = file_system_id
        self.dns_name = dns_name
        self.mount_name = mount_name
        self.mount_path = mount_path


def _configuration(options: LustreOptions, *, compress: bool) -> fsx.CfnFileSystem.LustreConfigurationProperty:
    keeps_backups = options.backup_retention_days > 0
    return fsx.CfnFileSystem.LustreConfigurationProperty(
        deployment_type=options.deployment_type.value,
        per_unit_storage_throughput=options.throughput_mb_per_s_per_tib,
        throughput_capacity=options.throughput_mb_per_s,
        data_read_cache_configuration=_read_cache(options),
        data_compression_type="LZ4" if compress else "NONE",
        drive_cache_type="NONE" if options.storage_type is LustreStorageType.HDD else None,
        metadata_configuration=_metadata(options),
        efa_enabled=options.efa or None,
        automatic_backup_retention_days=options.backup_retention_days if keeps_backups else None,
        copy_tags_to_backups=keeps_backups or None,
        daily_automatic_backup_start_time=options.backup_start_time or None,
        weekly_maintenance_start_time=options.maintenance_start_time or None,
        # What goes wrong between S3 and the file system is told nowhere else.
        log_configuration=fsx.CfnFileSystem.LogConfigurationProperty(level="WARN_ERROR")
        if options.has_data_repositories
        else None,
    )


def _metadata(options: LustreOptions) -> fsx.CfnFileSystem.MetadataConfigurationProperty | None:
    if not options.has_metadata_configuration:
        return None
    mode = "AUTOMATIC" if options.metadata_iops is None else "USER_PROVISIONED"
    return fsx.CfnFileSystem.MetadataConfigurationProperty(mode=mode, iops=options.metadata_iops)


def _read_cache(options: LustreOptions) -> fsx.CfnFileSystem.DataReadCacheConfigurationProperty | None:
    if not options.is_tiering:
        return None
    modes = {None: "PROPORTIONAL_TO_THROUGHPUT_CAPACITY", 0: "NO_CACHE"}
    return fsx.CfnFileSystem.DataReadCacheConfigurationProperty(
        sizing_mode=modes.get(options.read_cache_gib, "USER_PROVISIONED"), size_gib=options.read_cache_gib or None
    )


def _check(options: LustreOptions, repositories: Sequence[DataRepository], removal_policy: RemovalPolicy) -> None:
    found = [*lustre_problems(options), *repository_problems(repositories)]
    if removal_policy is RemovalPolicy.SNAPSHOT:
        found.append(("removal_policy", "got SNAPSHOT, allowed: RETAIN or DESTROY; CloudFormation snapshots no FSx"))
    if found:
        problems = [Problem(path=path, message=message) for path, message in found]
        raise SpecError(problems, subject="Lustre file system")
