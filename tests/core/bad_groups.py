"""Wrong groups: for every rule what is wrong, where the message points, and what it must say."""

from hyperpod_constructs.options import (
    Batch,
    BatchType,
    Capacity,
    DeepHealthCheck,
    Deployment,
    ScheduledUpdate,
)
from hyperpod_constructs.specs import ComputeGroup, ControllerGroup
from tests.core.bad import Bad, patch, update
from tests.core.support import (
    PLAN,
    ROLE,
    a_cluster,
    a_compute_group,
    with_compute,
)

BAD_GROUPS: tuple[Bad, ...] = (
    # Groups.
    Bad(rule="group-name", spec=with_compute(name=""), path="compute[0].name", says="missing; give the group a name"),
    Bad(rule="group-name", spec=with_compute(name="gpu nodes"), path="compute[0].name", says='use "gpu-nodes"'),
    Bad(rule="group-name", spec=with_compute(name="g" * 70), path="compute[0].name", says="70 characters"),
    Bad(
        rule="instance-type",
        spec=a_cluster(controller=ControllerGroup(name="controller-group")),
        path="controller.instance_type",
        says="missing; give a type such as ml.m5.xlarge",
    ),
    Bad(
        rule="instance-type",
        spec=with_compute(instance_type="p5.48xlarge"),
        path="compute[0].instance_type",
        says='use "ml.p5.48xlarge"',
    ),
    Bad(
        rule="instance-type-known",
        spec=with_compute(instance_type="ml.p5.24xlarge"),
        path="compute[0].instance_type",
        says='did you mean "ml.p5.4xlarge"?',
    ),
    Bad(
        rule="one-or-several-types",
        spec=with_compute(instance_types=["ml.p5.48xlarge", "ml.p5e.48xlarge"]),
        path="compute[0].instance_types",
        says="allowed: one of the two",
    ),
    Bad(
        rule="instance-types-list",
        spec=with_compute(instance_type="", instance_types=["ml.g5.xlarge", "ml.g5.xlarge"]),
        path="compute[0].instance_types[1]",
        says="stands at [0] already",
    ),
    Bad(
        rule="instance-types-list",
        spec=with_compute(instance_type="", instance_types=[f"ml.g{n}.xlarge" for n in range(21)]),
        path="compute[0].instance_types",
        says="got 21 types, allowed: 20",
    ),
    Bad(
        rule="instance-count",
        spec=with_compute(instance_count=-1),
        path="compute[0].instance_count",
        says="got -1, allowed: 0 to 6758",
    ),
    Bad(
        rule="instance-count",
        spec=a_cluster(compute=[ComputeGroup(name="p5", instance_type="ml.p5.48xlarge")]),
        path="compute[0].instance_count",
        says="missing; say how many instances",
    ),
    Bad(
        rule="instance-count",
        spec=a_cluster(controller=ControllerGroup(name="c", instance_type="ml.m5.xlarge", instance_count=2)),
        path="controller.instance_count",
        says="allowed: 1 (continuous provisioning knows one controller)",
    ),
    Bad(
        rule="minimum-within-target",
        spec=with_compute(min_instance_count=17),
        path="compute[0].min_instance_count",
        says="got 17, allowed: 0 to the group's instance_count, 16",
    ),
    Bad(
        rule="threads-per-core",
        spec=with_compute(threads_per_core=4),
        path="compute[0].threads_per_core",
        says="got 4, allowed: 1 or 2",
    ),
    Bad(
        rule="threads-of-the-type",
        spec=with_compute(instance_type="ml.c7g.16xlarge", threads_per_core=2),
        path="compute[0].threads_per_core",
        says="leave threads_per_core out",
    ),
    # Partitions.
    Bad(
        rule="partition-name",
        spec=with_compute(partition="ml.p5.48xlarge"),
        path="compute[0].partition",
        says='use "ml-p5-48xlarge"',
    ),
    Bad(rule="partition-name", spec=with_compute(partition="gpu_a"), path="compute[0].partition", says='use "gpu-a"'),
    Bad(
        rule="partition-reserved",
        spec=with_compute(partition="default"),
        path="compute[0].partition",
        says="choose another partition name",
    ),
    Bad(
        rule="partition-reserved",
        spec=with_compute(name="DEFAULT", partition=""),
        path="compute[0].name",
        says='got "DEFAULT"',
    ),
    Bad(rule="partition-shared", spec=with_compute(partition="dev"), path="compute[0].partition", says="every node"),
    Bad(rule="partition-long", spec=with_compute(partition="p" * 64), path="compute[0].partition", says="shorten it"),
    Bad(
        rule="partition-case",
        spec=a_cluster(
            compute=[a_compute_group(name="a", partition="gpu"), a_compute_group(name="b", partition="GPU")]
        ),
        path="compute[1].partition",
        says="upper and lower case only",
    ),
    Bad(
        rule="partition-mixed",
        spec=a_cluster(compute=[a_compute_group(), a_compute_group(name="cpu", instance_type="ml.c5.4xlarge")]),
        path="compute[1].partition",
        says="give them partitions of their own",
    ),
    # Capacity.
    Bad(
        rule="training-plan",
        spec=with_compute(training_plan_arn="my-plan", availability_zone="use1-az4"),
        path="compute[0].training_plan_arn",
        says="arn:aws:sagemaker:<region>:<account>:training-plan/<name>",
    ),
    Bad(
        rule="training-plan-zone",
        spec=with_compute(training_plan_arn=PLAN),
        path="compute[0].availability_zone",
        says="use1-az4",
    ),
    Bad(
        rule="training-plan-spot",
        spec=with_compute(training_plan_arn=PLAN, capacity=Capacity.SPOT, availability_zone="use1-az4"),
        path="compute[0].capacity",
        says="leave capacity out",
    ),
    Bad(
        rule="deep-health-checks",
        spec=with_compute(deep_health_checks=[DeepHealthCheck.INSTANCE_STRESS] * 2),
        path="compute[0].deep_health_checks[1]",
        says="got DeepHealthCheck.INSTANCE_STRESS",
    ),
    Bad(
        rule="deep-health-checks-type",
        spec=with_compute(instance_type="ml.c5.xlarge", deep_health_checks=[DeepHealthCheck.INSTANCE_STRESS]),
        path="compute[0].deep_health_checks",
        says='"ml.c5.xlarge" has none',
    ),
    # References to CDK objects.
    Bad(
        rule="references",
        spec=with_compute(execution_role=ROLE),
        path="compute[0].execution_role",
        says="iam.Role.from_role_arn",
    ),
    Bad(
        rule="references", spec=with_compute(volume_kms_key="alias/x"), path="compute[0].volume_kms_key", says="kms.Key"
    ),
    Bad(
        rule="references",
        spec=with_compute(subnets=["subnet-1"]),
        path="compute[0].subnets[0]",
        says="ec2.Subnet.from_subnet_id",
    ),
    Bad(
        rule="references",
        spec=with_compute(security_groups=["sg-1"]),
        path="compute[0].security_groups[0]",
        says="ec2.SecurityGroup.from_security_group_id",
    ),
    Bad(
        rule="references",
        spec=with_compute(file_systems=["/fsx"]),
        path="compute[0].file_systems[0]",
        says="a LustreFileSystem, an OpenZfsFileSystem or a Mount",
    ),
    # Images.
    Bad(rule="image-id", spec=with_compute(image_id="latest"), path="compute[0].image_id", says="ami-"),
    Bad(
        rule="image-release-version",
        spec=with_compute(image_release_version="v2.1.0"),
        path="compute[0].image_release_version",
        says='use "2.1.0"',
    ),
    Bad(
        rule="image-and-release",
        spec=with_compute(image_release_version="2.1.0", image_id="ami-0123456789abcdef0"),
        path="compute[0].image_release_version",
        says="give one of the two",
    ),
    Bad(
        rule="schedule-expression",
        spec=with_compute(scheduled_update=ScheduledUpdate(schedule_expression="0 3 * * 0")),
        path="compute[0].scheduled_update.schedule_expression",
        says="six fields",
    ),
    Bad(
        rule="next-patch-date",
        spec=with_compute(auto_patch=patch(next_patch_date="2026-02-30")),
        path="compute[0].auto_patch.next_patch_date",
        says="a date of the calendar",
    ),
    Bad(
        rule="idle-wait-window",
        spec=with_compute(auto_patch=patch(idle_wait_window_seconds=60)),
        path="compute[0].auto_patch.idle_wait_window_seconds",
        says="got 60, allowed: 3600 to 2160000 seconds",
    ),
    Bad(
        rule="batch-size",
        spec=with_compute(scheduled_update=update(maximum_batch=Batch(type=BatchType.CAPACITY_PERCENTAGE, value=101))),
        path="compute[0].scheduled_update.deployment.maximum_batch.value",
        says="1 to 100 percent",
    ),
    Bad(
        rule="batch-size",
        spec=with_compute(
            auto_patch=patch(deployment=Deployment(maximum_batch=Batch(type=BatchType.INSTANCE_COUNT, value=0)))
        ),
        path="compute[0].auto_patch.deployment.maximum_batch.value",
        says="got 0",
    ),
    Bad(
        rule="wait-interval",
        spec=with_compute(scheduled_update=update(wait_interval_seconds=7200)),
        path="compute[0].scheduled_update.deployment.wait_interval_seconds",
        says="0 to 3600 seconds",
    ),
    Bad(
        rule="rollback-alarms",
        spec=with_compute(scheduled_update=update(rollback_alarm_names=["errors", "errors"])),
        path="compute[0].scheduled_update.deployment.rollback_alarm_names[1]",
        says="drop one",
    ),
    Bad(
        rule="rollback-alarms",
        spec=with_compute(scheduled_update=update(rollback_alarm_names=[" "])),
        path="compute[0].scheduled_update.deployment.rollback_alarm_names[0]",
        says="give the name of a CloudWatch alarm",
    ),
    Bad(
        rule="rollback-alarms",
        spec=with_compute(scheduled_update=update(rollback_alarm_names=[f"a{n}" for n in range(11)])),
        path="compute[0].scheduled_update.deployment.rollback_alarm_names",
        says="got 11 alarms, allowed: 10",
    ),
)
