"""What people read when an event comes."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hyperpod_constructs.handlers.notify import index
from hyperpod_constructs.handlers.notify.message import Message
from hyperpod_constructs.handlers.notify.store import ATTEMPTS, BusyError
from tests.observability.support import World, sample

CAPACITY = "We currently do not have sufficient capacity to launch new ml.p5.48xlarge instances. Please try again."


class Details:
    """A SageMaker that knows one event."""

    def __init__(self, details: dict[str, Any] | None) -> None:
        self.details = details
        self.asked: list[dict[str, str]] = []

    def describe_cluster_event(self, **parameters: str) -> dict[str, Any]:
        self.asked.append(parameters)
        if self.details is None:
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "DescribeClusterEvent")
        return {"EventDetails": self.details}


def _world(details: dict[str, Any] | None = None, **environment: str) -> tuple[World, Details]:
    world = World(None, **environment)
    sagemaker = Details(details)
    world.aws._clients["sagemaker"] = sagemaker
    return world, sagemaker


def _capacity_details() -> dict[str, Any]:
    details: dict[str, Any] = sample("cluster_event_error")["detail"]["EventDetails"]
    details["EventDetails"]["EventMetadata"]["Instance"]["FailureMessage"] = CAPACITY
    return details


def test_the_real_failure_message_is_fetched_because_the_event_carries_null() -> None:
    world, sagemaker = _world(_capacity_details())
    assert index.tell(sample("cluster_event_error"), aws=world.aws, now=1000.0) == {"told": True}
    assert sagemaker.asked == [{"ClusterName": "sample-cluster", "EventId": "83ea0bb5-be77-45e8-a458-0a87f778a205"}]
    (text,) = world.topic.texts
    lines = text.splitlines()
    assert lines[0] == "Instance creation in Cluster sample-cluster and InstanceGroup p5Inst failed"
    assert lines[1] == f"Reason: {CAPACITY}"
    assert "Group:    p5Inst" in lines
    assert "Instance: i-0391f86fa0fe0d465" in lines


def test_a_denied_look_up_still_sends_what_is_known_and_says_so() -> None:
    world, _ = _world(None)
    index.tell(sample("cluster_event_error"), aws=world.aws, now=1000.0)
    (text,) = world.topic.texts
    assert "Instance creation in Cluster sample-cluster" in text
    assert "could not be read" in text


def test_the_two_events_of_one_fault_are_one_message() -> None:
    world, _ = _world(_capacity_details())
    first, second = sample("cluster_event_error"), sample("cluster_event_error")
    second["detail"]["EventDetails"]["EventId"] = "another"
    told = [index.tell(event, aws=world.aws, now=1000.0)["told"] for event in (first, second)]
    assert told == [True, False]


def test_the_same_is_told_again_after_the_quiet_time_with_how_often_it_came() -> None:
    world, _ = _world(_capacity_details())
    for minute in (0, 10, 20, 59, 60):
        index.tell(sample("cluster_event_error"), aws=world.aws, now=1000.0 + 60 * minute)
    first, second = world.topic.texts
    assert "more time" not in first
    assert "The same came 3 more times since it was told last." in second


def test_another_reason_in_the_same_group_is_told_at_once() -> None:
    details = _capacity_details()
    world, _ = _world(details)
    index.tell(sample("cluster_event_error"), aws=world.aws, now=1000.0)
    details["EventDetails"]["EventMetadata"]["Instance"]["FailureMessage"] = "EFA health checks did not run"
    index.tell(sample("cluster_event_error"), aws=world.aws, now=1001.0)
    assert len(world.topic.texts) == 2


def test_a_message_that_could_not_be_sent_is_sent_by_the_repeated_delivery() -> None:
    world, _ = _world(_capacity_details())
    world.topic.failures = 1
    with pytest.raises(RuntimeError, match="does not answer"):
        index.tell(sample("cluster_event_error"), aws=world.aws, now=1000.0)
    assert index.tell(sample("cluster_event_error"), aws=world.aws, now=1030.0) == {"told": True}
    assert len(world.topic.texts) == 1


def test_two_invocations_at_once_send_one_message() -> None:
    world, _ = _world(_capacity_details())
    world.table.before_write.append(lambda: index.tell(sample("cluster_event_error"), aws=world.aws, now=1000.0))
    index.tell(sample("cluster_event_error"), aws=world.aws, now=1000.0)
    assert len(world.topic.texts) == 1


def test_a_record_that_others_always_change_makes_the_delivery_fail_so_that_it_is_repeated() -> None:
    world, _ = _world(_capacity_details())
    store = world.aws.store()
    store._sleep = lambda _: None

    def somebody_writes() -> None:
        world.table.items["key"] = {"version": {"N": str(len(world.table.before_write) + 1000)}, "record": {"S": "{}"}}

    world.table.before_write += [somebody_writes] * ATTEMPTS
    with pytest.raises(BusyError, match="changed by others"):
        store.change("key", 0.0, lambda record: ({"n": 1}, None))


def test_an_unhealthy_node_is_told_with_the_fault_and_the_recommendation() -> None:
    world, sagemaker = _world({})
    index.tell(sample("node_health_unhealthy"), aws=world.aws, now=1000.0)
    (text,) = world.topic.texts
    assert "Node i-0391f86fa0fe0d465 is Unhealthy, repair: None" in text
    assert "fault type NvidiaErrorTerminate" in text
    assert "The service recommends: Please Replace the Faulty Node." in text
    assert sagemaker.asked == []


def test_a_failed_cluster_is_told_with_its_message_and_counts() -> None:
    world, _ = _world({})
    index.tell(sample("state_change_failed"), aws=world.aws, now=1000.0)
    (message,) = world.topic.messages
    assert message["subject"] == "HyperPod sample-cluster: cluster changed state"
    assert "The cluster is Failed (instances: controller 1/2)" in message["default"]
    assert "Lifecycle scripts did not run successfully on the controller." in message["default"]


def test_an_unhealthy_slurm_database_is_told_in_words() -> None:
    details = sample("cluster_event_slurm_unhealthy")["detail"]["EventDetails"]
    world, _ = _world(details)
    index.tell(sample("cluster_event_slurm_unhealthy"), aws=world.aws, now=1000.0)
    (text,) = world.topic.texts
    assert "Slurmdbd is Unhealthy: the daemon runs but its database does not answer" in text
    assert "systemctl status slurmdbd" in text


def test_a_failed_script_says_where_its_log_is() -> None:
    world, _ = _world(None)
    index.tell(sample("cluster_event_script_failed"), aws=world.aws, now=1000.0)
    assert (
        "aws logs tail /aws/sagemaker/Clusters/sample-cluster/sample-cluster"
        " --log-stream-names LifecycleConfig/p5Inst/i-0391f86fa0fe0d465 --region us-west-2" in world.topic.texts[0]
    )


def test_a_chat_gets_the_custom_notification_that_it_understands() -> None:
    world, _ = _world(_capacity_details())
    index.tell(sample("cluster_event_error"), aws=world.aws, now=1000.0)
    chat = json.loads(world.topic.messages[0]["https"])
    assert (chat["version"], chat["source"]) == ("1.0", "custom")
    assert CAPACITY in chat["content"]["description"]
    assert chat["content"]["nextSteps"]


@pytest.mark.parametrize(
    ("name", "metric", "dimensions"),
    [
        ("cluster_event_script_failed", "LifecycleFailures", [["ClusterName"], ["ClusterName", "InstanceGroupName"]]),
        ("cluster_event_slurm_unhealthy", "SlurmUnhealthy", [["ClusterName"]]),
        ("node_health_unhealthy", "UnhealthyNodes", [["ClusterName"]]),
    ],
)
def test_events_are_counted_for_the_alarms_in_the_embedded_metric_format(
    name: str, metric: str, dimensions: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    world, _ = _world(None)
    index.tell(sample(name), aws=world.aws, now=1000.0)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (counted,) = [line for line in lines if "_aws" in line]
    (directive,) = counted["_aws"]["CloudWatchMetrics"]
    assert directive == {
        "Namespace": "HyperPodConstructs",
        "Dimensions": dimensions,
        "Metrics": [{"Name": metric, "Unit": "Count"}],
    }
    assert counted[metric] == 1
    assert counted["_aws"]["Timestamp"] == 1_000_000
    assert all(counted[item] for group in dimensions for item in group)


def test_the_same_fault_is_counted_each_time_although_it_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    world, _ = _world(None)
    for _ in range(3):
        index.tell(sample("cluster_event_script_failed"), aws=world.aws, now=1000.0)
    assert capsys.readouterr().out.count('"LifecycleFailures": 1') == 3
    assert len(world.topic.texts) == 1


def test_an_event_of_another_service_is_refused_in_words() -> None:
    world, _ = _world({})
    with pytest.raises(ValueError, match="not a HyperPod event: detail-type 'SageMaker Training Job State Change'"):
        index.tell(sample("training_job"), aws=world.aws, now=1000.0)


def test_a_subject_is_cut_to_one_short_ascii_line() -> None:
    subject = Message(title="größer\n" * 40, text="").subject
    assert len(subject) == 99
    assert subject.startswith("gr??er gr??er")
    assert subject.endswith("...")
