"""MinInstanceCount, its three hours and its rollback."""

import pytest

from hyperpod_constructs.rehearsal.service import Limit
from tests.rehearsal.service.support import (
    BOTH_UP,
    NAME,
    THREE_HOURS,
    UP,
    Bed,
    controller,
    group,
    login,
    refusal,
    workers,
)


def scarce(count: int = 2) -> Bed:
    return Bed(capacity=f"worker-gpu-a={count}")


def test_the_defaults_are_one_for_controller_and_login_and_none_for_workers(bed: Bed) -> None:
    bed.create()
    assert [g["MinCount"] for g in bed.describe()["InstanceGroups"]] == [1, 1, 0]


def test_a_new_group_without_its_minimum_after_three_hours_is_in_service_at_zero() -> None:
    bed = scarce()
    bed.create(controller(), login(), workers(4, MinInstanceCount=3))
    bed.wait(THREE_HOURS - 1)
    assert bed.picture()["worker-gpu-a"] == ("Creating", 2, 4)
    bed.wait(1)
    shown = bed.group()
    assert (shown["Status"], shown["TargetCount"], shown["MinCount"]) == ("InService", 0, 0)
    assert bed.status() == "InService"
    bed.wait(5)
    assert bed.counts() == (0, 0)


def test_the_rollback_is_told_by_an_event_with_the_numbers() -> None:
    bed = scarce()
    bed.create(controller(), login(), workers(4, MinInstanceCount=3))
    bed.wait(THREE_HOURS)
    event = next(event for event in bed.events() if event["Description"].startswith("Rollback initiated"))
    assert (event["EventLevel"], event["InstanceGroupName"]) == ("Warn", "worker-gpu-a")
    numbers = bed.metadata(event)["InstanceGroupScaling"]
    assert (numbers["TargetCount"], numbers["MinCount"]) == (0, 0)
    assert "MinCount 3 was not reached within 3 hours, 2 instances" in numbers["FailureMessage"]


def test_an_existing_group_goes_back_to_its_last_numbers_in_service() -> None:
    bed = scarce()
    bed.create_and_wait(controller(), login(), workers(2, MinInstanceCount=1))
    bed.update(workers(6, MinInstanceCount=5))
    assert bed.picture()["worker-gpu-a"] == ("Updating", 2, 6)
    assert bed.status() == "InService"
    bed.wait(THREE_HOURS)
    shown = bed.group()
    assert (shown["Status"], shown["CurrentCount"], shown["TargetCount"], shown["MinCount"]) == ("InService", 2, 2, 1)


def test_a_rollback_ends_nodes_that_do_not_work_first_and_then_the_newest() -> None:
    bed = scarce(3)
    bed.create_and_wait(controller(), login(), workers(2))
    old = {node["InstanceId"] for node in bed.nodes()}
    bed.update(workers(6, MinInstanceCount=5))
    bed.wait(THREE_HOURS + 10)
    assert {node["InstanceId"] for node in bed.nodes()} == old


def test_changing_the_minimum_restarts_the_clock() -> None:
    bed = scarce()
    bed.create(controller(), login(), workers(4, MinInstanceCount=4))
    bed.wait(THREE_HOURS - 60)
    bed.update(workers(4, MinInstanceCount=3))
    bed.wait(THREE_HOURS - 1)
    assert bed.group()["Status"] == "Creating"
    bed.wait(1)
    assert bed.group()["Status"] == "InService"


def test_a_minimum_that_is_lowered_to_what_there_is_ends_the_wait_at_once() -> None:
    bed = scarce()
    bed.create_and_wait(controller(), login(), workers(4, MinInstanceCount=4))
    bed.update(workers(4, MinInstanceCount=2))
    assert bed.picture()["worker-gpu-a"] == ("InService", 2, 4)


def test_a_minimum_that_is_met_already_changes_no_status(up: Bed) -> None:
    up.update(workers(4, MinInstanceCount=4))
    assert up.group()["Status"] == "InService"


def test_the_minimum_is_no_guarantee_afterwards(up: Bed) -> None:
    up.update(workers(4, MinInstanceCount=4))
    up.service.fail_node(up.nodes()[0]["InstanceId"])
    assert up.picture()["worker-gpu-a"] == ("InService", 3, 4)


def test_an_update_without_a_minimum_keeps_it_as_far_as_it_fits(up: Bed) -> None:
    up.update(workers(4, MinInstanceCount=3))
    up.update(workers(5))
    assert up.group()["MinCount"] == 3
    up.update(workers(2))
    assert up.group()["MinCount"] == 2


@pytest.mark.parametrize("waiting", ["Creating", "Updating"])
def test_a_group_that_waits_for_its_minimum_takes_no_other_change_of_its_nodes(waiting: str) -> None:
    bed = scarce()
    minimum = 3 if waiting == "Creating" else 0
    bed.create_and_wait(controller(), login(), workers(4, MinInstanceCount=minimum))
    if waiting == "Updating":
        bed.update(workers(4, MinInstanceCount=3))
    assert bed.group()["Status"] == waiting
    answer = bed.client.batch_add_cluster_nodes(
        ClusterName=NAME, NodesToAdd=[{"InstanceGroupName": "worker-gpu-a", "IncrementTargetCountBy": 1}]
    )
    assert answer["Failed"][0]["ErrorCode"] == "InvalidInstanceGroupStatus"
    answer = bed.client.batch_delete_cluster_nodes(ClusterName=NAME, NodeIds=[bed.instances()[0]])
    assert answer["Failed"][0]["Code"] == "InvalidNodeStatus"
    with refusal("ConflictException"):
        bed.client.update_cluster_software(ClusterName=NAME)
    bed.client.delete_cluster(ClusterName=NAME)
    assert bed.status() == "Deleting"


def test_a_new_group_in_a_running_cluster_has_three_hours_too(up: Bed) -> None:
    up.service.set_capacity({"worker-gpu-b": Limit(0)})
    up.update(group("worker-gpu-b", count=2, MinInstanceCount=1))
    up.wait(THREE_HOURS)
    assert up.picture()["worker-gpu-b"] == ("InService", 0, 0)


def test_a_login_node_that_never_comes_fails_the_creation_after_three_hours() -> None:
    bed = Bed(capacity="login-group=0")
    bed.create_and_wait()
    assert bed.picture()["worker-gpu-a"] == ("InService", 4, 4)
    bed.wait(THREE_HOURS)
    shown = bed.describe()
    assert shown["ClusterStatus"] == "Failed"
    assert "controller and login nodes did not become ready within the expected time" in shown["FailureMessage"]


def test_capacity_that_comes_late_is_used_within_the_longest_retry() -> None:
    bed = Bed(capacity="worker-gpu-a=0@0,4@4000")
    bed.create(controller(), login(), workers(4, MinInstanceCount=4))
    bed.wait(UP + 4000 + UP)
    assert (bed.status(), bed.counts()) == ("InService", (4, 4))
    assert bed.clock.now() < 1_800_000_000 + BOTH_UP + 4001
