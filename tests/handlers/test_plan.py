"""The planner: which calls, which refusals, from three pictures. No AWS, no clock."""

from typing import Any

import pytest

from hyperpod_constructs.handlers.cluster.observed import read_cluster
from hyperpod_constructs.handlers.cluster.plan import Calls, Decision, Done, Refusal, Wait, plan
from hyperpod_constructs.handlers.cluster.properties import Properties
from tests.handlers.builders import LUSTRE, ROLE, SCRIPTS, VPC, a_request, compute, controller, desired, login, p5
from tests.handlers.pictures import described, described_group, live_counts, observed

OTHER_ROLE = "arn:aws:iam::123456789012:role/Other"
DATABASE = {"Endpoint": "db.example.internal", "SecretArn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:db"}


def one_update(decision: Decision) -> dict[str, Any]:
    assert isinstance(decision, Calls), decision
    (call,) = decision.calls
    assert call.operation == "UpdateCluster"
    return dict(call.request)


def refusals(decision: Decision) -> str:
    assert isinstance(decision, Refusal), decision
    return "\n".join(decision.problems)


def notes(decision: Decision) -> str:
    assert isinstance(decision, Calls | Done), decision
    return "\n".join(decision.notes)


def change(field: str, value: Any, before: Any = None) -> tuple[Properties, Properties, Any]:
    """One field of the compute group changed in the template, live as before."""
    old, new = p5(4, **{field: before} if before is not None else {}), p5(4, **{field: value})
    return desired(new), desired(old), observed(old)


def test_nothing_changed_is_done() -> None:
    assert plan(desired(), desired(), observed()) == Done()


def test_v12_scaling_sends_only_that_group_with_its_full_specification() -> None:
    request = one_update(plan(desired(p5(6)), desired(p5(4)), observed(p5(4))))
    (group,) = request.pop("InstanceGroups")
    assert request == {"ClusterName": "my-training-cluster"}
    assert group == compute(count=6)


def test_several_groups_scale_in_one_call() -> None:
    old = [controller(), login(), compute("a", 2), compute("b", 4), compute("c", 1)]
    new = [controller(), login(), compute("a", 3), compute("b", 2), compute("c", 1)]
    request = one_update(plan(desired(new), desired(old), observed(old)))
    assert [(g["InstanceGroupName"], g["InstanceCount"]) for g in request["InstanceGroups"]] == [("a", 3), ("b", 2)]


def test_a_change_of_another_field_carries_the_live_count() -> None:
    old, new = p5(4), p5(4, LifeCycleConfig={"SourceS3Uri": "s3://sagemaker-scripts/new/", "OnCreate": "on_create.sh"})
    request = one_update(plan(desired(new), desired(old), live_counts(old, p5=(8, 8))))
    assert request["InstanceGroups"] == [{**new[2], "InstanceCount": 8}]


def test_a_live_count_below_the_templates_minimum_lowers_the_minimum_that_is_sent() -> None:
    old = p5(4, MinInstanceCount=3)
    new = p5(4, MinInstanceCount=3, OnStartDeepHealthChecks=["InstanceStress"])
    live = live_counts(old, p5=(2, 2))
    (group,) = one_update(plan(desired(new), desired(old), live))["InstanceGroups"]
    assert (group["InstanceCount"], group["MinInstanceCount"]) == (2, 2)


@pytest.mark.parametrize(
    ("field", "value", "before"),
    [
        ("InstanceType", "ml.p5e.48xlarge", "ml.p5.48xlarge"),
        ("ExecutionRole", OTHER_ROLE, ROLE),
        ("ThreadsPerCore", 1, 2),
        ("OverrideVpcConfig", {"SecurityGroupIds": ["sg-2"], "Subnets": ["subnet-2"]}, VPC),
        ("OverrideVpcConfig", VPC, None),
        ("SlurmConfig", {"NodeType": "Compute", "PartitionNames": ["other"]}, None),
        ("CapacityRequirements", {"Spot": {}}, {"OnDemand": {}}),
        ("NetworkInterface", {"InterfaceType": "efa-only"}, {"InterfaceType": "efa"}),
        (
            "InstanceStorageConfigs",
            [{"EbsVolumeConfig": {"VolumeSizeInGB": 500, "VolumeKmsKeyId": "key/b"}}],
            [{"EbsVolumeConfig": {"VolumeSizeInGB": 500, "VolumeKmsKeyId": "key/a"}}],
        ),
    ],
)
def test_v11_a_field_that_is_fixed_is_refused_and_says_to_make_a_new_group(field: str, value: Any, before: Any) -> None:
    text = refusals(plan(*change(field, value, before)))
    assert text.startswith(f"p5: {field}")
    assert "another name" in text


@pytest.mark.parametrize(
    ("field", "value", "before"),
    [
        ("OnStartDeepHealthChecks", ["InstanceStress", "InstanceConnectivity"], ["InstanceStress"]),
        ("OnStartDeepHealthChecks", None, ["InstanceStress"]),
        ("TrainingPlanArn", "arn:aws:sagemaker:us-east-1:123456789012:training-plan/b", None),
        ("ScheduledUpdateConfig", {"ScheduleExpression": "cron(0 3 ? * 1#1 *)"}, None),
        (
            "ScheduledUpdateConfig",
            {"ScheduleExpression": "cron(0 4 ? * 1#1 *)"},
            {"ScheduleExpression": "cron(0 3 ? * 1#1 *)"},
        ),
        ("AutoPatchConfig", {"PatchingStrategy": "WhenAllIdle"}, {"PatchingStrategy": "WhenIdle"}),
        ("MinInstanceCount", 2, 1),
    ],
)
def test_what_changes_in_place_is_sent_without_a_note(field: str, value: Any, before: Any) -> None:
    decision = plan(*change(field, value, before))
    (group,) = one_update(decision)["InstanceGroups"]
    assert group.get(field) == value
    assert notes(decision) == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("LifeCycleConfig", {"SourceS3Uri": "s3://sagemaker-scripts/new/", "OnCreate": "on_create.sh"}),
        ("LifeCycleConfig", {"SourceS3Uri": SCRIPTS, "OnInitComplete": "on_init_complete.sh"}),
        ("InstanceStorageConfigs", [{"EbsVolumeConfig": {"VolumeSizeInGB": 500}}]),
        (
            "InstanceStorageConfigs",
            [{"FsxLustreConfig": {"DnsName": LUSTRE, "MountName": "abcdefgh", "MountPath": "/shared"}}],
        ),
        ("InstanceStorageConfigs", None),
    ],
)
def test_s02_and_l16_what_only_new_nodes_take_is_sent_and_told(field: str, value: Any) -> None:
    decision = plan(*change(field, value))
    (group,) = one_update(decision)["InstanceGroups"]
    assert group.get(field) == value
    assert f"{field} of p5: running nodes keep the old value" in notes(decision)


def test_the_order_of_lists_means_nothing() -> None:
    old = p5(4, OnStartDeepHealthChecks=["InstanceStress", "InstanceConnectivity"])
    new = p5(4, OnStartDeepHealthChecks=["InstanceConnectivity", "InstanceStress"])
    other_vpc = {"SecurityGroupIds": ["sg-1", "sg-2"], "Subnets": ["subnet-1", "subnet-2"]}
    turned = {"SecurityGroupIds": ["sg-2", "sg-1"], "Subnets": ["subnet-2", "subnet-1"]}
    before, after = (desired(g, request=a_request(VpcConfig=v)) for g, v in ((old, other_vpc), (new, turned)))
    assert plan(after, before, observed(old, VpcConfig=other_vpc)) == Done()


def test_a_trailing_slash_of_the_scripts_folder_means_nothing() -> None:
    new = p5(4, LifeCycleConfig={"SourceS3Uri": SCRIPTS.rstrip("/"), "OnCreate": "on_create.sh"})
    assert plan(desired(new), desired(p5(4)), observed(p5(4))) == Done()


def test_a_key_given_by_id_or_by_arn_is_the_same_key() -> None:
    arn = "arn:aws:kms:us-east-1:123456789012:key/1234"
    old = p5(4, InstanceStorageConfigs=[{"EbsVolumeConfig": {"RootVolume": True, "VolumeKmsKeyId": "1234"}}])
    live = p5(4, InstanceStorageConfigs=[{"EbsVolumeConfig": {"RootVolume": True, "VolumeKmsKeyId": arn}}])
    assert plan(desired(old), desired(old), observed(live)) == Done()


def test_defaults_that_the_service_shows_are_no_difference() -> None:
    shown = described_group(
        compute(count=4),
        OnStartDeepHealthChecks=["InstanceStress"],
        CurrentImageReleaseVersion="2.2.0",
        DesiredImageReleaseVersion="2.2.0",
        DesiredImageId="ami-0123456789abcdef0",
    )
    live = read_cluster({**described(p5(4)[:2]), "InstanceGroups": [*described(p5(4)[:2])["InstanceGroups"], shown]})
    assert plan(desired(), desired(), live) == Done()


def test_an_operators_change_in_place_is_put_right_when_the_group_is_looked_at() -> None:
    template = p5(4, OnStartDeepHealthChecks=["InstanceStress"])
    live = p5(4, OnStartDeepHealthChecks=["InstanceConnectivity"])
    (group,) = one_update(plan(desired(template), desired(template), observed(live)))["InstanceGroups"]
    assert group["OnStartDeepHealthChecks"] == ["InstanceStress"]


def test_a_fixed_field_that_differs_without_a_change_of_the_template_is_told_not_refused() -> None:
    decision = plan(desired(p5(6)), desired(p5(4)), observed(p5(4, ExecutionRole=OTHER_ROLE)))
    one_update(decision)
    assert f"p5: ExecutionRole stays {OTHER_ROLE}" in notes(decision)


def test_a_half_applied_change_is_not_sent_again() -> None:
    assert plan(desired(p5(6)), desired(p5(4)), observed(p5(6))) == Done()


def test_all_refusals_come_at_once() -> None:
    new = [controller(ThreadsPerCore=1), login(), compute(count=4, InstanceType="ml.p4d.24xlarge")]
    text = refusals(
        plan(desired(new, request=a_request(VpcConfig={**VPC, "Subnets": ["subnet-2"]})), desired(), observed())
    )
    assert [line.split(" cannot")[0] for line in text.splitlines()] == [
        "the cluster: VpcConfig.Subnets",
        "controller: ThreadsPerCore",
        "p5: InstanceType",
    ]


def test_a_refusal_names_both_values() -> None:
    text = refusals(plan(*change("InstanceType", "ml.p5e.48xlarge")))
    assert "change from ml.p5.48xlarge to ml.p5e.48xlarge" in text


# Cluster


def test_a_new_name_is_refused() -> None:
    new = desired(request=a_request(ClusterName="other"))
    assert "the cluster: ClusterName cannot change from my-training-cluster to other" in refusals(
        plan(new, desired(), observed())
    )


def test_node_recovery_changes_in_place() -> None:
    new = desired(request=a_request(NodeRecovery="None"))
    assert one_update(plan(new, desired(), observed())) == {
        "ClusterName": "my-training-cluster",
        "NodeRecovery": "None",
    }


def test_v19_an_accounting_database_can_be_added() -> None:
    new = desired(request=a_request(Orchestrator={"Slurm": {"AccountingDatabase": DATABASE}}))
    request = one_update(plan(new, desired(), observed()))
    assert request == {
        "ClusterName": "my-training-cluster",
        "Orchestrator": {"Slurm": {"AccountingDatabase": DATABASE}},
    }


def test_v19_an_accounting_database_is_never_removed() -> None:
    before = desired(request=a_request(Orchestrator={"Slurm": {"AccountingDatabase": DATABASE}}))
    live = observed(Orchestrator={"Slurm": {"AccountingDatabase": DATABASE}})
    text = refusals(plan(desired(), before, live))
    assert text.startswith("the cluster: Orchestrator.Slurm.AccountingDatabase cannot be removed")
    assert len(text.splitlines()) == 1


def test_v19_a_rollback_keeps_the_database_and_tells() -> None:
    failed = desired(request=a_request(Orchestrator={"Slurm": {"AccountingDatabase": DATABASE}}))
    live = observed(Orchestrator={"Slurm": {"AccountingDatabase": DATABASE}})
    decision = plan(desired(), failed, live, rolling_back=True)
    assert isinstance(decision, Done)
    assert notes(decision) == "the cluster: Orchestrator.Slurm.AccountingDatabase is kept"


def test_tiered_storage_dropped_from_the_template_is_disabled() -> None:
    setting = {"Mode": "Enable", "InstanceMemoryAllocationPercentage": 20}
    before = desired(request=a_request(TieredStorageConfig=setting))
    request = one_update(plan(desired(), before, observed(TieredStorageConfig=setting)))
    assert request["TieredStorageConfig"] == {"Mode": "Disable"}


def test_what_an_operator_set_and_the_template_never_mentioned_is_left_alone() -> None:
    assert plan(desired(), desired(), observed(TieredStorageConfig={"Mode": "Enable"})) == Done()


def test_a_pin_dropped_from_the_template_leaves_the_image_alone() -> None:
    old = p5(4, ImageReleaseVersion="2.1.5", ImageId="ami-0123456789abcdef0")
    assert plan(desired(p5(4)), desired(old), observed(old)) == Done()


def test_node_recovery_dropped_from_the_template_goes_back_to_the_default() -> None:
    before, now = desired(request=a_request(NodeRecovery="None")), desired(request=a_request(NodeRecovery=None))
    assert one_update(plan(now, before, observed(NodeRecovery="None")))["NodeRecovery"] == "Automatic"


def test_the_default_port_of_a_database_is_no_difference() -> None:
    before = desired(request=a_request(Orchestrator={"Slurm": {"AccountingDatabase": DATABASE}}))
    with_port = {**DATABASE, "Port": 3306}
    now = desired(request=a_request(Orchestrator={"Slurm": {"AccountingDatabase": with_port}}))
    assert plan(now, before, observed(Orchestrator={"Slurm": {"AccountingDatabase": DATABASE}})) == Done()


# Groups that come and go


def test_a_new_group_is_sent_as_it_is() -> None:
    new = [*p5(4), compute("g6", 2)]
    assert one_update(plan(desired(new), desired(), observed()))["InstanceGroups"] == [new[3]]


def test_c12_a_removed_group_with_nodes_is_refused_with_the_count() -> None:
    text = refusals(plan(desired(p5(4)[:2]), desired(p5(4)), observed(p5(4))))
    assert "p5: the group cannot be removed: it has 4 nodes (target 4)" in text
    assert "allow_group_deletion=['p5']" in text


def test_c12_a_removed_group_is_deleted_with_the_explicit_word_and_no_empty_list_is_sent() -> None:
    new = desired(p5(4)[:2], AllowGroupDeletion=["p5"])
    assert one_update(plan(new, desired(), observed())) == {
        "ClusterName": "my-training-cluster",
        "InstanceGroupsToDelete": ["p5"],
    }


def test_an_empty_group_is_removed_without_a_word() -> None:
    old = p5(0)
    assert one_update(plan(desired(old[:2]), desired(old), observed(old)))["InstanceGroupsToDelete"] == ["p5"]


def test_c12_a_renamed_group_is_added_and_removed_in_one_call_and_never_in_both_lists() -> None:
    new = [controller(), login(), compute("p5-new", 4)]
    request = one_update(plan(desired(new, AllowGroupDeletion=["p5"]), desired(), observed()))
    assert [group["InstanceGroupName"] for group in request["InstanceGroups"]] == ["p5-new"]
    assert request["InstanceGroupsToDelete"] == ["p5"]


def test_c14_an_unknown_group_is_left_alone_and_told() -> None:
    decision = plan(desired(p5(6)), desired(p5(4)), observed([*p5(4), compute("by-hand", 2)]))
    assert "InstanceGroupsToDelete" not in one_update(decision)
    assert "left alone, not in the template: by-hand" in notes(decision)


@pytest.mark.parametrize("rolling_back", [False, True])
def test_a_wanted_group_that_is_still_being_deleted_is_waited_for(rolling_back: bool) -> None:
    live = [described_group(group) for group in p5(4)]
    live[2]["Status"] = "Deleting"
    picture = read_cluster({**described([]), "InstanceGroups": live})
    decision = plan(desired(p5(6)), desired(p5(4)), picture, rolling_back=rolling_back)
    assert decision == Wait(reason="p5: still being deleted, to be made again afterwards")


# Rolling back


def test_a_rollback_removes_the_group_that_the_failed_update_added() -> None:
    failed = [*p5(4), compute("g6", 2)]
    request = one_update(plan(desired(p5(4)), desired(failed), observed(failed), rolling_back=True))
    assert request == {"ClusterName": "my-training-cluster", "InstanceGroupsToDelete": ["g6"]}


def test_a_rollback_never_refuses() -> None:
    failed = [controller(ThreadsPerCore=1), login(), compute(count=9, InstanceType="ml.p4d.24xlarge")]
    live = live_counts(p5(4), p5=(7, 7))
    other = a_request(VpcConfig={**VPC, "Subnets": ["subnet-2"]})
    decision = plan(desired(p5(4)), desired(failed, request=other), live, rolling_back=True)
    assert isinstance(decision, Done)
    assert "the live count of 7 is kept" in notes(decision)


def test_a_rollback_of_a_cluster_that_is_being_deleted_is_done() -> None:
    assert isinstance(plan(desired(), desired(), observed(ClusterStatus="Deleting"), rolling_back=True), Done)
    assert isinstance(plan(desired(), desired(), observed(ClusterStatus="Deleting")), Refusal)


def test_while_the_service_rolls_back_nothing_is_called() -> None:
    assert plan(desired(p5(6)), desired(p5(4)), observed(ClusterStatus="RollingBack")) == Wait(
        reason="cluster my-training-cluster is rolling back"
    )


# Unknown past


def test_without_readable_previous_properties_live_counts_are_kept() -> None:
    decision = plan(desired(p5(6)), None, observed(p5(4)))
    assert isinstance(decision, Done)
    assert "the live count of 4 is kept; the template says 6" in notes(decision)


# Patch dates


def test_the_services_own_next_patch_date_is_no_difference_and_is_carried() -> None:
    patch = {"PatchingStrategy": "WhenIdle", "PatchSchedule": {"NextPatchDate": "2026-12-01T00:00:00+00:00"}}
    template, moved = p5(4, AutoPatchConfig=patch), {"NextPatchDate": "2026-12-22T00:00:00+00:00"}
    shown = [described_group(group) for group in template]
    shown[2]["AutoPatchConfig"] = {"PatchingStrategy": "WhenIdle", "DesiredPatchSchedule": moved}
    live = read_cluster({**described([]), "InstanceGroups": shown})
    assert plan(desired(template), desired(template), live) == Done()
    assert plan(desired(template), None, live) == Done(), "also when the template before is not known"
    (group,) = one_update(plan(desired(p5(6, AutoPatchConfig=patch)), desired(template), live))["InstanceGroups"]
    assert group["AutoPatchConfig"]["PatchSchedule"] == moved


def test_a_patch_date_that_the_template_changes_is_sent() -> None:
    def patch(day: str) -> dict[str, Any]:
        return {"PatchingStrategy": "WhenIdle", "PatchSchedule": {"NextPatchDate": f"2026-12-{day}T00:00:00Z"}}

    old = p5(4, AutoPatchConfig=patch("01"))
    shown = [described_group(group) for group in old]
    shown[2]["AutoPatchConfig"] = {
        "PatchingStrategy": "WhenIdle",
        "DesiredPatchSchedule": {"NextPatchDate": "2026-12-01T00:00:00Z"},
    }
    live = read_cluster({**described([]), "InstanceGroups": shown})
    (group,) = one_update(plan(desired(p5(4, AutoPatchConfig=patch("15"))), desired(old), live))["InstanceGroups"]
    assert group["AutoPatchConfig"] == patch("15")
