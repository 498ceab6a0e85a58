"""What a cluster file holds beside the specification: what the constructs make or import. Standard library only.

The names are those of the constructs' arguments, so that one page explains both; ``arguments`` gives what was given.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar

from hyperpod_constructs.lustre_options import LustreDeploymentType, LustreStorageType
from hyperpod_constructs.open_zfs_options import OpenZfsCompression, OpenZfsDeploymentType
from hyperpod_constructs.options import as_tuple
from hyperpod_constructs.specs import ClusterSpec


class ReferenceKind(StrEnum):
    """What a :class:`Reference` stands for."""

    EXECUTION_ROLE = "execution_role"
    VOLUME_KMS_KEY = "volume_kms_key"
    SUBNET = "subnets"
    SECURITY_GROUP = "security_groups"
    FILE_SYSTEM = "file_systems"


class RemovalPolicyName(StrEnum):
    """What becomes of a resource that leaves the stack."""

    DESTROY = "destroy"
    RETAIN = "retain"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """In a file, what the constructs have an object for: an ARN, an id, the name of a file system of the same file.

    Attributes:
        kind: what it stands for.
        value: ARN of a role or key, id of a subnet or security group, name of a file system.
    """

    kind: ReferenceKind
    value: str


class _Arguments:
    """Options that are passed on to a construct: those that were given, the construct's own defaults for the others."""

    __slots__ = ()
    not_passed: ClassVar[frozenset[str]] = frozenset()

    def arguments(self) -> dict[str, Any]:
        """The arguments that were given, by name, without those that say which existing resource to use."""
        names = (item.name for item in fields(self))  # type: ignore[arg-type]
        given = {name: getattr(self, name) for name in names if name not in self.not_passed}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkConfig(_Arguments):
    """The network: a new one, or an existing VPC. Names, units and defaults as in ``ClusterNetwork``.

    Attributes:
        vpc_id: of an existing VPC; a new VPC by default.
        subnet_ids: private subnets of that VPC for nodes and file systems.
        security_group_id: existing group for the nodes; rules are added to it.
        availability_zone: name or id of the zone of a new VPC.
        availability_zones: zones of a new VPC, where groups are to be in several.
        cidr: IPv4 block of a new VPC.
        secondary_cidr: second block of a new VPC, for the nodes.
        address_count: addresses that the nodes' subnet must have.
        nat_gateways: 0 or more NAT gateways of a new VPC.
        interface_endpoints: services to have interface endpoints for.
        internet_egress: whether nodes may open connections to the internet.
        ipv6: whether nodes have IPv6 addresses too.
        flow_logs: whether a new VPC logs its traffic.
    """

    not_passed = frozenset({"vpc_id", "subnet_ids", "security_group_id"})

    vpc_id: str | None = None
    subnet_ids: Sequence[str] = ()
    security_group_id: str | None = None
    availability_zone: str | None = None
    availability_zones: Sequence[str] | None = None
    cidr: str | None = None
    secondary_cidr: str | None = None
    address_count: int | None = None
    nat_gateways: int | None = None
    interface_endpoints: Sequence[str] | None = None
    internet_egress: bool | None = None
    ipv6: bool | None = None
    flow_logs: bool | None = None

    def __post_init__(self) -> None:
        for name in ("subnet_ids", "availability_zones", "interface_endpoints"):
            object.__setattr__(self, name, as_tuple(getattr(self, name)))

    @property
    def zone_was_chosen(self) -> bool:
        """Whether the file names the zone, or the subnets, rather than take our default."""
        return bool(self.vpc_id or self.availability_zone or self.availability_zones)


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreConfig(_Arguments):
    """An FSx for Lustre file system: a new one, or an existing one. As in ``LustreFileSystem``.

    Attributes:
        name: by which groups of the file refer to it.
        mount_path: where nodes mount it.
        file_system_id: of an existing file system, with ``dns_name`` and ``mount_name``; a new one by default.
        dns_name: of an existing file system.
        mount_name: of an existing file system.
        capacity_gib: of a new one.
        throughput_mb_per_s_per_tib: of a new one.
        deployment_type: of a new one.
        storage_type: of a new one.
        throughput_mb_per_s: of a new one with intelligent tiering.
        read_cache_gib: of a new one with intelligent tiering.
        metadata_iops: of a new one.
        efa: whether nodes reach it over EFA.
        compress: whether data is compressed.
        version: of Lustre.
        backup_retention_days: 0 to 90.
        backup_start_time: ``HH:MM`` in UTC.
        maintenance_start_time: ``d:HH:MM`` in UTC, 1 is Monday.
        removal_policy: what becomes of it when it leaves the stack.
    """

    not_passed = frozenset({"name", "file_system_id", "dns_name", "mount_name", "removal_policy"})

    name: str = "fsx"
    mount_path: str = "/fsx"
    file_system_id: str | None = None
    dns_name: str | None = None
    mount_name: str | None = None
    capacity_gib: int | None = None
    throughput_mb_per_s_per_tib: int | None = None
    deployment_type: LustreDeploymentType | None = None
    storage_type: LustreStorageType | None = None
    throughput_mb_per_s: int | None = None
    read_cache_gib: int | None = None
    metadata_iops: int | None = None
    efa: bool | None = None
    compress: bool | None = None
    version: str | None = None
    backup_retention_days: int | None = None
    backup_start_time: str | None = None
    maintenance_start_time: str | None = None
    removal_policy: RemovalPolicyName | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenZfsConfig(_Arguments):
    """An FSx for OpenZFS file system: a new one, or an existing one. As in ``OpenZfsFileSystem``.

    Attributes:
        name: by which groups of the file refer to it.
        mount_path: where nodes mount it.
        file_system_id: of an existing file system, with ``dns_name``; a new one by default.
        dns_name: of an existing file system.
        capacity_gib: of a new one.
        throughput_mb_per_s: of a new one.
        deployment_type: of a new one.
        iops: of a new one.
        compression: of a new one.
        record_size_kib: of a new one.
        backup_retention_days: 0 to 90.
        backup_start_time: ``HH:MM`` in UTC.
        maintenance_start_time: ``d:HH:MM`` in UTC, 1 is Monday.
        removal_policy: what becomes of it when it leaves the stack.
    """

    not_passed = frozenset({"name", "file_system_id", "dns_name", "removal_policy"})

    name: str = "home"
    mount_path: str = "/home"
    file_system_id: str | None = None
    dns_name: str | None = None
    capacity_gib: int | None = None
    throughput_mb_per_s: int | None = None
    deployment_type: OpenZfsDeploymentType | None = None
    iops: int | None = None
    compression: OpenZfsCompression | None = None
    record_size_kib: int | None = None
    backup_retention_days: int | None = None
    backup_start_time: str | None = None
    maintenance_start_time: str | None = None
    removal_policy: RemovalPolicyName | None = None


FileSystemConfig = LustreConfig | OpenZfsConfig


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterConfig:
    """A cluster file: the specification, and the parts around it.

    Attributes:
        spec: the cluster; CDK objects on its groups are :class:`Reference` values.
        network: a new one with defaults if not given.
        file_systems: of groups that name none; one new Lustre file system at /fsx if ``None``, none if empty.
        execution_role: ARN of an existing role for every group; a new one by default.
        scripts_bucket: name of an existing bucket; a new one by default.
        removal_policy: of the cluster.
    """

    spec: ClusterSpec
    network: NetworkConfig | None = None
    file_systems: Sequence[FileSystemConfig] | None = None
    execution_role: str = ""
    scripts_bucket: str = ""
    removal_policy: RemovalPolicyName = RemovalPolicyName.DESTROY
