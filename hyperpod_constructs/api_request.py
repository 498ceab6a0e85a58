"""The CreateCluster request of a cluster: the only place that knows the API's casing. Standard library only.

Fields are written in one order and only when they mean something, so that equal specs give equal text.
"""

from collections.abc import Mapping
from typing import Any

from hyperpod_constructs.bindings import AccountingBindings, Bindings, FileSystemMount, GroupBindings, LustreMount
from hyperpod_constructs.instance_types import threads_per_core
from hyperpod_constructs.options import AutoPatch, Batch, Deployment, LifecycleStyle, ScheduledUpdate
from hyperpod_constructs.specs import ClusterSpec, ComputeGroup, Group

Request = dict[str, Any]

ENTRY_SCRIPTS: Mapping[LifecycleStyle, str] = {
    LifecycleStyle.ON_CREATE: "on_create.sh",
    LifecycleStyle.ON_INIT_COMPLETE: "on_init_complete.sh",
}


def create_cluster_request(spec: ClusterSpec, bindings: Bindings) -> Request:
    """Build the CreateCluster request.

    Always ``NodeProvisioningMode=Continuous`` and ``Orchestrator={"Slurm": {}}`` without a ``SlurmConfigStrategy``,
    which that mode refuses (FACTS 5.1).

    Args:
        spec: a cluster that :func:`hyperpod_constructs.rules.validate` accepts.
        bindings: deploy-time values; tokens are passed on untouched.

    Returns:
        A dictionary in the API's casing. Every such request passes botocore's validation.

    Raises:
        KeyError: bindings of a group are missing; an error of the caller, not of the user.
    """
    return _given(
        ClusterName=spec.cluster_name,
        InstanceGroups=[_instance_group(spec, group, bindings.groups[group.name]) for group in spec.groups],
        VpcConfig=_vpc_config(bindings.subnet_ids, bindings.security_group_ids),
        Orchestrator={"Slurm": _slurm(spec, bindings.accounting)},
        NodeProvisioningMode="Continuous",
        # Sent although it is the service's default: an update from "None" back to "Automatic" must say so.
        NodeRecovery=spec.node_recovery.value,
        TieredStorageConfig=_tiered_storage(spec),
        Tags=[{"Key": key, "Value": value} for key, value in spec.tag_pairs],
    )


def _instance_group(spec: ClusterSpec, group: Group, bindings: GroupBindings) -> Request:
    compute = group if isinstance(group, ComputeGroup) else None
    return _given(
        InstanceGroupName=group.name,
        InstanceType=group.instance_type or None,
        InstanceRequirements=_given(InstanceTypes=list(group.instance_types)),
        InstanceCount=group.instance_count,
        MinInstanceCount=group.min_instance_count,
        SlurmConfig=_given(NodeType=group.node_type.value, PartitionNames=list(group.partition_names)),
        LifeCycleConfig=_lifecycle_config(spec.style_of(group), bindings.source_s3_uri),
        ExecutionRole=bindings.execution_role_arn,
        ThreadsPerCore=_threads_per_core(group),
        InstanceStorageConfigs=_storage(group, bindings),
        OnStartDeepHealthChecks=[check.value for check in compute.deep_health_checks] if compute else None,
        TrainingPlanArn=compute.training_plan_arn or None if compute else None,
        OverrideVpcConfig=_vpc_config(bindings.subnet_ids, bindings.security_group_ids),
        ImageId=group.image_id or None,
        ImageReleaseVersion=group.image_release_version or None,
        ScheduledUpdateConfig=_scheduled_update(group.scheduled_update),
        AutoPatchConfig=_auto_patch(group.auto_patch),
        NetworkInterface={"InterfaceType": group.network_interface.value} if group.network_interface else None,
        # An empty object is the value here, so it must not be dropped as "not given".
        CapacityRequirements={group.capacity.value: {}} if group.capacity else None,
    )


def _threads_per_core(group: Group) -> int:
    # Always sent: the service takes 1 for a request without it, and an update without it resets it (field report V-12).
    # Of several types the least, since the field holds for all.
    return group.threads_per_core or min(threads_per_core(name) for name in group.all_instance_types)


def _lifecycle_config(style: LifecycleStyle, source_s3_uri: str | None) -> Request | None:
    if style is LifecycleStyle.IMAGE_ONLY:
        return None
    return {"SourceS3Uri": source_s3_uri, style.value: ENTRY_SCRIPTS[style]}


def _storage(group: Group, bindings: GroupBindings) -> list[Request]:
    """One union member each: the root volume's key, the secondary volume, the file systems (FACTS 4.4)."""
    key = bindings.volume_kms_key_id
    volumes = []
    if key is not None:
        volumes.append({"EbsVolumeConfig": {"VolumeKmsKeyId": key, "RootVolume": True}})
    if group.ebs_volume is not None:
        secondary = _given(VolumeSizeInGB=group.ebs_volume.size_gib, VolumeKmsKeyId=key)
        volumes.append({"EbsVolumeConfig": secondary})
    return [*volumes, *(_mount(mount) for mount in bindings.mounts)]


def _mount(mount: FileSystemMount) -> Request:
    if isinstance(mount, LustreMount):
        lustre = {"DnsName": mount.dns_name, "MountName": mount.mount_name, "MountPath": mount.path}
        return {"FsxLustreConfig": lustre}
    return {"FsxOpenZfsConfig": {"DnsName": mount.dns_name, "MountPath": mount.path}}


def _vpc_config(subnet_ids: tuple[str, ...], security_group_ids: tuple[str, ...]) -> Request | None:
    if not subnet_ids:
        return None
    return {"SecurityGroupIds": list(security_group_ids), "Subnets": list(subnet_ids)}


def _slurm(spec: ClusterSpec, accounting: AccountingBindings | None) -> Request:
    if accounting is None:
        return {}
    name = spec.accounting.database_name if spec.accounting else ""
    database = _given(
        Endpoint=accounting.endpoint, Port=accounting.port, Name=name or None, SecretArn=accounting.secret_arn
    )
    return {"AccountingDatabase": database}


def _tiered_storage(spec: ClusterSpec) -> Request | None:
    if spec.tiered_storage is None:
        return None
    return _given(Mode="Enable", InstanceMemoryAllocationPercentage=spec.tiered_storage.memory_percentage)


def _scheduled_update(update: ScheduledUpdate | None) -> Request | None:
    if update is None:
        return None
    return _given(ScheduleExpression=update.schedule_expression, DeploymentConfig=_deployment(update.deployment))


def _auto_patch(patch: AutoPatch | None) -> Request | None:
    if patch is None:
        return None
    return _given(
        PatchingStrategy=patch.strategy.value,
        PatchSchedule=_given(NextPatchDate=patch.next_patch_date or None),
        DeploymentConfig=_deployment(patch.deployment),
        IdleWaitWindowInSeconds=patch.idle_wait_window_seconds,
    )


def _deployment(deployment: Deployment | None) -> Request | None:
    if deployment is None:
        return None
    policy = _given(
        MaximumBatchSize=_batch(deployment.maximum_batch),
        RollbackMaximumBatchSize=_batch(deployment.rollback_maximum_batch),
    )
    return _given(
        RollingUpdatePolicy=policy,
        WaitIntervalInSeconds=deployment.wait_interval_seconds,
        AutoRollbackConfiguration=[{"AlarmName": name} for name in deployment.rollback_alarm_names],
    )


def _batch(batch: Batch | None) -> Request | None:
    return None if batch is None else {"Type": batch.type.value, "Value": batch.value}


def _given(**fields: Any) -> Request:
    """The fields that have a value: neither ``None`` nor an empty list or object (0 and ``False`` are values)."""
    return {name: value for name, value in fields.items() if value is not None and value not in ([], {})}
