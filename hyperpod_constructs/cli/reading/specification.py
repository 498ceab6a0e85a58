"""The specification and the bindings that a request means: the reverse of ``api_request``. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from hyperpod_constructs.bindings import (
    AccountingBindings,
    Bindings,
    FileSystemMount,
    GroupBindings,
    LustreMount,
    OpenZfsMount,
)
from hyperpod_constructs.config_options import Reference, ReferenceKind
from hyperpod_constructs.options import (
    Accounting,
    AutoPatch,
    Capacity,
    DeepHealthCheck,
    EbsVolume,
    LifecycleStyle,
    NetworkInterfaceType,
    NodeRecovery,
    PatchingStrategy,
    ScheduledUpdate,
    TieredStorage,
)
from hyperpod_constructs.specs import ClusterSpec, ComputeGroup, ControllerGroup, LoginGroup

from .plain import groups_of, items_of, mapping_of, number_of, text_of, texts_of


@dataclass(frozen=True, kw_only=True)
class Role:
    """What a group is to Slurm, whoever says so: SlurmConfig, or provisioning_parameters.json."""

    node_type: str
    partitions: tuple[str, ...] = ()


Placed = Mapping[str, Sequence[tuple[str, Mapping[str, Any], Role]]]
"""Path, group and role of the groups of each node type."""


def spec_of(request: Mapping[str, Any], placed: Placed) -> ClusterSpec:
    """The specification; one group at least is a controller."""
    controller, login, compute = placed["Controller"], placed["Login"], placed["Compute"]
    tags = [tag for tag in items_of(request.get("Tags")) if isinstance(tag, Mapping)]
    return ClusterSpec(
        cluster_name=text_of(request.get("ClusterName")),
        controller=ControllerGroup(**_common(controller[0][1])),
        login=LoginGroup(**_common(login[0][1])) if login else None,
        compute=[_compute(group, role) for _, group, role in compute],
        accounting=_accounting(mapping_of(mapping_of(request.get("Orchestrator")).get("Slurm"))),
        node_recovery=_member(NodeRecovery, request.get("NodeRecovery")) or NodeRecovery.AUTOMATIC,
        tiered_storage=_tiered(request.get("TieredStorageConfig")),
        tags=tuple((text_of(tag.get("Key")), text_of(tag.get("Value"))) for tag in tags),
    )


def _compute(group: Mapping[str, Any], role: Role) -> ComputeGroup:
    checks = (_member(DeepHealthCheck, name) for name in items_of(group.get("OnStartDeepHealthChecks")))
    return ComputeGroup(
        **_common(group),
        partition=role.partitions[0] if role.partitions else "",
        training_plan_arn=text_of(group.get("TrainingPlanArn")),
        deep_health_checks=tuple(one for one in checks if one),
    )


def _common(group: Mapping[str, Any]) -> dict[str, Any]:
    storage = [item for item in items_of(group.get("InstanceStorageConfigs")) if isinstance(item, Mapping)]
    volumes = [mapping_of(item.get("EbsVolumeConfig")) for item in storage if "EbsVolumeConfig" in item]
    secondary = next((one for one in volumes if one.get("VolumeSizeInGB") and not one.get("RootVolume")), None)
    override = mapping_of(group.get("OverrideVpcConfig"))
    capacity = next(iter(mapping_of(group.get("CapacityRequirements"))), "")
    lifecycle = mapping_of(group.get("LifeCycleConfig"))
    known: dict[str, Any] = {
        "name": text_of(group.get("InstanceGroupName")),
        "instance_type": text_of(group.get("InstanceType")),
        "instance_types": [
            text_of(name) for name in items_of(mapping_of(group.get("InstanceRequirements")).get("InstanceTypes"))
        ],
        "instance_count": number_of(group.get("InstanceCount")),
        "min_instance_count": number_of(group.get("MinInstanceCount")),
        "threads_per_core": number_of(group.get("ThreadsPerCore")),
        "ebs_volume": EbsVolume(size_gib=number_of(secondary.get("VolumeSizeInGB")) or 1) if secondary else None,
        "volume_kms_key": _reference(ReferenceKind.VOLUME_KMS_KEY, _key(volumes)),
        "subnets": [Reference(kind=ReferenceKind.SUBNET, value=one) for one in texts_of(override.get("Subnets"))],
        "security_groups": [
            Reference(kind=ReferenceKind.SECURITY_GROUP, value=one)
            for one in texts_of(override.get("SecurityGroupIds"))
        ],
        "image_id": text_of(group.get("ImageId")),
        "image_release_version": text_of(group.get("ImageReleaseVersion")),
        "lifecycle_style": _style(lifecycle),
        "scheduled_update": _scheduled(group.get("ScheduledUpdateConfig")),
        "auto_patch": _patch(group.get("AutoPatchConfig")),
        "network_interface": _member(
            NetworkInterfaceType, mapping_of(group.get("NetworkInterface")).get("InterfaceType")
        ),
        "capacity": _member(Capacity, capacity),
    }
    names = {item.name for item in fields(ControllerGroup)}
    # A count that is missing is the model's to tell; 1 keeps the rules quiet about it.
    given = {name: value for name, value in known.items() if name in names and value is not None}
    return {"instance_count": 1, **given}


def _style(lifecycle: Mapping[str, Any]) -> LifecycleStyle:
    if not lifecycle:
        return LifecycleStyle.IMAGE_ONLY
    return LifecycleStyle.ON_INIT_COMPLETE if lifecycle.get("OnInitComplete") else LifecycleStyle.ON_CREATE


def _scheduled(value: Any) -> ScheduledUpdate | None:
    expression = mapping_of(value).get("ScheduleExpression")
    return ScheduledUpdate(schedule_expression=text_of(expression)) if expression else None


def _patch(value: Any) -> AutoPatch | None:
    config = mapping_of(value)
    strategy = _member(PatchingStrategy, config.get("PatchingStrategy"))
    if strategy is None:
        return None
    date = mapping_of(config.get("PatchSchedule")).get("NextPatchDate")
    window = number_of(config.get("IdleWaitWindowInSeconds"))
    return AutoPatch(strategy=strategy, next_patch_date=text_of(date), idle_wait_window_seconds=window)


def _tiered(value: Any) -> TieredStorage | None:
    config = mapping_of(value)
    if config.get("Mode") != "Enable":
        return None
    return TieredStorage(memory_percentage=number_of(config.get("InstanceMemoryAllocationPercentage")))


def _accounting(slurm: Mapping[str, Any]) -> Accounting | None:
    database = mapping_of(slurm.get("AccountingDatabase"))
    if not database:
        return None
    return Accounting.external(
        endpoint=text_of(database.get("Endpoint")),
        secret=text_of(database.get("SecretArn")),
        port=number_of(database.get("Port")),
        database_name=text_of(database.get("Name")),
    )


def bindings_of(request: Mapping[str, Any]) -> Bindings:
    """The deploy-time values."""
    vpc, slurm = mapping_of(request.get("VpcConfig")), mapping_of(mapping_of(request.get("Orchestrator")).get("Slurm"))
    database = mapping_of(slurm.get("AccountingDatabase"))
    return Bindings(
        subnet_ids=tuple(texts_of(vpc.get("Subnets"))),
        security_group_ids=tuple(texts_of(vpc.get("SecurityGroupIds"))),
        groups={text_of(group.get("InstanceGroupName")): _group_bindings(group) for group in groups_of(request)},
        accounting=AccountingBindings(
            endpoint=text_of(database.get("Endpoint")),
            secret_arn=text_of(database.get("SecretArn")),
            port=number_of(database.get("Port")),
        )
        if database
        else None,
    )


def _group_bindings(group: Mapping[str, Any]) -> GroupBindings:
    override = mapping_of(group.get("OverrideVpcConfig"))
    storage = [item for item in items_of(group.get("InstanceStorageConfigs")) if isinstance(item, Mapping)]
    volumes = [mapping_of(item.get("EbsVolumeConfig")) for item in storage if "EbsVolumeConfig" in item]
    return GroupBindings(
        execution_role_arn=text_of(group.get("ExecutionRole")),
        source_s3_uri=text_of(mapping_of(group.get("LifeCycleConfig")).get("SourceS3Uri")) or None,
        mounts=tuple(mount for item in storage for mount in _mounts(item)),
        volume_kms_key_id=_key(volumes) or None,
        subnet_ids=tuple(texts_of(override.get("Subnets"))),
        security_group_ids=tuple(texts_of(override.get("SecurityGroupIds"))),
    )


def _mounts(item: Mapping[str, Any]) -> Iterator[FileSystemMount]:
    lustre, open_zfs = mapping_of(item.get("FsxLustreConfig")), mapping_of(item.get("FsxOpenZfsConfig"))
    if lustre:
        path = text_of(lustre.get("MountPath")) or "/fsx"
        name, mount_name = text_of(lustre.get("DnsName")), text_of(lustre.get("MountName"))
        yield LustreMount(dns_name=name, mount_name=mount_name, path=path)
    if open_zfs:
        yield OpenZfsMount(
            dns_name=text_of(open_zfs.get("DnsName")), path=text_of(open_zfs.get("MountPath")) or "/home"
        )


def _key(volumes: Sequence[Mapping[str, Any]]) -> str:
    return next((text_of(one["VolumeKmsKeyId"]) for one in volumes if one.get("VolumeKmsKeyId")), "")


def _reference(kind: ReferenceKind, value: str) -> Reference | None:
    return Reference(kind=kind, value=value) if value else None


def _member(kind: Any, value: Any) -> Any:
    return kind(value) if value in [str(one.value) for one in kind] else None
