"""From the CDK objects of a cluster and its groups to the deploy-time values of its request."""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import aws_iam as iam

from hyperpod_constructs.bindings import AccountingBindings, Bindings, FileSystemMount, GroupBindings
from hyperpod_constructs.lustre import LustreFileSystem
from hyperpod_constructs.network import ClusterNetwork
from hyperpod_constructs.open_zfs import OpenZfsFileSystem
from hyperpod_constructs.options import Accounting, AccountingKind, LifecycleStyle, Mount
from hyperpod_constructs.placement import subnets_of
from hyperpod_constructs.specs import ClusterSpec, Group


def roles_of(spec: ClusterSpec, default: iam.IRole) -> dict[str, iam.IRole]:
    """The role of each group, by name: its own, or the cluster's.

    Args:
        spec: the cluster.
        default: role of groups without one of their own.
    """
    return {group.name: group.execution_role or default for group in spec.groups}


def bindings_of(
    spec: ClusterSpec,
    *,
    network: ClusterNetwork,
    file_systems: Sequence[LustreFileSystem | OpenZfsFileSystem],
    roles: Mapping[str, iam.IRole],
    source_s3_uri: str | None,
) -> Bindings:
    """The deploy-time values of a cluster.

    Args:
        spec: the cluster.
        network: of the nodes.
        file_systems: of groups that name none of their own.
        roles: by group name.
        source_s3_uri: where the scripts are; ``None`` while only the node configuration is built.
    """

    def group_bindings(group: Group) -> GroupBindings:
        scripts = None if spec.style_of(group) is LifecycleStyle.IMAGE_ONLY else source_s3_uri
        chosen = file_systems if group.file_systems is None else group.file_systems
        own_subnets = subnets_of(group, network)
        overridden = bool(own_subnets or group.security_groups)
        subnets = own_subnets or network.subnets
        groups = group.security_groups or [network.security_group]
        return GroupBindings(
            execution_role_arn=roles[group.name].role_arn,
            source_s3_uri=scripts,
            mounts=tuple(_mount(item) for item in chosen),
            volume_kms_key_id=group.volume_kms_key.key_arn if group.volume_kms_key is not None else None,
            subnet_ids=tuple(subnet.subnet_id for subnet in subnets) if overridden else (),
            security_group_ids=tuple(item.security_group_id for item in groups) if overridden else (),
        )

    return Bindings(
        subnet_ids=tuple(subnet.subnet_id for subnet in network.subnets),
        security_group_ids=(network.security_group.security_group_id,),
        groups={group.name: group_bindings(group) for group in spec.groups},
        accounting=_accounting(spec.accounting),
    )


def _mount(item: Any) -> FileSystemMount:
    mount: FileSystemMount = item.file_system.mount_at(item.path) if isinstance(item, Mount) else item.mount
    return mount


def _accounting(accounting: Accounting | None) -> AccountingBindings | None:
    if accounting is None or accounting.kind is not AccountingKind.EXTERNAL:
        return None
    secret = accounting.secret if isinstance(accounting.secret, str) else accounting.secret.secret_arn
    return AccountingBindings(endpoint=accounting.endpoint, secret_arn=secret, port=accounting.port)
