"""Specifications that together set every argument there is."""

from dataclasses import replace

from hyperpod_constructs.bindings import Bindings, GroupBindings
from hyperpod_constructs.lifecycle_options import LifecycleScripts
from hyperpod_constructs.options import (
    Accounting,
    AutoPatch,
    Batch,
    BatchType,
    Capacity,
    DeepHealthCheck,
    Deployment,
    EbsVolume,
    LifecycleStyle,
    NetworkInterfaceType,
    NodeRecovery,
    OnTimeout,
    PatchingStrategy,
    PosixUser,
    ReadyWhen,
    ScheduledUpdate,
    TieredStorage,
)
from hyperpod_constructs.specs import ClusterSpec, ComputeGroup, ControllerGroup, LoginGroup
from tests.core.support import (
    KEY,
    LUSTRE,
    OPEN_ZFS,
    PLAN,
    ROLE,
    SCRIPTS,
    SECRET,
    a_cluster,
    a_compute_group,
    bindings_for,
)

_DEPLOYMENT = Deployment(
    maximum_batch=Batch(type=BatchType.INSTANCE_COUNT, value=2),
    rollback_maximum_batch=Batch(type=BatchType.CAPACITY_PERCENTAGE, value=50),
    wait_interval_seconds=600,
    rollback_alarm_names=["training-errors", "node-failures"],
)

# Every argument that goes with the others.
FULL = ClusterSpec(
    cluster_name="everything",
    controller=ControllerGroup(
        instance_type="ml.m5.2xlarge",
        image_release_version="2.2.0",
        ebs_volume=EbsVolume(size_gib=200),
        lifecycle_style=LifecycleStyle.IMAGE_ONLY,
        update_software=True,
    ),
    login=LoginGroup(instance_type="ml.m7g.xlarge", instance_count=2, min_instance_count=1, image_id="default"),
    compute=[
        ComputeGroup(
            name="p5",
            instance_type="ml.p5.48xlarge",
            instance_count=16,
            min_instance_count=4,
            threads_per_core=1,
            partition="train",
            ebs_volume=EbsVolume(size_gib=1000),
            volume_kms_key=object(),
            subnets=[object()],
            security_groups=[object()],
            training_plan_arn=PLAN,
            deep_health_checks=list(DeepHealthCheck),
            lifecycle_style=LifecycleStyle.ON_INIT_COMPLETE,
            network_interface=NetworkInterfaceType.EFA_ONLY,
            scheduled_update=ScheduledUpdate(schedule_expression="cron(0 3 ? * SUN *)", deployment=_DEPLOYMENT),
            auto_patch=AutoPatch(
                strategy=PatchingStrategy.WHEN_IDLE,
                next_patch_date="2027-01-15",
                idle_wait_window_seconds=7200,
                deployment=_DEPLOYMENT,
            ),
        ),
        ComputeGroup(
            name="spot",
            instance_types=["ml.g6e.12xlarge", "ml.g5.12xlarge"],
            instance_count=0,
            capacity=Capacity.SPOT,
            image_id="ami-0123456789abcdef0",
        ),
        ComputeGroup(name="on-demand", instance_type="ml.g5.12xlarge", instance_count=1, capacity=Capacity.ON_DEMAND),
    ],
    accounting=Accounting.external(endpoint="db.example.com", secret=SECRET, port=3307, database_name="slurm_acct"),
    users=[
        PosixUser(name="alice", uid=2001, ssh_public_keys=["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 alice"], sudo=True),
        PosixUser(name="bob", uid=2002, gid=2100, groups=["research"], account="llm"),
    ],
    node_recovery=NodeRecovery.NONE,
    tiered_storage=TieredStorage(memory_percentage=20),
    tags={"team": "foundation models", "cost-centre": "4711"},
    lifecycle=LifecycleScripts(style=LifecycleStyle.ON_CREATE),
    ready_when=ReadyWhen.MINIMUM,
    on_timeout=OnTimeout.FAIL,
    force_instance_counts=True,
    allow_group_deletion=["old"],
)


def full_bindings() -> Bindings:
    """The deploy-time values of ``FULL``: every field of its first compute group's."""
    plain = bindings_for(FULL, mounts=(LUSTRE, OPEN_ZFS))
    everything = GroupBindings(
        execution_role_arn=ROLE,
        source_s3_uri=SCRIPTS,
        mounts=(LUSTRE, OPEN_ZFS),
        volume_kms_key_id=KEY,
        subnet_ids=("subnet-0aaaaaaaaaaaaaaaa",),
        security_group_ids=("sg-0aaaaaaaaaaaaaaaa",),
    )
    return Bindings(
        subnet_ids=plain.subnet_ids,
        security_group_ids=plain.security_group_ids,
        groups={**plain.groups, "p5": everything},
        accounting=plain.accounting,
    )


def hundred_groups(compute: int = 98) -> tuple[ClusterSpec, Bindings]:
    """A cluster of 100 groups, each with what the documented ones have."""
    spec = a_cluster(compute=[a_compute_group(name=f"worker-group-{index:02d}") for index in range(compute)])
    return spec, bindings_for(spec)


def hundred_full_groups(compute: int = 98) -> tuple[ClusterSpec, Bindings]:
    """A cluster of 100 groups, each compute group with every field there is."""
    spec = a_cluster(compute=[FULL.compute[0].with_(name=f"worker-group-{index:02d}") for index in range(compute)])
    everything = full_bindings().groups["p5"]
    return spec, replace(bindings_for(spec), groups=dict.fromkeys((one.name for one in spec.groups), everything))


def longest_groups(compute: int) -> tuple[ClusterSpec, Bindings]:
    """Groups with every field, and every value as long as the service takes it; the other two groups are usual."""
    alarms = tuple(f"{index}{'a' * 254}" for index in range(10))
    deployment = replace(_DEPLOYMENT, rollback_alarm_names=alarms)
    full = FULL.compute[0]
    assert full.scheduled_update is not None
    assert full.auto_patch is not None
    group = full.with_(
        training_plan_arn=f"{PLAN}{'a' * (2048 - len(PLAN))}",
        partition="p" * 1024,
        scheduled_update=replace(full.scheduled_update, deployment=deployment),
        auto_patch=replace(full.auto_patch, deployment=deployment),
    )
    spec = a_cluster(compute=[group.with_(name=f"{index:063d}") for index in range(compute)])
    longest = GroupBindings(
        execution_role_arn=f"{ROLE}{'a' * (2048 - len(ROLE))}",
        source_s3_uri=f"{SCRIPTS}{'a' * (1024 - len(SCRIPTS))}",
        mounts=(replace(LUSTRE, path=f"/{'a' * 1023}"), replace(OPEN_ZFS, path=f"/{'b' * 1023}")),
        volume_kms_key_id="k" * 2048,
        subnet_ids=tuple(f"subnet-{index:025d}" for index in range(16)),
        security_group_ids=tuple(f"sg-{index:029d}" for index in range(5)),
    )
    usual = bindings_for(spec)
    return spec, replace(usual, groups={**usual.groups, **{one.name: longest for one in spec.compute}})
