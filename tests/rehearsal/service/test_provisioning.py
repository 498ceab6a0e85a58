"""From the request to nodes: controller first, partial capacity, statuses on the way."""

from hyperpod_constructs.rehearsal.service import Assumptions, Limit
from tests.rehearsal.service.support import BOTH_UP, NAME, UP, Bed, controller, login, refusal, workers


def test_the_controller_comes_first_then_login_and_workers_together(bed: Bed) -> None:
    bed.create()
    assert bed.picture() == {
        "controller-group": ("Creating", 0, 1),
        "login-group": ("Creating", 0, 1),
        "worker-gpu-a": ("Creating", 0, 4),
    }
    bed.clock.advance(UP - 1)
    assert [node["InstanceId"] for node in bed.nodes("worker-gpu-a")] == [""] * 4
    bed.clock.advance(1)
    assert bed.picture()["controller-group"] == ("InService", 1, 1)
    assert bed.status() == "Creating"
    assert all(node["InstanceId"] for node in bed.nodes("worker-gpu-a") + bed.nodes("login-group"))
    bed.clock.advance(UP)
    assert bed.status() == "InService"
    assert bed.picture()["worker-gpu-a"] == ("InService", 4, 4)


def test_without_a_login_group_the_controller_makes_the_cluster_in_service(bed: Bed) -> None:
    bed.create(controller(), workers())
    bed.clock.advance(UP)
    assert bed.status() == "InService"
    assert bed.counts() == (0, 4)


def test_everything_due_in_a_long_time_happens_at_its_own_time(bed: Bed) -> None:
    bed.create()
    start = bed.clock.now()
    bed.clock.advance(1000)
    times = {
        event["Description"]: event["EventTime"].timestamp() - start
        for event in bed.events(ResourceType="Cluster")
        if "creation" in event["Description"]
    }
    assert times[f"Cluster {NAME} creation completed successfully"] == BOTH_UP


def test_partial_capacity_leaves_the_cluster_in_service_and_is_retried() -> None:
    bed = Bed(capacity="worker-gpu-a=2")
    bed.create(controller(), login(), workers(16))
    bed.clock.advance(BOTH_UP)
    assert bed.status() == "InService"
    assert bed.picture()["worker-gpu-a"] == ("InService", 2, 16)
    assert bed.group()["ActiveOperations"] == {"Scaling": 1}
    bed.service.set_capacity({"worker-gpu-a": Limit(5)})
    bed.clock.advance(UP)
    assert bed.counts() == (5, 16)


def test_a_schedule_counts_from_the_first_request_of_the_group() -> None:
    bed = Bed(capacity="worker-gpu-a=2@0,16@60")
    bed.clock.advance(5000)
    bed.create(controller(), login(), workers(16))
    bed.clock.advance(UP + 59)
    assert bed.counts() == (2, 16)
    bed.clock.advance(1 + UP)
    assert bed.counts() == (16, 16)
    assert "ActiveOperations" not in bed.group()


def test_a_limit_of_a_type_holds_for_all_groups_and_clusters_together() -> None:
    bed = Bed(capacity="ml.p5.48xlarge=5")
    bed.create(controller(), workers())
    bed.create(controller(), workers(), ClusterName="another")
    bed.clock.advance(BOTH_UP)
    other = bed.client.describe_cluster(ClusterName="another")["InstanceGroups"][1]["CurrentCount"]
    assert bed.counts()[0] + other == 5


def test_an_instance_that_ends_makes_room_for_another() -> None:
    bed = Bed(capacity="ml.p5.48xlarge=4")
    bed.create_and_wait()
    bed.create(controller(), workers(2), ClusterName="another")
    bed.clock.advance(BOTH_UP)
    bed.update(workers(2))
    bed.clock.advance(700 + UP)
    assert bed.client.describe_cluster(ClusterName="another")["InstanceGroups"][1]["CurrentCount"] == 2


def test_no_capacity_for_the_controller_fails_the_cluster_with_the_reason() -> None:
    bed = Bed(capacity="ml.m5.xlarge=0")
    bed.create()
    shown = bed.describe()
    assert shown["ClusterStatus"] == "Failed"
    assert shown["FailureMessage"].startswith("We currently do not have sufficient capacity to launch new ml.m5.xlarge")
    assert bed.picture()["controller-group"][0] == "Failed"
    bed.clock.advance(10_000)
    assert bed.counts() == (0, 4)


def test_a_minimum_keeps_the_group_and_the_cluster_creating_until_it_is_met() -> None:
    bed = Bed(capacity="worker-gpu-a=2")
    bed.create(controller(), login(), workers(4, MinInstanceCount=3))
    bed.clock.advance(3000)
    assert (bed.status(), bed.picture()["worker-gpu-a"]) == ("Creating", ("Creating", 2, 4))
    bed.service.set_capacity({"worker-gpu-a": Limit(3)})
    bed.clock.advance(UP)
    assert (bed.status(), bed.picture()["worker-gpu-a"]) == ("InService", ("InService", 3, 4))
    assert any("Minimum capacity reached for InstanceGroup worker-gpu-a" in text for text in bed.descriptions())


def test_the_other_reading_lets_the_cluster_in_service_before_the_minimum() -> None:
    bed = Bed(capacity="worker-gpu-a=2", assumptions=Assumptions(cluster_waits_for_minimums=False))
    bed.create(controller(), login(), workers(4, MinInstanceCount=3))
    bed.clock.advance(BOTH_UP)
    assert (bed.status(), bed.picture()["worker-gpu-a"][0]) == ("InService", "Creating")


def test_deleting_ends_all_nodes_then_the_cluster_and_leaves_the_log_group(up: Bed) -> None:
    log_groups = set(up.logs.streams)
    up.client.delete_cluster(ClusterName=NAME)
    assert up.status() == "Deleting"
    assert {node["InstanceStatus"]["Status"] for node in up.nodes()} == {"ShuttingDown"}
    with refusal("ConflictException", "Deleting"):
        up.client.delete_cluster(ClusterName=NAME)
    up.clock.advance(5)
    assert up.nodes() == []
    up.clock.advance(2)
    with refusal("ResourceNotFound"):
        up.describe()
    assert log_groups == set(up.logs.streams) != set()


def test_deletion_is_allowed_while_creating_or_refused_as_assumed() -> None:
    for refused in (False, True):
        bed = Bed(assumptions=Assumptions(delete_conflicts_while_creating=refused))
        bed.create()
        if refused:
            with refusal("ConflictException", "Creating"):
                bed.client.delete_cluster(ClusterName=NAME)
        else:
            bed.client.delete_cluster(ClusterName=NAME)
            assert bed.status() == "Deleting"


def test_a_blocked_deletion_says_so_on_the_nodes_until_it_is_unblocked(up: Bed) -> None:
    up.service.block_deletion("The execution role is not authorized to perform ec2:DeleteNetworkInterface")
    up.client.delete_cluster(ClusterName=NAME)
    up.clock.advance(10_000)
    assert up.status() == "Deleting"
    assert "ec2:DeleteNetworkInterface" in up.nodes()[0]["InstanceStatus"]["Message"]
    up.service.block_deletion(None)
    up.clock.advance(700)
    with refusal("ResourceNotFound"):
        up.describe()


def test_a_cluster_without_continuous_provisioning_is_all_or_nothing() -> None:
    bed = Bed(capacity="worker-gpu-a=2")
    bed.create(NodeProvisioningMode=None)
    bed.clock.advance(3)
    assert bed.status() == "RollingBack"
    bed.clock.advance(100)
    shown = bed.describe()
    assert shown["ClusterStatus"] == "Failed"
    assert "sufficient capacity" in shown["FailureMessage"]


def test_a_cluster_without_continuous_provisioning_is_updating_while_it_scales_and_rolls_back() -> None:
    bed = Bed(capacity="worker-gpu-a=5")
    bed.create_and_wait(NodeProvisioningMode=None)
    assert bed.status() == "InService"
    bed.update(workers(5))
    assert bed.status() == "Updating"
    with refusal("ConflictException", "Updating"):
        bed.client.delete_cluster(ClusterName=NAME)
    bed.clock.advance(UP)
    assert (bed.status(), bed.counts()) == ("InService", (5, 5))
    bed.update(workers(7))
    bed.clock.advance(200)
    assert (bed.status(), bed.counts()) == ("InService", (5, 5))
