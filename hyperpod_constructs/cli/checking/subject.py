"""What of a request an account can be asked about. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hyperpod_constructs.instance_types import subnet_addresses, uses_efa
from hyperpod_constructs.tokens import is_token


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupSubject:
    """An instance group.

    Attributes:
        name: of the group.
        instance_types: one, or several in priority order.
        count: of instances.
        subnet_ids: its own, or the cluster's; those that only the deployment knows are left out.
        security_group_ids: likewise.
        role_arn: "" where only the deployment knows it.
        scripts_uri: where its scripts are; "" for none, or where only the deployment knows it.
        entry: the script that runs.
        training_plan_arn: "" for none.
    """

    name: str
    instance_types: tuple[str, ...]
    count: int
    subnet_ids: tuple[str, ...]
    security_group_ids: tuple[str, ...]
    role_arn: str = ""
    scripts_uri: str = ""
    entry: str = ""
    training_plan_arn: str = ""

    @property
    def addresses(self) -> int:
        """Subnet addresses that its instances take at least (FACTS 2)."""
        return self.count * max((subnet_addresses(name) for name in self.instance_types), default=1)

    @property
    def uses_efa(self) -> bool:
        """Whether its jobs talk over EFA."""
        return any(uses_efa(name) for name in self.instance_types)


@dataclass(frozen=True, kw_only=True, slots=True)
class FileSystemSubject:
    """An FSx file system that nodes mount.

    Attributes:
        kind: ``LUSTRE`` or ``OPENZFS``.
        dns_name: of the file system.
        mount_name: Lustre's name of it; "" for OpenZFS.
        groups: of nodes that mount it.
    """

    kind: str
    dns_name: str
    mount_name: str = ""
    groups: tuple[str, ...] = ()

    @property
    def file_system_id(self) -> str:
        """The first part of the DNS name."""
        return self.dns_name.partition(".")[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """Everything of a cluster that lies in the account. What only the deployment knows is left out."""

    name: str
    groups: tuple[GroupSubject, ...]
    file_systems: tuple[FileSystemSubject, ...]
    is_classic: bool = False

    @property
    def subnet_ids(self) -> tuple[str, ...]:
        """Every subnet once, in the order of the request."""
        return tuple(dict.fromkeys(one for group in self.groups for one in group.subnet_ids))

    @property
    def security_group_ids(self) -> tuple[str, ...]:
        """Every security group once."""
        return tuple(dict.fromkeys(one for group in self.groups for one in group.security_group_ids))

    def groups_in(self, subnet_id: str) -> list[GroupSubject]:
        """The groups whose instances may lie in that subnet."""
        return [group for group in self.groups if subnet_id in group.subnet_ids]


def subject_of(request: Mapping[str, Any], parameters: Mapping[str, Any] | None = None) -> Subject:
    """What an account can be asked about a cluster.

    Args:
        request: the CreateCluster request, of whatever quality.
        parameters: of the classic form.
    """
    groups = [group for group in _items(request.get("InstanceGroups")) if isinstance(group, Mapping)]
    return Subject(
        name=_text(request.get("ClusterName")),
        groups=tuple(_group(group, _object(request.get("VpcConfig"))) for group in groups),
        file_systems=(*_merged(groups), *_of_parameters(parameters or {})),
        is_classic=parameters is not None,
    )


def _group(group: Mapping[str, Any], vpc: Mapping[str, Any]) -> GroupSubject:
    network = _object(group.get("OverrideVpcConfig")) or vpc
    types = [group.get("InstanceType"), *_items(_object(group.get("InstanceRequirements")).get("InstanceTypes"))]
    lifecycle = _object(group.get("LifeCycleConfig"))
    count = group.get("InstanceCount")
    return GroupSubject(
        name=_text(group.get("InstanceGroupName")),
        instance_types=tuple(_text(name) for name in types if _text(name)),
        count=count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 0,
        subnet_ids=_known(network.get("Subnets")),
        security_group_ids=_known(network.get("SecurityGroupIds")),
        role_arn=_text(group.get("ExecutionRole")),
        scripts_uri=_text(lifecycle.get("SourceS3Uri")),
        entry=_text(lifecycle.get("OnCreate")) or _text(lifecycle.get("OnInitComplete")),
        training_plan_arn=_text(group.get("TrainingPlanArn")),
    )


def _merged(groups: Sequence[Mapping[str, Any]]) -> Iterator[FileSystemSubject]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for group in groups:
        for item in _items(group.get("InstanceStorageConfigs")):
            for kind, name in (("LUSTRE", "FsxLustreConfig"), ("OPENZFS", "FsxOpenZfsConfig")):
                config = _object(_object(item).get(name))
                if _text(config.get("DnsName")):
                    key = kind, _text(config.get("DnsName")), _text(config.get("MountName"))
                    found.setdefault(key, []).append(_text(group.get("InstanceGroupName")))
    for (kind, dns_name, mount_name), names in found.items():
        yield FileSystemSubject(kind=kind, dns_name=dns_name, mount_name=mount_name, groups=tuple(names))


def _of_parameters(parameters: Mapping[str, Any]) -> Iterator[FileSystemSubject]:
    if _text(parameters.get("fsx_dns_name")):
        yield FileSystemSubject(
            kind="LUSTRE",
            dns_name=_text(parameters["fsx_dns_name"]),
            mount_name=_text(parameters.get("fsx_mountname")),
        )
    if _text(parameters.get("fsx_openzfs_dns_name")):
        yield FileSystemSubject(kind="OPENZFS", dns_name=_text(parameters["fsx_openzfs_dns_name"]))


def bucket_and_prefix(uri: str) -> tuple[str, str]:
    """Bucket and prefix of an S3 address, the prefix without slashes at its ends."""
    match = re.fullmatch(r"s3://([^/]+)/?(.*)", uri)
    return (match[1], match[2].strip("/")) if match else ("", "")


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _known(value: Any) -> tuple[str, ...]:
    return tuple(item for item in _items(value) if isinstance(item, str) and not is_token(item))


def _text(value: Any) -> str:
    """Text that is known now."""
    return value if isinstance(value, str) and not is_token(value) else ""
