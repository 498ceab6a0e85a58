"""Section C of the field reports, by id: faults that real users met, each with the right value.

The halves of these reports that concern the template (C-09, C-16, C-24, C-27) are tested with the constructs.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperpod_constructs.handlers.cluster import index
from hyperpod_constructs.handlers.cluster.errors import HandlerError, MalformedEventError
from hyperpod_constructs.handlers.cluster.events import PROGRESS
from hyperpod_constructs.handlers.cluster.permissions import PERMISSIONS, Resource
from hyperpod_constructs.handlers.cluster.properties import read_properties
from hyperpod_constructs.rehearsal.service import Capacity, Limit, ServiceError
from tests.handlers.builders import NAME, a_request, compute, controller, login, p5, props
from tests.handlers.replay import (
    CREATE_FAILED,
    Response,
    StackReplay,
    World,
    through_cloudformation,
)


def test_c01_numbers_and_booleans_that_arrive_as_texts_get_their_types_back(world: World, stack: StackReplay) -> None:
    group = compute(
        count=2,
        MinInstanceCount=0,
        InstanceStorageConfigs=[
            {"EbsVolumeConfig": {"VolumeSizeInGB": 500}},
            {"EbsVolumeConfig": {"RootVolume": True, "VolumeKmsKeyId": "1234"}},
        ],
    )
    by_hand = props([controller(), login(), group])
    by_hand["Cluster"] = json.loads(by_hand["Cluster"])
    by_hand["InstanceGroups"] = {name: json.loads(text) for name, text in by_hand["InstanceGroups"].items()}
    by_hand["Cluster"]["Request"]["Orchestrator"]["Slurm"] = ""
    assert through_cloudformation(by_hand)["InstanceGroups"]["p5"]["InstanceCount"] == "2"
    assert stack.deploy(by_hand).succeeded
    (request,) = world.requests("CreateCluster")
    assert request["InstanceGroups"][2] == group
    assert request["Orchestrator"] == {"Slurm": {}}


@given(
    count=st.integers(0, 6758),
    size=st.integers(1, 16384),
    root=st.booleans(),
    threads=st.sampled_from([1, 2]),
    wait=st.none() | st.integers(0, 3600),
)
def test_c01_any_specification_survives_cloudformation(
    count: int, size: int, root: bool, threads: int, wait: int | None
) -> None:
    deployment = {} if wait is None else {"DeploymentConfig": {"WaitIntervalInSeconds": wait}}
    group = compute(
        count=count,
        ThreadsPerCore=threads,
        InstanceStorageConfigs=[{"EbsVolumeConfig": {"VolumeSizeInGB": size, "RootVolume": root}}],
        ScheduledUpdateConfig={"ScheduleExpression": "cron(0 3 ? * 1#1 *)", **deployment},
    )
    as_text = props([controller(), group])
    as_objects = {**as_text, "InstanceGroups": {"controller": controller(), "p5": group}}
    for properties in (as_text, as_objects):
        assert read_properties(through_cloudformation(properties)).groups["p5"] == group


def counts_of(world: World, seen: list[tuple[int, int]]) -> Callable[[int], None]:
    return lambda _: seen.append(world.counts(NAME)["p5"])


def test_c03_workers_are_awaited_when_asked_although_the_cluster_is_in_service() -> None:
    world = World(capacity=Capacity({"p5": Limit(1, ((1800, 2),))}))
    stack = StackReplay(world)
    seen: list[tuple[int, int]] = []
    stack.after_poll = counts_of(world, seen)
    assert stack.deploy(props(p5(2), ReadyWhen="ALL")).succeeded
    assert world.counts(NAME)["p5"] == (2, 2)
    assert seen[0] == (0, 2)
    assert (1, 2) in seen


def test_c03_an_update_that_awaits_all_is_not_done_before_they_are_there(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(2), ReadyWhen="ALL"))
    before = world.clock.now()
    updated = stack.deploy(props(p5(4), ReadyWhen="ALL"))
    assert updated.succeeded
    assert world.counts(NAME)["p5"] == (4, 4)
    assert world.clock.now() > before


def test_c03_by_default_an_update_is_done_once_it_is_accepted(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(2)))
    before = world.clock.now()
    assert stack.deploy(props(p5(4))).succeeded
    assert world.clock.now() == before


def test_c04_a_failed_controller_is_told_with_group_and_log_location(world: World, stack: StackReplay) -> None:
    world.service.fail_lifecycle("controller", message="No munge key.", log=["munge: key missing"])
    failed = stack.deploy(props(p5(2)))
    assert "No munge key." in failed.reason.splitlines()[0]
    assert f"cluster {NAME}, group controller, instance i-" in failed.reason
    assert f"log group /aws/sagemaker/Clusters/{NAME}/" in failed.reason
    assert "stream LifecycleConfig/controller/i-" in failed.reason
    assert "munge: key missing" in failed.reason
    assert len(failed.reason) <= 1000


def test_c05_a_denied_look_up_of_details_never_masks_the_first_error(world: World, stack: StackReplay) -> None:
    for operation in ("ListClusterEvents", "DescribeClusterEvent"):
        world.service.faults.add(operation, "access_denied", times=None)
    world.service.fail_lifecycle("controller", message="No munge key.")
    failed = stack.deploy(props(p5(2)))
    assert "No munge key." in failed.reason.splitlines()[0]
    assert "AccessDenied" not in failed.reason


def test_c06_worker_trouble_while_scaling_is_no_failure(world: World, stack: StackReplay) -> None:
    world.service.fail_lifecycle("p5", times=1)
    created = stack.deploy(props(p5(2), ReadyWhen="ALL"))
    assert created.succeeded, created.reason
    assert world.counts(NAME)["p5"] == (2, 2)


@pytest.mark.parametrize("fault", ["throttling", "internal", "unavailable"])
def test_c07_a_creation_whose_answer_is_lost_keeps_its_physical_id(
    world: World, stack: StackReplay, fault: str
) -> None:
    world.service.faults.add("CreateCluster", fault, when="after")
    created = stack.deploy(props(p5(2)))
    assert created.succeeded, created.reason
    assert created.physical_id == NAME
    assert world.mutations().count("CreateCluster") <= 1


@pytest.mark.parametrize("operation", ["DescribeCluster", "ListTags"])
def test_c07_a_lost_answer_and_a_service_that_does_not_answer_leave_no_orphan(
    world: World, stack: StackReplay, operation: str
) -> None:
    world.service.faults.add("CreateCluster", "internal", when="after", times=4)
    world.service.faults.add(operation, "unavailable", times=6)
    created = stack.deploy(props(p5(2)))
    assert created.succeeded, created.reason
    assert stack.destroy().succeeded
    assert world.describe(NAME) is None


def test_c07_after_the_creation_nothing_raises(
    world: World, stack: StackReplay, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def write(self, _: str) -> None:
            raise OSError("no space left")

        def flush(self) -> None:
            raise OSError("no space left")

    monkeypatch.setattr("hyperpod_constructs.handlers.cluster.log.sys.stdout", Broken())
    assert stack.deploy(props(p5(2))).physical_id == NAME


@pytest.mark.parametrize("physical_id", [CREATE_FAILED, None, "", "not a cluster name", "never-was"])
def test_c07_a_delete_without_a_cluster_succeeds_with_no_call(
    world: World, stack: StackReplay, physical_id: str | None
) -> None:
    event = {**stack.event("Delete", props()), "PhysicalResourceId": physical_id}
    answer = index.on_event(event, None, world.services())
    assert answer["PhysicalResourceId"] == physical_id
    done = index.is_complete({**event, **answer}, None, world.services())
    assert done == {"IsComplete": True}
    assert world.mutations() == []


@pytest.mark.parametrize(
    "properties",
    [
        props(p5(6)),
        props(p5(4), tags={"a": "b"}),
        props(p5(4), request=a_request(NodeRecovery="None")),
        props([*p5(4), compute("g6", 1)]),
        props(p5(4), request=a_request(ClusterName="other")),
        props(p5(4), request=a_request(VpcConfig={"SecurityGroupIds": ["sg-9"], "Subnets": ["subnet-9"]})),
    ],
)
def test_c08_the_physical_id_never_changes(world: World, stack: StackReplay, properties: dict[str, Any]) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    assert stack.deploy(properties).physical_id == NAME
    assert world.describe("other") is None


def test_c09_a_deletion_that_lacks_a_permission_fails_fast_with_the_nodes_text(
    world: World, stack: StackReplay
) -> None:
    stack.deploy(props(p5(2)))
    world.settle()
    world.service.block_deletion("Not authorized to perform ec2:DeleteNetworkInterface")
    before = world.clock.now()
    failed = stack.destroy()
    assert failed.status == "FAILED"
    assert "Not authorized to perform ec2:DeleteNetworkInterface" in failed.reason.splitlines()[0]
    assert world.clock.now() - before < 20 * 60


def test_c10_a_deletion_in_progress_is_only_waited_for(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(2)))
    world.settle()
    world.client.delete_cluster(ClusterName=NAME)
    assert stack.destroy().succeeded
    assert world.mutations() == ["CreateCluster", "DeleteCluster"]


@pytest.mark.parametrize("code", ["ResourceNotFound", "ResourceNotFoundException"])
def test_c10_not_found_under_both_names_is_success(world: World, stack: StackReplay, code: str) -> None:
    stack.deploy(props(p5(2)))
    world.service.faults.add("DescribeCluster", ServiceError(code, f"Cluster {NAME} not found"), times=None)
    assert stack.destroy().succeeded


def test_c10_another_error_is_not_taken_for_not_found(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(2)))
    error = ServiceError("ValidationException", f"Cluster with name {NAME} not found")
    world.service.faults.add("DescribeCluster", error, times=None)
    failed = stack.destroy()
    assert failed.status == "FAILED"
    assert "ValidationException" in failed.reason


CONFLICT = ServiceError("ConflictException", "Instance group p5 has a node that is being replaced")


def test_c11_three_conflicts_and_then_one_success(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.service.faults.add("UpdateCluster", CONFLICT, times=3)
    assert stack.deploy(props(p5(6))).succeeded
    assert world.mutations() == ["CreateCluster", "UpdateCluster", "AddTags"]
    assert world.counts(NAME)["p5"][1] == 6


def test_c11_a_conflict_for_ever_fails_with_the_picture_before_the_hour(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    world.service.faults.add("UpdateCluster", CONFLICT, times=None)
    before = world.clock.now()
    failed = stack.deploy(props(p5(6)))
    assert "the change was not accepted within 55 minutes" in failed.reason.splitlines()[0]
    assert "cluster InService; controller 1/1 InService" in failed.reason
    assert world.clock.now() - before < 2 * 3600
    # The rollback has nothing to undo, so it is not held up by the conflict.
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"


def test_c11_a_real_replacement_is_waited_for(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(2)))
    world.settle()
    nodes = world.client.list_cluster_nodes(ClusterName=NAME, InstanceGroupNameContains="p5")["ClusterNodeSummaries"]
    world.client.batch_replace_cluster_nodes(ClusterName=NAME, NodeIds=[nodes[0]["InstanceId"]])
    assert stack.deploy(props(p5(3))).succeeded
    assert world.mutations().count("UpdateCluster") == 1


def test_c12_the_comparison_is_with_the_live_cluster_not_with_the_old_properties(
    world: World, stack: StackReplay
) -> None:
    stack.deploy(props([*p5(4), compute("g6", 1)]))
    world.settle()
    world.client.update_cluster(ClusterName=NAME, InstanceGroupsToDelete=["g6"])
    world.settle()
    calls = len(world.mutations())
    assert stack.deploy(props(p5(4))).succeeded
    assert len(world.mutations()) == calls


def test_c13_a_software_update_that_rolls_back_while_it_is_watched_is_a_failure() -> None:
    world = World(capacity=Capacity({"p5": Limit(2)}))
    stack = StackReplay(world)
    groups = [{**group, "ImageReleaseVersion": "2.1.5"} for group in p5(3)]
    stack.deploy(props(groups))
    world.settle()
    world.service.fail_lifecycle("p5", times=6)
    newer = [{**group, "ImageReleaseVersion": "2.2.0"} for group in p5(3)]
    failed = stack.deploy(props(newer, ReadyWhen="ALL"))
    assert failed.status == "FAILED"
    assert failed.reason.startswith("p5: the software update failed and was rolled back")


def test_c14_a_group_made_by_hand_survives_a_redeployment(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    world.client.update_cluster(ClusterName=NAME, InstanceGroups=[compute("by-hand", 1)])
    updated = stack.deploy(props(p5(5)))
    assert updated.data["Warning"] == "left alone, not in the template: by-hand"
    assert "by-hand" in world.counts(NAME)


def test_c15_an_update_never_holds_network_or_tags(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4), tags={"a": "1"}))
    stack.deploy(props(p5(6), tags={"a": "2"}))
    (request,) = world.requests("UpdateCluster")
    assert not {"VpcConfig", "Tags"} & set(request)


@pytest.mark.parametrize("on_timeout", ["SUCCEED", "FAIL"])
def test_c16_the_deadline_answers_with_the_picture_instead_of_a_bare_time_out(on_timeout: str) -> None:
    world = World(capacity=Capacity({"p5": Limit(2)}))
    stack = StackReplay(world)
    before = world.clock.now()
    created = stack.deploy(props(p5(4), ReadyWhen="ALL", OnTimeout=on_timeout))
    text = created.data["Warning"] if on_timeout == "SUCCEED" else created.reason
    assert created.succeeded == (on_timeout == "SUCCEED")
    assert text.startswith("after 55 minutes still missing: p5 2/4 InService")
    assert world.clock.now() - before < 2 * 3600


def test_c16_a_minimum_that_keeps_the_cluster_creating_past_the_deadline_is_told() -> None:
    world = World(capacity=Capacity({"p5": Limit(2)}))
    stack = StackReplay(world)
    created = stack.deploy(props(p5(4, MinInstanceCount=3), ReadyWhen="MINIMUM"))
    assert created.succeeded
    assert created.data["Status"] == "Creating"
    assert created.data["Warning"].startswith("after 55 minutes still missing: p5 2/4 Creating")


def test_c16_without_a_controller_the_deadline_is_always_a_failure() -> None:
    world = World(capacity=Capacity({"controller": Limit(0)}))
    world.service.fail_launch("controller")
    failed = StackReplay(world).deploy(props(p5(1)))
    assert failed.status == "FAILED"
    assert failed.reason != "Operation timed out"


def test_c17_the_same_request_delivered_twice_makes_one_cluster(world: World, stack: StackReplay) -> None:
    stack.twice = True
    assert stack.deploy(props(p5(4))).succeeded
    assert stack.deploy(props(p5(6), tags={"a": "1"})).succeeded
    assert stack.deploy(props([*p5(6), compute("g6", 1)], tags={"a": "1"})).succeeded
    assert world.mutations() == ["CreateCluster", "UpdateCluster", "AddTags", "UpdateCluster"]
    assert stack.destroy().succeeded
    assert world.mutations()[-1] == "DeleteCluster"
    assert world.mutations().count("DeleteCluster") == 1


def test_c19_a_role_that_is_not_known_yet_is_retried_within_a_minute(world: World, stack: StackReplay) -> None:
    world.service.faults.iam_not_propagated(times=5)
    before = world.clock.now()
    event = stack.event("Create", props(p5(2)))
    assert index.on_event(event, None, world.services())["PhysicalResourceId"] == NAME
    assert world.clock.now() - before <= 60


def test_c19_a_role_that_stays_unknown_fails_with_a_hint(world: World, stack: StackReplay) -> None:
    world.service.faults.iam_not_propagated(times=100)
    before = world.clock.now()
    failed = stack.deploy(props(p5(2)))
    assert "Unable to retrieve subnets" in failed.reason.splitlines()[0]
    assert "hint: the role was not known everywhere yet" in failed.reason
    assert world.clock.now() - before <= 120
    assert stack.status == "ROLLBACK_COMPLETE"


def test_c19_another_refusal_is_not_retried(world: World, stack: StackReplay) -> None:
    world.service.faults.add("CreateCluster", ServiceError("ValidationException", "InstanceType is not supported here"))
    failed = stack.deploy(props(p5(2)))
    assert "InstanceType is not supported here" in failed.reason
    assert [call.operation for call in world.service.calls].count("CreateCluster") == 1


def failing(world: World, stack: StackReplay, kind: str) -> Response:
    if kind == "controller":
        world.service.fail_lifecycle("controller")
        return stack.deploy(props(p5(2)))
    if kind == "malformed":
        return stack.deploy({**props(), "InstanceGroups": {"controller": "{"}})
    if kind == "unexpected":
        world.wrap = lambda _: None
        return stack.deploy(props())
    stack.deploy(props(p5(2)))
    world.settle()
    return stack.deploy(props(p5(2, InstanceType="ml.p4d.24xlarge")))


@pytest.mark.parametrize("kind", ["controller", "malformed", "unexpected", "refused"])
def test_c21_every_failure_has_a_reason_whose_first_line_is_the_cause(
    world: World, stack: StackReplay, kind: str
) -> None:
    failed = failing(world, stack, kind)
    assert failed.status == "FAILED"
    assert failed.reason.strip()
    assert failed.reason.splitlines()[0].strip()
    assert len(failed.reason.encode()) <= 1000
    assert dict(failed.data) == {}


def test_c22_a_malformed_group_fails_by_name_and_no_group_is_dropped(world: World, stack: StackReplay) -> None:
    properties = props(p5(4))
    properties["InstanceGroups"]["p5"] = '{"InstanceGroupName": "p5", '
    failed = stack.deploy(properties)
    assert "InstanceGroups.p5: not valid JSON" in failed.reason
    assert world.mutations() == []


def test_c22_a_group_that_the_order_does_not_name_fails() -> None:
    properties = props(p5(4))
    del properties["InstanceGroups"]["login"]
    with pytest.raises(MalformedEventError, match="GroupOrder"):
        read_properties(properties)


def test_c25_neither_the_presigned_url_nor_a_property_beyond_the_request_reaches_the_log(
    world: World, stack: StackReplay, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "marker-of-a-secret"
    stack.deploy({**props(p5(2)), "Secret": secret})
    stack.deploy({**props(p5(3)), "Secret": secret})
    stack.deploy({**props(p5(3)), "InstanceGroups": {"controller": "{"}, "Secret": secret})
    stack.destroy()
    output = capsys.readouterr().out
    assert output
    assert "presigned-marker" not in output
    assert "ResponseURL" not in output
    assert secret not in output
    for line in output.splitlines():
        assert json.loads(line)["step"]


def test_c28_workers_that_fail_and_come_back_are_no_failure_and_a_failed_controller_is(
    world: World, stack: StackReplay
) -> None:
    world.service.fail_launch("p5", times=2)
    world.service.fail_lifecycle("p5", times=2)
    assert stack.deploy(props(p5(3), ReadyWhen="ALL")).succeeded
    other = World()
    other.service.fail_lifecycle("controller")
    assert StackReplay(other).deploy(props(p5(3))).status == "FAILED"


# What the table of permissions promises


def test_every_call_of_the_table_is_used_by_a_story() -> None:
    world = World()
    stack = StackReplay(world)
    world.service.fail_lifecycle("controller")
    stack.deploy(props(p5(1)))
    world.service.clear_failures()
    groups = [{**group, "ImageReleaseVersion": "2.1.5"} for group in p5(1)]
    stack.deploy(props(groups, tags={"a": "1"}))
    world.settle()
    stack.deploy(props([{**group, "ImageReleaseVersion": "2.2.0"} for group in p5(2)], tags={"b": "1"}))
    world.settle(2 * 3600)
    world.service.block_deletion("Not authorized to perform ec2:DeleteNetworkInterface")
    stack.destroy()
    used = {call.operation for call in world.service.calls} | {"GetLogEvents"}
    used |= {"DescribeStacks"} if world.cloudformation.calls else set()
    assert {row.call for row in PERMISSIONS if row.call} == used


def test_every_wildcard_has_a_written_reason() -> None:
    for row in PERMISSIONS:
        assert row.reason
        if row.resource is Resource.ANY:
            assert "`*`" in row.reason


def test_a_stack_whose_status_cannot_be_read_counts_as_going_forward(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.cloudformation.denied = True
    refused = stack.deploy(props(p5(4, InstanceType="ml.p4d.24xlarge")))
    assert "InstanceType cannot change" in refused.reason


def test_a_poll_makes_one_call_while_all_is_well(world: World, stack: StackReplay) -> None:
    event = stack.event("Create", props(p5(64)))
    merged = {**event, **index.on_event(event, None, world.services())}
    assert index.is_complete(merged, None, world.services()) == {"IsComplete": False}, "the poll that creates"
    for _ in range(5):
        before = len(world.service.calls)
        assert index.is_complete(merged, None, world.services()) == {"IsComplete": False}
        assert [call.operation for call in world.service.calls[before:]] == ["DescribeCluster"]
        world.clock.advance(30)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({}, "RequestType: got None"),
        ({"RequestType": "Modify"}, "RequestType: got 'Modify'"),
        ({"RequestType": "Create", "StackId": "s", "LogicalResourceId": "l"}, "ResourceProperties: got None"),
        ({"RequestType": "Create", "LogicalResourceId": "l", "ResourceProperties": props()}, "StackId: got None"),
        (
            {"RequestType": "Update", "StackId": "s", "LogicalResourceId": "l", "ResourceProperties": props()},
            "PhysicalResourceId: got None",
        ),
    ],
)
def test_a_malformed_event_is_told_in_words(world: World, event: dict[str, Any], words: str) -> None:
    with pytest.raises(HandlerError) as caught:
        index.on_event(event, None, world.services())
    assert words in str(caught.value)
    assert world.service.calls == []


def test_the_handover_to_the_polls_stays_small_with_a_hundred_groups(world: World, stack: StackReplay) -> None:
    groups = [controller(), *(compute(f"group-{number:03d}-{'x' * 40}", 1) for number in range(99))]
    answer = index.on_event(stack.event("Create", props(groups)), None, world.services())
    assert len(json.dumps(answer[PROGRESS])) < 16_000
