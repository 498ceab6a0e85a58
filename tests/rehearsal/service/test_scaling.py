"""Scaling up and down, and what one sees meanwhile."""

from hyperpod_constructs.rehearsal.service import Limit
from tests.rehearsal.service.support import UP, Bed, controller, group, login, workers


def test_a_group_grows_while_cluster_and_group_stay_in_service(up: Bed) -> None:
    up.update(workers(6))
    assert (up.status(), up.picture()["worker-gpu-a"]) == ("InService", ("InService", 4, 6))
    up.wait(UP)
    assert up.counts() == (6, 6)


def test_nodes_that_are_there_survive_growth(up: Bed) -> None:
    before = {node["InstanceId"] for node in up.nodes()}
    up.update(workers(6))
    up.wait(UP)
    assert before < {node["InstanceId"] for node in up.nodes()}


def test_a_group_shrinks_after_its_victims_are_gone(up: Bed) -> None:
    up.update(workers(1))
    assert up.counts() == (4, 1)
    assert [node["InstanceStatus"]["Status"] for node in up.nodes()].count("ShuttingDown") == 3
    up.wait(5)
    assert up.counts() == (1, 1)


def test_nodes_that_wait_go_before_nodes_that_work() -> None:
    bed = Bed(capacity="worker-gpu-a=2")
    bed.create_and_wait(controller(), login(), workers(6))
    working = {node["InstanceId"] for node in bed.nodes() if node["InstanceId"]}
    bed.update(workers(3))
    bed.wait(100)
    assert {node["InstanceId"] for node in bed.nodes() if node["InstanceId"]} == working
    assert bed.counts() == (2, 3)


def test_victims_are_chosen_at_random() -> None:
    survivors = set()
    for seed in range(12):
        bed = Bed(seed=seed)
        bed.create_and_wait()
        order = [node["NodeLogicalId"] for node in bed.nodes()]
        bed.update(workers(1))
        bed.wait(10)
        survivors.add(order.index(bed.nodes()[0]["NodeLogicalId"]))
    assert len(survivors) > 2


def test_a_group_may_go_to_zero_and_back(up: Bed) -> None:
    up.update(workers(0))
    up.wait(10)
    assert up.counts() == (0, 0)
    up.update(workers(2))
    up.wait(UP)
    assert up.counts() == (2, 2)


def test_several_requests_for_one_group_are_taken_without_waiting(up: Bed) -> None:
    up.update(workers(6))
    up.update(workers(9), group("worker-gpu-b", count=2))
    up.update(workers(5))
    up.wait(UP + 10)
    assert up.counts() == (5, 5)
    assert up.counts("worker-gpu-b") == (2, 2)


def test_growing_while_nodes_leave_ends_at_the_last_target(up: Bed) -> None:
    up.update(workers(1))
    up.update(workers(4))
    up.wait(UP)
    assert up.counts() == (4, 4)


def test_names_and_addresses_are_never_given_twice(up: Bed) -> None:
    for count in (2, 7, 3, 5):
        up.update(workers(count))
        up.wait(2)
        hosts = [node["PrivateDnsHostname"] for node in up.nodes("") if "PrivateDnsHostname" in node]
        assert len(hosts) == len(set(hosts))
        view = up.service.context.clusters["my-training-cluster"]
        numbers = [node.number for node in view.groups[2].nodes]
        assert len(numbers) == len(set(numbers))


def test_shrinking_is_accompanied_by_a_warning_that_means_nothing(up: Bed) -> None:
    up.update(workers(1))
    event = next(event for event in up.events() if event["EventLevel"] == "Warn")
    assert event["Description"].startswith("3 node(s) lost orchestration-ready status. Current: 4/1")
    assert up.metadata(event)["Cluster"]["FailureMessage"].startswith("Request to service failed.")


def test_the_events_of_one_request_share_an_operation_id(up: Bed) -> None:
    up.update(workers(5))
    up.wait(UP)
    started = [event for event in up.events() if "scaling started" in event["Description"]][-1]
    of_it = up.descriptions(OperationId=started["OperationId"])
    assert any("successfully provisioned" in text for text in of_it)
    assert of_it[-1] == "Instance Group worker-gpu-a scaling in Cluster my-training-cluster completed successfully"


def test_no_update_no_scaling_event(up: Bed) -> None:
    up.update(workers(4))
    assert [text for text in up.descriptions() if "scaling" in text and "started" in text] == []


def test_capacity_taken_away_does_not_end_nodes(up: Bed) -> None:
    up.service.set_capacity({"worker-gpu-a": Limit(1)})
    up.wait(1000)
    assert up.counts() == (4, 4)
