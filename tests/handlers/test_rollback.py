"""A rollback ends in success whatever goes wrong: what could be undone is, and what could not is told."""

from typing import Any

import pytest

from hyperpod_constructs.handlers.cluster import operations, polling
from hyperpod_constructs.rehearsal.service import ServiceError
from tests.handlers.builders import NAME, p5, props
from tests.handlers.replay import StackReplay, World

OLD, FAILED = props(p5(4), tags={"team": "1"}), props(p5(6), tags={"team": "2"})
BUSY = ServiceError("ConflictException", "the cluster is busy")


@pytest.fixture
def updated(world: World, stack: StackReplay) -> StackReplay:
    """A stack whose update was made here and fails elsewhere next."""
    stack.deploy(OLD)
    world.settle()
    assert stack.deploy(FAILED).succeeded
    world.settle()
    return stack


def team(world: World) -> str:
    arn = world.client.describe_cluster(ClusterName=NAME)["ClusterArn"]
    return next(str(tag["Value"]) for tag in world.client.list_tags(ResourceArn=arn)["Tags"] if tag["Key"] == "team")


def test_tags_that_may_not_be_changed_back_do_not_keep_the_counts_from_it(world: World, updated: StackReplay) -> None:
    world.service.faults.add("UpdateCluster", BUSY)
    world.service.faults.add("AddTags", "access_denied", times=None)
    response = updated.roll_back(OLD, FAILED)
    assert response.succeeded
    assert "tags not undone: AddTags: AccessDenied" in response.data["Warning"]
    assert world.counts(NAME)["p5"][1] == 4


def test_tags_go_back_too_when_the_service_did_not_answer_at_first(world: World, updated: StackReplay) -> None:
    world.service.faults.add("DescribeCluster", "unavailable", times=30)
    assert updated.roll_back(OLD, FAILED).succeeded
    assert (world.counts(NAME)["p5"][1], team(world)) == (4, "1")


def a_fault_of_ours(*_: Any, **__: Any) -> None:
    raise KeyError("nobody thought of this")


def test_a_fault_of_ours_in_the_plan_does_not_wedge_the_stack(
    updated: StackReplay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "plan", a_fault_of_ours)
    response = updated.roll_back(OLD, FAILED)
    assert response.succeeded
    assert "not undone: KeyError('nobody thought of this')" in response.data["Warning"]


def test_a_fault_of_ours_in_a_poll_does_not_wedge_the_stack(
    world: World, updated: StackReplay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "_poll_rollback", a_fault_of_ours)
    response = updated.roll_back(OLD, FAILED)
    assert response.succeeded
    assert "not checked: 'nobody thought of this'" in response.data["Warning"]
    assert world.counts(NAME)["p5"][1] == 4


def test_going_forward_a_fault_of_ours_fails(updated: StackReplay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "plan", a_fault_of_ours)
    failed = updated.deploy(props(p5(8)))
    assert failed.reason == "on_event failed unexpectedly: KeyError: 'nobody thought of this'"


@pytest.mark.parametrize("operation", ["ListTags", "DeleteCluster"])
@pytest.mark.parametrize("times", [1, 3])
def test_a_cluster_that_goes_between_two_calls_of_a_deletion_is_deleted(
    world: World, updated: StackReplay, operation: str, times: int
) -> None:
    gone = ServiceError("ResourceNotFound", f"Cluster {NAME} not found")
    world.service.faults.add(operation, gone, times=times)
    assert updated.destroy().succeeded
    assert world.describe(NAME) is None


def test_a_rollback_starts_no_software_update_and_says_on_what_image_the_group_stays(
    world: World, stack: StackReplay
) -> None:
    old, failed = (props(p5(4, ImageReleaseVersion=release)) for release in ("2.1.5", "2.2.0"))
    stack.deploy(old)
    world.settle()
    stack.deploy(failed)
    world.settle(4 * 3600)
    response = stack.roll_back(old, failed)
    assert len(world.requests("UpdateClusterSoftware")) == 1
    assert "p5: stays on image 2.2.0; a rollback starts no software update" in response.data["Warning"]
