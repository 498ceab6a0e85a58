"""What happens between two calls: names that change hands, answers that are lost, clusters that are not visible yet."""

from collections.abc import Mapping
from typing import Any

import pytest

from hyperpod_constructs.handlers.cluster import index
from hyperpod_constructs.handlers.cluster.memory import (
    ACCEPTED_TAG,
    MEMORY_TAG,
    accepted_call,
    is_accepted,
    memory_call,
    remembered_counts,
)
from hyperpod_constructs.handlers.cluster.properties import LOGICAL_ID_TAG
from hyperpod_constructs.handlers.cluster.tags import tag_calls
from hyperpod_constructs.rehearsal.service import Limit, ServiceError
from tests.handlers.builders import NAME, a_request, compute, controller, p5, props
from tests.handlers.replay import StackReplay, World

STRANGERS = [controller(), compute("theirs", 1)]


def somebody_takes_the_name(world: World) -> None:
    """The cluster goes and another one of the same name comes, between two polls."""
    world.client.delete_cluster(ClusterName=NAME)
    world.settle()
    world.client.create_cluster(**a_request(), InstanceGroups=STRANGERS)


def test_a_name_that_changes_hands_while_we_delete_is_not_deleted_for_its_new_owner(
    world: World, stack: StackReplay
) -> None:
    stack.deploy(props(p5(2)))
    world.settle()
    theirs: list[str] = []

    def after_poll(poll: int) -> None:
        if poll == 0:
            world.settle()
            answer = world.client.create_cluster(**a_request(), InstanceGroups=STRANGERS)
            theirs.append(answer["ClusterArn"])

    stack.after_poll = after_poll
    assert stack.destroy().succeeded
    cluster = world.describe(NAME)
    assert cluster is not None
    assert (cluster["ClusterArn"], cluster["ClusterStatus"]) == (theirs[0], "Creating")


def test_deletion_is_asked_for_by_arn_which_no_other_cluster_ever_has(world: World, stack: StackReplay) -> None:
    created = stack.deploy(props(p5(2)))
    world.settle()
    stack.destroy()
    assert [request["ClusterName"] for request in world.requests("DeleteCluster")] == [created.data["ClusterArn"]]


def test_a_cluster_that_is_replaced_by_another_during_an_update_is_told(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(2)))
    world.settle()
    stack.after_poll = lambda poll: somebody_takes_the_name(world) if poll == 0 else None
    failed = stack.deploy(props(p5(4), ReadyWhen="ALL"))
    assert failed.status == "FAILED"
    assert "was deleted outside CloudFormation" in failed.reason
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert "theirs" in world.counts(NAME)


def test_a_new_cluster_that_is_not_visible_at_once_is_waited_for(world: World, stack: StackReplay) -> None:
    event = stack.event("Create", props(p5(2)))
    merged = {**event, **index.on_event(event, None, world.services())}
    not_yet = ServiceError("ResourceNotFound", f"Cluster {NAME} not found")
    world.service.faults.add("DescribeCluster", not_yet, times=2)
    for _ in range(2):
        assert index.is_complete(merged, None, world.services()) == {"IsComplete": False}
        world.clock.advance(30)
    world.settle()
    assert index.is_complete(merged, None, world.services())["IsComplete"]


def test_a_new_cluster_that_never_shows_is_a_failure_within_minutes(world: World, stack: StackReplay) -> None:
    world.service.faults.add("DescribeCluster", ServiceError("ResourceNotFound", "Cluster not found"), times=None)
    before = world.clock.now()
    failed = stack.deploy(props(p5(2)))
    assert "does not exist: its creation was not answered, or it was deleted meanwhile" in failed.reason
    assert world.clock.now() - before < 10 * 60


def test_a_create_while_our_own_cluster_is_being_deleted_is_refused(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(2)))
    world.settle()
    world.client.delete_cluster(ClusterName=NAME)
    stack.properties = stack.physical_id = None
    refused = stack.deploy(props(p5(2)))
    assert "is still being deleted; deploy again when it is gone" in refused.reason


@pytest.mark.parametrize("fault", ["throttling", "internal"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_update_that_is_not_answered_is_made_once_by_a_later_poll(
    world: World, stack: StackReplay, fault: str, when: str
) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    world.service.faults.add("UpdateCluster", fault, times=5, when=when)  # type: ignore[arg-type]
    assert stack.deploy(props(p5(6))).succeeded
    assert world.counts(NAME)["p5"][1] == 6
    assert len(world.requests("UpdateCluster")) <= 1


def test_polls_that_are_not_answered_go_on(world: World, stack: StackReplay) -> None:
    event = stack.event("Create", props(p5(2)))
    merged = {**event, **index.on_event(event, None, world.services())}
    world.service.faults.add("DescribeCluster", "unavailable", times=8)
    assert index.is_complete(merged, None, world.services()) == {"IsComplete": False}
    assert index.is_complete(merged, None, world.services()) == {"IsComplete": False}


def test_a_poll_that_may_not_look_fails_after_two_minutes(world: World, stack: StackReplay) -> None:
    world.service.faults.add("DescribeCluster", "access_denied", times=None)
    before = world.clock.now()
    event = stack.event("Create", props(p5(2)))
    merged = {**event, **index.on_event(event, None, world.services())}
    assert index.is_complete(merged, None, world.services()) == {"IsComplete": False}
    world.clock.advance(120)
    with pytest.raises(Exception, match="AccessDenied"):
        index.is_complete(merged, None, world.services())
    assert world.clock.now() - before < 300


def test_the_controller_keeps_its_image_in_a_call_made_for_another_reason(world: World, stack: StackReplay) -> None:
    def groups(release: str, bucket: str) -> list[dict[str, object]]:
        config = {"SourceS3Uri": f"s3://sagemaker-{bucket}/", "OnCreate": "on_create.sh"}
        return [{**group, "ImageReleaseVersion": release, "LifeCycleConfig": config} for group in p5(1)]

    stack.deploy(props(groups("2.1.5", "old")))
    world.settle()
    assert stack.deploy(props(groups("2.2.0", "new"))).succeeded
    (update,) = world.requests("UpdateCluster")
    releases = {group["InstanceGroupName"]: group["ImageReleaseVersion"] for group in update["InstanceGroups"]}
    assert releases == {"controller": "2.1.5", "login": "2.2.0", "p5": "2.2.0"}


# Tags that carry our own memory


@pytest.mark.parametrize(
    ("there", "counts", "value"),
    [
        (None, {}, None),
        (None, {"p5": 8}, "r1 p5=8"),
        ("r1 p5=8", {"p5": 10}, "r1 p5=8"),
        ("r1 p5=8", {"g6": 2}, "r1 g6=2 p5=8"),
        ("r1 p5=8", {}, "r1 p5=8"),
        ("r0 p5=8", {}, None),
        ("r0 p5=8", {"g6": 2}, "r1 g6=2"),
    ],
)
def test_the_first_delivery_of_a_request_decides_what_is_remembered(
    there: str | None, counts: Mapping[str, int], value: str | None
) -> None:
    tags = {} if there is None else {MEMORY_TAG: there}
    call = memory_call("arn", tags, counts, "r1")
    if call is None:
        assert there == value
    elif call.operation == "DeleteTags":
        assert value is None
        assert call.request == {"ResourceArn": "arn", "TagKeys": [MEMORY_TAG]}
    else:
        assert call.request["Tags"] == [{"Key": MEMORY_TAG, "Value": value}]


def test_what_does_not_fit_into_a_tag_is_left_out_and_the_rest_is_readable() -> None:
    counts = {f"group-{number:02d}-{'x' * 40}": number for number in range(10)}
    call = memory_call("arn", {}, counts, "r1")
    assert call is not None
    value = call.request["Tags"][0]["Value"]
    assert len(value) <= 256
    kept = remembered_counts({MEMORY_TAG: value})
    assert kept
    assert kept.items() <= counts.items()


def test_only_the_request_itself_is_accepted() -> None:
    call = accepted_call("arn", "r1")
    tags = {tag["Key"]: tag["Value"] for tag in call.request["Tags"]}
    assert tags == {ACCEPTED_TAG: "r1"}
    assert is_accepted(tags, "r1")
    assert not is_accepted(tags, "r2")
    assert not is_accepted({}, "r1")


def test_only_tags_that_are_there_and_were_the_templates_are_deleted() -> None:
    live = {"by-hand": "1", "old": "1", "aws:x": "1", LOGICAL_ID_TAG: "1"}
    before = {"old": "1", "gone-already": "1", "aws:x": "1", LOGICAL_ID_TAG: "1"}
    (call,) = tag_calls("arn", {}, before, live)
    assert call.request == {"ResourceArn": "arn", "TagKeys": ["old"]}


def test_tags_of_aws_and_of_the_owner_are_never_set() -> None:
    assert tag_calls("arn", {"aws:x": "2", LOGICAL_ID_TAG: "2"}, {}, {}) == []


# What looks like success and is none


def test_an_update_that_the_service_takes_back_is_a_failure_in_its_words() -> None:
    world = World(object_lister=lambda uri: ["x/provisioning_parameters.json"] if "new" in uri else [])
    stack = StackReplay(world)
    stack.deploy(props(p5(2)))
    world.settle()
    config = {"SourceS3Uri": "s3://sagemaker-new/", "OnCreate": "on_create.sh"}
    failed = stack.deploy(props([{**group, "LifeCycleConfig": config} for group in p5(2)]))
    assert failed.status == "FAILED"
    assert "provisioning_parameters.json file simultaneously" in failed.reason.splitlines()[0]
    assert "hint: remove provisioning_parameters.json" in failed.reason
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"


def test_a_strangers_cluster_is_not_taken_for_ours_when_its_owner_cannot_be_read(
    world: World, stack: StackReplay
) -> None:
    world.client.create_cluster(**a_request(), InstanceGroups=STRANGERS)
    event = stack.event("Create", props(p5(2)))
    world.service.faults.add("ListTags", "unavailable", times=24)
    merged = {**event, **index.on_event(event, None, world.services())}
    world.service.faults.clear()
    world.settle()
    with pytest.raises(Exception, match="was not made by this library"):
        index.is_complete(merged, None, world.services())
    assert "theirs" in world.counts(NAME)


def begun(world: World, stack: StackReplay, **options: Any) -> dict[str, object]:
    """The event that the polls of a creation get, on_event having seen no cluster of the name."""
    event = stack.event("Create", props(p5(2), **options))
    return {**event, **index.on_event(event, None, world.services())}


def test_a_stranger_who_takes_the_name_after_we_looked_is_told_by_the_next_poll(
    world: World, stack: StackReplay
) -> None:
    merged = begun(world, stack)
    world.client.create_cluster(**a_request(), InstanceGroups=STRANGERS)
    with pytest.raises(Exception, match="was not made by this library"):
        index.is_complete(merged, None, world.services())
    assert "theirs" in world.counts(NAME)


def test_a_stranger_who_takes_the_name_between_two_calls_of_a_poll_is_told_by_it(
    world: World, stack: StackReplay
) -> None:
    merged = begun(world, stack)
    world.client.create_cluster(**a_request(), InstanceGroups=p5(2))
    world.service.faults.add("DescribeCluster", ServiceError("ResourceNotFound", "not visible yet"))
    with pytest.raises(Exception, match="was not made by this library"):
        index.is_complete(merged, None, world.services())


def test_an_older_cluster_of_the_same_groups_is_not_waited_for(world: World, stack: StackReplay) -> None:
    world.service.set_capacity({"ml.p5.48xlarge": Limit(0)})
    world.client.create_cluster(**a_request(), InstanceGroups=p5(2))
    world.clock.advance(70)
    world.service.faults.add("ListTags", "unavailable", times=24)
    merged = begun(world, stack, ReadyWhen="ALL")
    world.service.faults.clear()
    with pytest.raises(Exception, match="was not made by this library"):
        index.is_complete(merged, None, world.services())


def test_our_cluster_that_a_repeated_delivery_made_is_not_taken_for_a_strangers(
    world: World, stack: StackReplay
) -> None:
    first, second = begun(world, stack), begun(world, stack)
    index.is_complete(first, None, world.services())
    world.service.faults.add("DescribeCluster", ServiceError("ResourceNotFound", "not visible yet"))
    assert index.is_complete(second, None, world.services()) == {"IsComplete": False}
    assert world.mutations().count("CreateCluster") == 1
