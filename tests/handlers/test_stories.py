"""The cluster's whole life, as CloudFormation plays it: success, failure and rollback."""

from typing import Any

import pytest

from hyperpod_constructs.handlers.cluster.properties import LOGICAL_ID_TAG, STACK_ID_TAG
from hyperpod_constructs.rehearsal.service import Assumptions, Capacity, Limit, ServiceError
from tests.handlers.builders import NAME, a_request, compute, controller, login, p5, props
from tests.handlers.replay import STACK_ID, StackReplay, World

DATABASE = {
    "Endpoint": "db.example.internal",
    "SecretArn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:slurm-db-a1b2c3",
}
ACCOUNTING = a_request(Orchestrator={"Slurm": {"AccountingDatabase": DATABASE}})
NEW_SCRIPTS = {"SourceS3Uri": "s3://sagemaker-scripts/lifecycle/fedcba9876543210/", "OnCreate": "on_create.sh"}
OTHER_STACK = STACK_ID.replace("Training", "Other")


def only_update(world: World) -> dict[str, Any]:
    (request,) = world.requests("UpdateCluster")
    return request


def pinned(release: str, count: int = 2) -> list[dict[str, Any]]:
    return [{**group, "ImageReleaseVersion": release} for group in p5(count)]


def group_names(request: dict[str, Any]) -> list[str]:
    return [group["InstanceGroupName"] for group in request.get("InstanceGroups", [])]


# Create


def test_create_sends_the_request_as_it_was_built_with_the_owner_tags(world: World, stack: StackReplay) -> None:
    created = stack.deploy(props(p5(4), tags={"team": "research"}))
    assert created.succeeded, created.reason
    (request,) = world.requests("CreateCluster")
    tags = {tag["Key"]: tag["Value"] for tag in request["Tags"]}
    assert tags == {"team": "research", STACK_ID_TAG: STACK_ID, LOGICAL_ID_TAG: "ClusterResource"}
    assert request["InstanceGroups"] == p5(4)
    assert {key: value for key, value in request.items() if key not in ("Tags", "InstanceGroups")} == a_request()


def test_create_answers_with_the_name_as_id_and_every_attribute(world: World, stack: StackReplay) -> None:
    created = stack.deploy(props(p5(4)))
    assert created.physical_id == NAME
    cluster = world.describe(NAME)
    assert cluster is not None
    cluster_id = cluster["ClusterArn"].rsplit("/", 1)[-1]
    assert dict(created.data) == {
        "ClusterName": NAME,
        "ClusterArn": cluster["ClusterArn"],
        "ClusterId": cluster_id,
        "LogGroupName": f"/aws/sagemaker/Clusters/{NAME}/{cluster_id}",
        "Status": "InService",
        "InstanceCounts": "controller 1/1, login 1/1, p5 4/4",
        "Warning": "",
    }


def test_create_succeeds_on_controller_and_login_while_workers_are_missing() -> None:
    world = World(capacity=Capacity({"p5": Limit(2)}))
    created = StackReplay(world).deploy(props(p5(16)))
    assert created.succeeded
    assert world.mutations() == ["CreateCluster"]
    world.settle()
    assert world.counts(NAME)["p5"] == (2, 16)


def test_create_that_fails_is_told_in_the_services_words_and_the_cluster_is_deleted(
    world: World, stack: StackReplay
) -> None:
    world.service.fail_lifecycle("controller", log=["line one", "mount: /fsx: cannot connect"])
    failed = stack.deploy(props(p5(4)))
    assert failed.status == "FAILED"
    assert "Lifecycle scripts did not run successfully" in failed.reason.splitlines()[0]
    assert stack.status == "ROLLBACK_COMPLETE"
    assert world.describe(NAME) is None


def test_create_that_fails_elsewhere_deletes_the_cluster(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)), fails_elsewhere=True)
    assert stack.status == "ROLLBACK_COMPLETE"
    assert world.describe(NAME) is None
    assert world.mutations() == ["CreateCluster", "DeleteCluster"]


def test_create_that_the_service_refuses_leaves_nothing(world: World, stack: StackReplay) -> None:
    failed = stack.deploy(
        props([controller(), compute(count=1, ExecutionRole="arn:aws:iam::123456789012:role/A", MinInstanceCount=2)])
    )
    assert failed.status == "FAILED"
    assert (
        "MinInstanceCount (2) of instance group p5 must be between 0 and InstanceCount" in failed.reason.splitlines()[0]
    )
    assert world.mutations() == []
    assert stack.status == "ROLLBACK_COMPLETE"


def test_create_of_a_name_that_another_stack_has_is_refused_and_harms_nobody(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    other = StackReplay(world, stack_id=OTHER_STACK)
    refused = other.deploy(props(p5(2)))
    assert refused.status == "FAILED"
    assert f"belongs to the stack {STACK_ID}" in refused.reason
    assert other.status == "ROLLBACK_COMPLETE"
    assert world.counts(NAME)["p5"][1] == 4
    assert world.mutations() == ["CreateCluster"]


def test_create_of_a_name_that_somebody_took_by_hand_is_refused(world: World, stack: StackReplay) -> None:
    world.client.create_cluster(**a_request(), InstanceGroups=p5(4))
    refused = stack.deploy(props(p5(4)))
    assert "was not made by this library" in refused.reason
    assert stack.status == "ROLLBACK_COMPLETE"
    assert world.describe(NAME) is not None


# Scale


@pytest.mark.parametrize(("wanted", "target"), [(10, 10), (4, 8)])
def test_scale_after_an_operator_scaled_to_eight(world: World, stack: StackReplay, wanted: int, target: int) -> None:
    stack.deploy(props(p5(4)))
    world.scale(NAME, "p5", 8)
    # A tag makes CloudFormation send an update although the count stays 4.
    updated = stack.deploy(props(p5(wanted), tags={"deployment": "2"}))
    assert updated.succeeded, updated.reason
    assert world.counts(NAME)["p5"][1] == target


def test_scale_below_what_an_operator_scaled_to_is_refused_and_rolls_back(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.scale(NAME, "p5", 8)
    calls = len(world.mutations())
    refused = stack.deploy(props(p5(6)))
    assert refused.status == "FAILED"
    assert "the template said 4 before and the live count is 8" in refused.reason
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert world.counts(NAME)["p5"][1] == 8
    assert len(world.mutations()) == calls


def test_scale_below_it_with_the_explicit_word(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.scale(NAME, "p5", 8)
    assert stack.deploy(props(p5(6), ForceInstanceCounts=True)).succeeded
    assert world.counts(NAME)["p5"][1] == 6


@pytest.mark.parametrize("twice", [False, True])
def test_scale_over_an_operators_count_that_fails_elsewhere_goes_back_to_the_operators_count(
    world: World, stack: StackReplay, twice: bool
) -> None:
    stack.twice = twice
    stack.deploy(props(p5(4)))
    world.scale(NAME, "p5", 8)
    stack.deploy(props(p5(10)), fails_elsewhere=True)
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert world.counts(NAME)["p5"][1] == 8
    stack.deploy(props(p5(9)), fails_elsewhere=True)
    assert world.counts(NAME)["p5"][1] == 8


def test_a_group_made_by_hand_that_a_failed_update_took_over_survives_the_rollback(
    world: World, stack: StackReplay
) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    world.client.update_cluster(ClusterName=NAME, InstanceGroups=[compute("g6", 1)])
    world.settle()
    stack.deploy(props([*p5(4), compute("g6", 3)]), fails_elsewhere=True)
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    world.settle()
    assert "g6" in world.counts(NAME)


def test_scale_that_fails_elsewhere_goes_back(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    stack.deploy(props(p5(6)), fails_elsewhere=True)
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert world.counts(NAME)["p5"][1] == 4


def test_scale_beyond_a_quota_is_told_and_rolls_back_without_a_call(stack: StackReplay, world: World) -> None:
    world.service.context.quotas = type(world.service.context.quotas)(instances_of_type={"ml.p5.48xlarge": 4})
    stack.deploy(props(p5(4)))
    failed = stack.deploy(props(p5(6)))
    assert "ResourceLimitExceeded" in failed.reason.splitlines()[0]
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert world.mutations() == ["CreateCluster"]


# Add, remove, rename


def test_add_a_group(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    assert stack.deploy(props([*p5(4), compute("g6", 2, InstanceType="ml.g6.48xlarge")])).succeeded
    assert group_names(only_update(world)) == ["g6"]
    assert world.counts(NAME)["g6"][1] == 2


def test_add_a_group_that_fails_elsewhere_is_removed_again(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    stack.deploy(props([*p5(4), compute("g6", 2)]), fails_elsewhere=True)
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    world.settle()
    assert set(world.counts(NAME)) == {"controller", "login", "p5"}


def test_remove_a_group_with_nodes_needs_the_explicit_word(world: World, stack: StackReplay) -> None:
    stack.deploy(props([*p5(4), compute("g6", 2)]))
    world.settle()
    refused = stack.deploy(props(p5(4)))
    assert "g6: the group cannot be removed: it has 2 nodes" in refused.reason
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert stack.deploy(props(p5(4), AllowGroupDeletion=["g6"])).succeeded
    world.settle()
    assert "g6" not in world.counts(NAME)


@pytest.mark.parametrize("operators_count", [2, 5])
def test_remove_a_group_that_fails_elsewhere_brings_it_back_as_large_as_it_was(
    world: World, stack: StackReplay, operators_count: int
) -> None:
    stack.deploy(props([*p5(4), compute("g6", 2)]))
    world.settle()
    if operators_count != 2:
        world.scale(NAME, "g6", operators_count)
        world.settle()
    stack.deploy(props(p5(4), AllowGroupDeletion=["g6"]), fails_elsewhere=True)
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    world.settle()
    assert world.counts(NAME)["g6"] == (operators_count, operators_count)


def test_rename_a_group(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    renamed = [controller(), login(), compute("p5-new", 4, partition="p5")]
    assert stack.deploy(props(renamed, AllowGroupDeletion=["p5"])).succeeded
    world.settle()
    assert set(world.counts(NAME)) == {"controller", "login", "p5-new"}


# Changes in place, for new nodes, and refused


def test_new_scripts_are_sent_to_every_group_and_told(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    groups = [{**group, "LifeCycleConfig": NEW_SCRIPTS} for group in p5(4)]
    updated = stack.deploy(props(groups))
    assert group_names(only_update(world)) == ["controller", "login", "p5"]
    assert only_update(world)["InstanceGroups"] == groups
    expected = "LifeCycleConfig of controller, login, p5: running nodes keep the old value until they are replaced"
    assert updated.data["Warning"] == expected


def test_new_scripts_that_fail_elsewhere_go_back_to_the_old_ones(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    stack.deploy(props([{**group, "LifeCycleConfig": NEW_SCRIPTS} for group in p5(4)]), fails_elsewhere=True)
    cluster = world.describe(NAME)
    assert cluster is not None
    assert {g["LifeCycleConfig"]["SourceS3Uri"] for g in cluster["InstanceGroups"]} == {
        p5(4)[0]["LifeCycleConfig"]["SourceS3Uri"]
    }


def test_a_refused_change_makes_no_call_and_rolls_back(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    refused = stack.deploy(props(p5(4, InstanceType="ml.p5e.48xlarge")))
    assert refused.reason.startswith("p5: InstanceType cannot change from ml.p5.48xlarge to ml.p5e.48xlarge")
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert world.mutations() == ["CreateCluster"]


def test_a_new_cluster_name_is_refused_and_the_cluster_stays(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    refused = stack.deploy(props(p5(4), request=a_request(ClusterName="other")))
    assert refused.reason.startswith(f"the cluster: ClusterName cannot change from {NAME} to other")
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert world.describe(NAME) is not None
    assert world.describe("other") is None


# Tags


def test_tags_change_by_their_own_calls_and_only_ours(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4), tags={"team": "research", "cost": "1"}))
    cluster = world.describe(NAME)
    assert cluster is not None
    arn = cluster["ClusterArn"]
    world.client.add_tags(ResourceArn=arn, Tags=[{"Key": "by-hand", "Value": "stays"}])
    assert stack.deploy(props(p5(4), tags={"team": "platform"})).succeeded
    tags = {tag["Key"]: tag["Value"] for tag in world.client.list_tags(ResourceArn=arn)["Tags"]}
    assert tags == {"team": "platform", "by-hand": "stays", STACK_ID_TAG: STACK_ID, LOGICAL_ID_TAG: "ClusterResource"}
    assert world.mutations() == ["CreateCluster", "AddTags", "AddTags", "DeleteTags"]


def test_tags_in_another_order_make_no_call(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4), tags={"a": "1", "b": "2"}))
    stack.deploy(props(p5(4), tags={"b": "2", "a": "1"}))
    assert world.mutations() == ["CreateCluster"]


def test_tags_of_a_failed_update_go_back(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4), tags={"team": "research"}))
    stack.deploy(props(p5(4), tags={"team": "platform", "new": "1"}), fails_elsewhere=True)
    cluster = world.describe(NAME)
    assert cluster is not None
    tags = {tag["Key"]: tag["Value"] for tag in world.client.list_tags(ResourceArn=cluster["ClusterArn"])["Tags"]}
    assert (tags["team"], "new" in tags) == ("research", False)


# Accounting


def test_accounting_is_added(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    assert stack.deploy(props(p5(4), request=ACCOUNTING)).succeeded
    assert only_update(world) == {"ClusterName": NAME, "Orchestrator": {"Slurm": {"AccountingDatabase": DATABASE}}}


def test_accounting_with_a_group_that_fails_elsewhere_is_kept_and_told(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    stack.deploy(props([*p5(4), compute("g6", 1)], request=ACCOUNTING), fails_elsewhere=True)
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert "AccountingDatabase is kept" in stack.responses[-1].data["Warning"]
    world.settle()
    assert "g6" not in world.counts(NAME)


def test_accounting_removed_from_the_template_is_refused(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4), request=ACCOUNTING))
    refused = stack.deploy(props(p5(4)))
    assert "AccountingDatabase cannot be removed" in refused.reason
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"


@pytest.mark.parametrize("status", ["NotApplicable", "Reverted", "RevertFailed"])
def test_accounting_that_the_service_could_not_set_is_a_failure_in_its_words(
    world: World, stack: StackReplay, status: str
) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    world.service.fail_accounting("Access denied for user 'slurm'.", status)  # type: ignore[arg-type]
    failed = stack.deploy(props(p5(4), request=ACCOUNTING))
    assert failed.status == "FAILED"
    assert "Access denied for user 'slurm'." in failed.reason.splitlines()[0]
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"


# Operators during an update


@pytest.mark.parametrize("count", [5, 8])
@pytest.mark.parametrize("conflicts", [0, 2])
def test_what_an_operator_changes_while_an_update_waits_is_theirs(
    world: World, stack: StackReplay, count: int, conflicts: int
) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    conflict = ServiceError("ConflictException", "Instance group p5 has a node that is being replaced")
    if conflicts:
        world.service.faults.add("UpdateCluster", conflict, times=conflicts)
    world.service.set_capacity({"p5": Limit(0)})
    stack.after_poll = lambda poll: world.scale(NAME, "p5", count) if poll == 5 else None
    updated = stack.deploy(props(p5(6), ReadyWhen="ALL"))
    assert updated.succeeded, updated.reason
    assert world.counts(NAME)["p5"][1] == count


def test_an_operators_count_while_only_the_software_update_waits_is_theirs(world: World, stack: StackReplay) -> None:
    stack.deploy(props(pinned("2.1.5", count=4)))
    world.settle()
    busy = ServiceError("ConflictException", "Cluster is busy")
    world.service.faults.add("UpdateClusterSoftware", busy, times=4)
    stack.after_poll = lambda poll: world.scale(NAME, "p5", 7) if poll == 0 else None
    updated = stack.deploy(props(pinned("2.2.0", count=6)))
    assert updated.succeeded, updated.reason
    assert world.counts(NAME)["p5"][1] == 7
    assert len(world.requests("UpdateClusterSoftware")) == 1


def test_an_update_that_was_cancelled_makes_no_late_call(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    conflict = ServiceError("ConflictException", "Instance group p5 has a node that is being replaced")
    world.service.faults.add("UpdateCluster", conflict, times=2)
    stack.after_poll = lambda _: world.cloudformation.statuses.update({STACK_ID: "UPDATE_ROLLBACK_IN_PROGRESS"})
    cancelled = stack.deploy(props(p5(6)))
    assert "cancelled" in cancelled.reason
    assert world.counts(NAME)["p5"][1] == 4


# Software


def test_a_new_pin_updates_login_and_compute_and_is_not_awaited(world: World, stack: StackReplay) -> None:
    stack.deploy(props(pinned("2.1.5")))
    world.settle()
    before = world.clock.now()
    updated = stack.deploy(props(pinned("2.2.0")))
    assert updated.succeeded, updated.reason
    assert world.clock.now() - before < 120
    (request,) = world.requests("UpdateClusterSoftware")
    assert request["InstanceGroups"] == [
        {"InstanceGroupName": "login", "ImageReleaseVersion": "2.2.0"},
        {"InstanceGroupName": "p5", "ImageReleaseVersion": "2.2.0"},
    ]
    assert "controller: the controller keeps its image 2.1.5" in updated.data["Warning"]


def test_the_controller_is_updated_on_the_explicit_word_alone(world: World, stack: StackReplay) -> None:
    stack.deploy(props(pinned("2.1.5")))
    world.settle()
    stack.deploy(props(pinned("2.2.0")))
    world.settle(4 * 3600)
    assert stack.deploy(props(pinned("2.2.0"), UpdateControllerSoftware=True)).succeeded
    assert world.requests("UpdateClusterSoftware")[1]["InstanceGroups"] == [
        {"InstanceGroupName": "controller", "ImageReleaseVersion": "2.2.0"}
    ]


def test_an_unchanged_pin_starts_nothing(world: World, stack: StackReplay) -> None:
    stack.deploy(props(pinned("2.1.5")))
    world.settle()
    assert stack.deploy(props(pinned("2.1.5", count=3))).succeeded
    assert world.requests("UpdateClusterSoftware") == []


def test_a_software_update_with_other_changes_waits_its_turn(world: World, stack: StackReplay) -> None:
    stack.deploy(props(pinned("2.1.5")))
    world.settle()
    new = [{**group, "LifeCycleConfig": NEW_SCRIPTS} for group in pinned("2.2.0", count=3)]
    assert stack.deploy(props(new)).succeeded
    assert world.mutations() == ["CreateCluster", "UpdateCluster", "UpdateClusterSoftware"]


def test_a_rollback_starts_no_software_update(world: World, stack: StackReplay) -> None:
    stack.deploy(props(pinned("2.1.5")))
    world.settle()
    stack.deploy(props(pinned("2.2.0")), fails_elsewhere=True)
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert len(world.requests("UpdateClusterSoftware")) == 1


# Delete


def test_delete_waits_until_the_cluster_is_gone(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    assert stack.destroy().succeeded
    assert world.describe(NAME) is None


def test_delete_while_the_cluster_is_busy_waits_for_its_turn() -> None:
    world = World(assumptions=Assumptions(delete_conflicts_while_creating=True))
    stack = StackReplay(world)
    failed_elsewhere = stack.deploy(props(p5(4)), fails_elsewhere=True)
    assert failed_elsewhere.succeeded
    assert stack.status == "ROLLBACK_COMPLETE"
    assert world.describe(NAME) is None


def test_delete_of_a_cluster_that_somebody_deleted_by_hand_succeeds(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.client.delete_cluster(ClusterName=NAME)
    world.settle()
    calls = len(world.mutations())
    assert stack.destroy().succeeded
    assert len(world.mutations()) == calls


def test_delete_leaves_a_strangers_cluster_of_the_same_name_alone(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.client.delete_cluster(ClusterName=NAME)
    world.settle()
    world.client.create_cluster(**a_request(), InstanceGroups=p5(1))
    refused = stack.destroy()
    assert refused.status == "FAILED"
    assert "its owner tags are not those of this resource" in refused.reason
    assert world.describe(NAME) is not None


def test_delete_needs_no_readable_properties(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    stack.properties = {"FormatVersion": "from another age", "Cluster": "{"}
    assert stack.destroy().succeeded
    assert world.describe(NAME) is None


# Identity


def test_another_logical_id_keeps_the_live_cluster_and_says_what_to_do(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    refused, after = stack.rename("Moved", props(p5(4)))
    assert refused.status == "FAILED"
    assert "under the logical id ClusterResource, now it is Moved" in refused.reason
    assert "override_logical_id('ClusterResource')" in refused.reason
    assert all(response.succeeded for response in after)
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert world.mutations() == ["CreateCluster"]
    assert stack.deploy(props(p5(5))).succeeded


def test_an_update_of_a_cluster_deleted_by_hand_is_told_and_its_rollback_succeeds(
    world: World, stack: StackReplay
) -> None:
    stack.deploy(props(p5(4)))
    world.client.delete_cluster(ClusterName=NAME)
    world.settle()
    failed = stack.deploy(props(p5(5)))
    assert "was deleted outside CloudFormation" in failed.reason
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"


def test_an_update_never_touches_a_strangers_cluster(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.client.delete_cluster(ClusterName=NAME)
    world.settle()
    world.client.create_cluster(**a_request(), InstanceGroups=p5(1))
    calls = len(world.mutations())
    assert stack.deploy(props(p5(5))).status == "FAILED"
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert len(world.mutations()) == calls


# Formats


def test_a_rollback_to_properties_of_a_newer_handler_as_the_past_succeeds(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    back = stack.roll_back(props(p5(4)), props(p5(6), version="99"))
    assert back.succeeded
    assert world.mutations() == ["CreateCluster"]


def test_a_newer_format_is_refused_in_words(world: World, stack: StackReplay) -> None:
    refused = stack.deploy(props(p5(4), version="99"))
    assert "FormatVersion: got '99'" in refused.reason
    assert world.mutations() == []
    assert stack.status == "ROLLBACK_COMPLETE"
