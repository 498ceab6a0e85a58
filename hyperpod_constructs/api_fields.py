"""Which argument sets which field of the API, and which fields no argument sets, with the reason. Plain data.

docs/props.md is generated from this table; a test walks botocore's CreateCluster shape and finds every leaf in a
request or in ``NOT_OFFERED``, so that a grown model is noticed. Standard library only.
"""

from collections.abc import Mapping
from types import MappingProxyType

GROUPS = "InstanceGroups[]"
STORAGE = f"{GROUPS}.InstanceStorageConfigs[]"
_DATABASE = "Orchestrator.Slurm.AccountingDatabase"

API_FIELDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "SlurmCluster": {
            "cluster_name": "ClusterName",
            "controller": GROUPS,
            "login": GROUPS,
            "compute": GROUPS,
            "network": "VpcConfig",
            "vpc": "VpcConfig",
            "file_systems": STORAGE,
            "lifecycle": f"{GROUPS}.LifeCycleConfig",
            "scripts_bucket": f"{GROUPS}.LifeCycleConfig.SourceS3Uri",
            "execution_role": f"{GROUPS}.ExecutionRole",
            "accounting": _DATABASE,
            "node_recovery": "NodeRecovery",
            "tags": "Tags",
            "tiered_storage": "TieredStorageConfig",
        },
        "Group": {
            "name": f"{GROUPS}.InstanceGroupName",
            "instance_type": f"{GROUPS}.InstanceType",
            "instance_types": f"{GROUPS}.InstanceRequirements.InstanceTypes[]",
            "instance_count": f"{GROUPS}.InstanceCount",
            "min_instance_count": f"{GROUPS}.MinInstanceCount",
            "threads_per_core": f"{GROUPS}.ThreadsPerCore",
            "ebs_volume": f"{STORAGE}.EbsVolumeConfig",
            "volume_kms_key": f"{STORAGE}.EbsVolumeConfig.VolumeKmsKeyId",
            "file_systems": STORAGE,
            "execution_role": f"{GROUPS}.ExecutionRole",
            "subnets": f"{GROUPS}.OverrideVpcConfig.Subnets[]",
            "security_groups": f"{GROUPS}.OverrideVpcConfig.SecurityGroupIds[]",
            "availability_zone": f"{GROUPS}.OverrideVpcConfig.Subnets[]",
            "image_id": f"{GROUPS}.ImageId",
            "image_release_version": f"{GROUPS}.ImageReleaseVersion",
            "lifecycle_style": f"{GROUPS}.LifeCycleConfig",
            "scheduled_update": f"{GROUPS}.ScheduledUpdateConfig",
            "auto_patch": f"{GROUPS}.AutoPatchConfig",
            "network_interface": f"{GROUPS}.NetworkInterface.InterfaceType",
            "capacity": f"{GROUPS}.CapacityRequirements",
            "partition": f"{GROUPS}.SlurmConfig.PartitionNames[]",
            "training_plan_arn": f"{GROUPS}.TrainingPlanArn",
            "deep_health_checks": f"{GROUPS}.OnStartDeepHealthChecks[]",
        },
        "EbsVolume": {"size_gib": f"{STORAGE}.EbsVolumeConfig.VolumeSizeInGB"},
        "Mount": {"path": f"{STORAGE}.FsxLustreConfig.MountPath"},
        "ScheduledUpdate": {
            "schedule_expression": f"{GROUPS}.ScheduledUpdateConfig.ScheduleExpression",
            "deployment": f"{GROUPS}.ScheduledUpdateConfig.DeploymentConfig",
        },
        "AutoPatch": {
            "strategy": f"{GROUPS}.AutoPatchConfig.PatchingStrategy",
            "next_patch_date": f"{GROUPS}.AutoPatchConfig.PatchSchedule.NextPatchDate",
            "idle_wait_window_seconds": f"{GROUPS}.AutoPatchConfig.IdleWaitWindowInSeconds",
            "deployment": f"{GROUPS}.AutoPatchConfig.DeploymentConfig",
        },
        # Of both kinds of update; the path is that of scheduled ones.
        "Deployment": {
            "maximum_batch": f"{GROUPS}.ScheduledUpdateConfig.DeploymentConfig.RollingUpdatePolicy.MaximumBatchSize",
            "rollback_maximum_batch": (
                f"{GROUPS}.ScheduledUpdateConfig.DeploymentConfig.RollingUpdatePolicy.RollbackMaximumBatchSize"
            ),
            "wait_interval_seconds": f"{GROUPS}.ScheduledUpdateConfig.DeploymentConfig.WaitIntervalInSeconds",
            "rollback_alarm_names": (
                f"{GROUPS}.ScheduledUpdateConfig.DeploymentConfig.AutoRollbackConfiguration[].AlarmName"
            ),
        },
        "Accounting": {
            "endpoint": f"{_DATABASE}.Endpoint",
            "secret": f"{_DATABASE}.SecretArn",
            "port": f"{_DATABASE}.Port",
            "database_name": f"{_DATABASE}.Name",
        },
        "TieredStorage": {"memory_percentage": "TieredStorageConfig.InstanceMemoryAllocationPercentage"},
    }
)

NOT_OFFERED: Mapping[str, str] = MappingProxyType(
    {
        "RestrictedInstanceGroups": "EKS only (FACTS 5.4)",
        "RestrictedInstanceGroupsConfig": "EKS only (FACTS 5.4)",
        "Orchestrator.Eks": "the other orchestrator",
        "Orchestrator.Slurm.SlurmConfigStrategy": "an error with continuous provisioning (FACTS 5.1)",
        "ClusterRole": "EKS only: the role of Karpenter (FACTS 5.4)",
        "AutoScaling": "EKS only: Karpenter (FACTS 5.4)",
        f"{GROUPS}.KubernetesConfig": "EKS only: labels and taints of the kubelet (FACTS 5.4)",
        f"{GROUPS}.AutoPatchConfig.DrainPolicy": "EKS only: goes with the strategy DrainFirst (FACTS 5.4)",
        f"{GROUPS}.AutoPatchConfig.PatchingStrategy=DrainFirst": "EKS only (FACTS 5.4)",
        "TieredStorageConfig.Mode=Disable": "what no tiered_storage means; sent when one is removed",
    }
)
"""Fields, and with ``=`` single values, that no argument sets."""
