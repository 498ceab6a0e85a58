"""From a cluster file to constructs."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, cast

from aws_cdk import RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from hyperpod_constructs.buckets import ScriptsBucket
from hyperpod_constructs.cluster import SlurmCluster
from hyperpod_constructs.config_options import (
    ClusterConfig,
    LustreConfig,
    NetworkConfig,
    OpenZfsConfig,
    Reference,
    ReferenceKind,
    RemovalPolicyName,
)
from hyperpod_constructs.lustre import LustreFileSystem
from hyperpod_constructs.network import ClusterNetwork
from hyperpod_constructs.open_zfs import OpenZfsFileSystem
from hyperpod_constructs.open_zfs_options import OpenZfsDeploymentType
from hyperpod_constructs.placement import network_for
from hyperpod_constructs.specs import ComputeGroup, ControllerGroup, Group, LoginGroup

FileSystem = LustreFileSystem | OpenZfsFileSystem

_POLICIES = {RemovalPolicyName.DESTROY: RemovalPolicy.DESTROY, RemovalPolicyName.RETAIN: RemovalPolicy.RETAIN}
_UNKNOWN_ZONE = "unknown"  # a file names no zones of an existing VPC; CDK wants at least one


def configured_network(scope: Construct, config: ClusterConfig) -> ClusterNetwork:
    """The network of a cluster file.

    Args:
        scope: parent construct.
        config: what ``read_config`` made of the file.
    """
    options = config.network
    if options is None:
        return network_for(scope, config.spec, None)
    brought: dict[str, Any] = {}
    if options.vpc_id:
        brought["vpc"] = ec2.Vpc.from_vpc_attributes(
            scope, "Vpc", vpc_id=options.vpc_id, availability_zones=[_UNKNOWN_ZONE]
        )
        brought["subnets"] = [_subnet(scope, subnet_id) for subnet_id in options.subnet_ids]
    if options.security_group_id:
        brought["security_group"] = _security_group(scope, options.security_group_id)
    return ClusterNetwork(scope, "Network", **brought, **_network_arguments(options))


def configured_file_systems(
    scope: Construct, config: ClusterConfig, network: ClusterNetwork, *, removal_policy: RemovalPolicy
) -> dict[str, FileSystem]:
    """The file systems of a cluster file, by name.

    Args:
        scope: parent construct.
        config: what ``read_config`` made of the file.
        network: of the cluster.
        removal_policy: of those for which the file gives none.
    """
    wanted = (LustreConfig(),) if config.file_systems is None else config.file_systems
    made: dict[str, FileSystem] = {}
    for options in wanted:
        id = "FileSystem" if config.file_systems is None else f"FileSystem{options.name.capitalize()}"
        if options.file_system_id:
            made[options.name] = _existing(scope, id, options)
            continue
        policy = _POLICIES[options.removal_policy] if options.removal_policy is not None else removal_policy
        kind = LustreFileSystem if isinstance(options, LustreConfig) else OpenZfsFileSystem
        made[options.name] = kind(scope, id, network=network, removal_policy=policy, **_typed(options.arguments()))
    return made


def configured_cluster(
    scope: Construct,
    id: str,
    config: ClusterConfig,
    *,
    network: ClusterNetwork,
    file_systems: Mapping[str, FileSystem],
) -> SlurmCluster:
    """The cluster of a cluster file.

    Args:
        scope: parent construct.
        id: construct id.
        config: what ``read_config`` made of the file.
        network: see :func:`configured_network`.
        file_systems: see :func:`configured_file_systems`.
    """
    spec = config.spec
    references = _References(scope, file_systems)
    given: dict[str, Any] = {item.name: getattr(spec, item.name) for item in fields(spec)}
    given |= {
        "controller": cast("ControllerGroup", references.resolved(spec.controller)),
        "login": None if spec.login is None else cast("LoginGroup", references.resolved(spec.login)),
        "compute": [cast("ComputeGroup", references.resolved(group)) for group in spec.compute],
        "tags": dict(spec.tag_pairs),
    }
    if config.execution_role:
        given["execution_role"] = references.role(config.execution_role)
    if config.scripts_bucket:
        bucket = s3.Bucket.from_bucket_name(scope, "ExistingScriptsBucket", config.scripts_bucket)
        given["scripts_bucket"] = ScriptsBucket.from_bucket(scope, "ScriptsBucket", bucket)
    return SlurmCluster(
        scope,
        id,
        network=network,
        file_systems=list(file_systems.values()),
        removal_policy=_POLICIES[config.removal_policy],
        **given,
    )


class _References:
    """Makes the objects that references of a file stand for, each once."""

    def __init__(self, scope: Construct, file_systems: Mapping[str, FileSystem]) -> None:
        self._scope = scope
        self._file_systems = file_systems
        self._roles: dict[str, iam.IRole] = {}
        self._keys: dict[str, kms.IKey] = {}
        self._subnets: dict[str, ec2.ISubnet] = {}
        self._groups: dict[str, ec2.ISecurityGroup] = {}

    def role(self, arn: str) -> iam.IRole:
        if arn not in self._roles:
            self._roles[arn] = iam.Role.from_role_arn(self._scope, f"Role-{arn.rsplit('/', 1)[-1]}", arn)
        return self._roles[arn]

    def resolved(self, group: Group) -> Group:
        """The group with objects in the place of references."""
        changes: dict[str, Any] = {}
        for name in ("execution_role", "volume_kms_key", "subnets", "security_groups", "file_systems"):
            value = getattr(group, name)
            if isinstance(value, tuple):
                changes[name] = tuple(self._resolve(item) for item in value)
            elif value is not None:
                changes[name] = self._resolve(value)
        return group.with_(**changes)

    def _resolve(self, value: Any) -> Any:
        if isinstance(value, Reference):
            return self._object(value)
        inner = getattr(value, "file_system", None)
        return replace(value, file_system=self._object(inner)) if isinstance(inner, Reference) else value

    def _object(self, reference: Reference) -> Any:
        text = reference.value
        if reference.kind is ReferenceKind.EXECUTION_ROLE:
            return self.role(text)
        if reference.kind is ReferenceKind.FILE_SYSTEM:
            return self._file_systems[text]
        if reference.kind is ReferenceKind.VOLUME_KMS_KEY:
            if text not in self._keys:
                self._keys[text] = kms.Key.from_key_arn(self._scope, f"Key-{text.rsplit('/', 1)[-1]}", text)
            return self._keys[text]
        if reference.kind is ReferenceKind.SUBNET:
            if text not in self._subnets:
                self._subnets[text] = _subnet(self._scope, text)
            return self._subnets[text]
        if text not in self._groups:
            self._groups[text] = _security_group(self._scope, text)
        return self._groups[text]


def _subnet(scope: Construct, subnet_id: str) -> ec2.ISubnet:
    return ec2.Subnet.from_subnet_id(scope, f"Subnet-{subnet_id}", subnet_id)


def _security_group(scope: Construct, group_id: str) -> ec2.ISecurityGroup:
    return ec2.SecurityGroup.from_security_group_id(scope, f"Group-{group_id}", group_id)


def _existing(scope: Construct, id: str, options: LustreConfig | OpenZfsConfig) -> FileSystem:
    known: dict[str, Any] = {
        "file_system_id": options.file_system_id or "",
        "dns_name": options.dns_name or "",
        "mount_path": options.mount_path,
    }
    if isinstance(options, LustreConfig):
        return LustreFileSystem.from_attributes(
            scope, id, mount_name=options.mount_name or "", efa=bool(options.efa), **known
        )
    return OpenZfsFileSystem.from_attributes(scope, id, **known)


def _network_arguments(options: NetworkConfig) -> dict[str, Any]:
    return {name: value for name, value in options.arguments().items() if value != ()}


def _typed(arguments: dict[str, Any]) -> dict[str, Any]:
    kind = arguments.get("deployment_type")
    if type(kind) is str:
        return arguments | {"deployment_type": OpenZfsDeploymentType(kind)}
    return arguments
