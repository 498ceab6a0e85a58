"""What may be a deploy-time value: ARNs, ids, DNS names, the scripts' address. Standard library only.

Bindings are passed on and never looked at, so that an unresolved CDK token goes through unharmed. Only the paths of
mounts are literals, and checked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreMount:
    """An FSx for Lustre file system on a group.

    Attributes:
        dns_name: of the file system; may be a token.
        mount_name: Lustre's own name of it; may be a token.
        path: where nodes mount it; a literal.
        efa: whether the file system is reached over EFA.
    """

    dns_name: str
    mount_name: str
    path: str = "/fsx"
    efa: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenZfsMount:
    """An FSx for OpenZFS file system on a group.

    Attributes:
        dns_name: of the file system; may be a token.
        path: where nodes mount it; a literal.
    """

    dns_name: str
    path: str = "/home"


FileSystemMount = LustreMount | OpenZfsMount


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupBindings:
    """Deploy-time values of one instance group.

    Attributes:
        execution_role_arn: role of the group's nodes.
        source_s3_uri: where the scripts are; ``None`` for groups of style ``IMAGE_ONLY``.
        mounts: file systems, in order.
        volume_kms_key_id: key of the EBS volumes; ``None`` for the service's own.
        subnet_ids: subnets of ``OverrideVpcConfig``; none if the cluster's apply.
        security_group_ids: security groups of ``OverrideVpcConfig``; both or neither with ``subnet_ids``.
    """

    execution_role_arn: str
    source_s3_uri: str | None = None
    mounts: tuple[FileSystemMount, ...] = ()
    volume_kms_key_id: str | None = None
    subnet_ids: tuple[str, ...] = ()
    security_group_ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountingBindings:
    """Deploy-time values of an external accounting database."""

    endpoint: str
    secret_arn: str
    port: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Bindings:
    """Deploy-time values of a cluster.

    Attributes:
        subnet_ids: subnets of ``VpcConfig``; always sent: nodes outside your VPC reach no file system (FACTS 2).
        security_group_ids: security groups of ``VpcConfig``.
        groups: by group name; every group of the spec.
        accounting: of an external database; ``None`` otherwise.
    """

    subnet_ids: tuple[str, ...]
    security_group_ids: tuple[str, ...]
    groups: Mapping[str, GroupBindings] = field(default_factory=dict)
    accounting: AccountingBindings | None = None
