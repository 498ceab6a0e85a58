"""The reason of a failure: cause first, everything else as far as it can be had, never over the limit."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperpod_constructs.handlers.cluster.answer import attributes
from hyperpod_constructs.handlers.cluster.aws import Aws
from hyperpod_constructs.handlers.cluster.diagnosis import failure_message, newest_faults, reason
from hyperpod_constructs.handlers.cluster.hints import hint_for
from hyperpod_constructs.handlers.cluster.observed import read_cluster
from hyperpod_constructs.handlers.cluster.text import shortened
from tests.handlers.builders import NAME, compute
from tests.handlers.pictures import ARN, described, described_group
from tests.handlers.replay import client_error

CLUSTER = read_cluster(described())
INSTANCE = "i-0123456789abcdef0"


class RecordedEvents:
    """ListClusterEvents and DescribeClusterEvent as recorded: nulls in lists, metadata only in the single form."""

    def __init__(self, *events: dict[str, Any]) -> None:
        self.events = [{"EventId": str(number), "EventLevel": "Error", **event} for number, event in enumerate(events)]
        self.described: list[str] = []

    def list_cluster_events(self, **_: Any) -> dict[str, Any]:
        return {"Events": [{k: v for k, v in event.items() if k != "Metadata"} for event in self.events]}

    def describe_cluster_event(self, **request: Any) -> dict[str, Any]:
        self.described.append(request["EventId"])
        event = self.events[int(request["EventId"])]
        details = {key: value for key, value in event.items() if key != "Metadata"}
        return {"EventDetails": {**details, "EventDetails": {"EventMetadata": event.get("Metadata")}}}


class Denying:
    def __getattr__(self, name: str) -> Any:
        def deny(**_: Any) -> Any:
            raise client_error("AccessDeniedException", "not authorized", name)

        return deny


class Broken:
    def __getattr__(self, name: str) -> Any:
        def fail(**_: Any) -> Any:
            raise RuntimeError("a client that is broken")

        return fail


class RecordedLog:
    def __init__(self, *lines: str) -> None:
        self.lines = lines

    def get_log_events(self, **request: Any) -> dict[str, Any]:
        return {"events": [{"message": line} for line in self.lines[-request["limit"] :]]}


def an_error(text: str, subtree: str = "Instance", group: str = "p5", instance: str = INSTANCE) -> dict[str, Any]:
    metadata = {**dict.fromkeys(("Cluster", "InstanceGroup", "Instance")), subtree: {"FailureMessage": text}}
    return {
        "Description": "Provisioning failed",
        "InstanceGroupName": group,
        "InstanceId": instance,
        "Metadata": metadata,
    }


def told(sagemaker: Any, logs: Any = None, cause: str = "The cluster failed") -> str:
    return reason(Aws(sagemaker=sagemaker, logs=logs or RecordedLog(), sleep=lambda _: None), CLUSTER, cause)


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"Cluster": {"FailureMessage": "a"}}, "a"),
        ({"InstanceGroup": {"FailureMessage": "b", "SubnetId": "subnet-1"}}, "b"),
        ({"InstanceGroupScaling": {"FailureMessage": "c", "TargetCount": 4}}, "c"),
        ({"Instance": {"FailureMessage": "d", "LcsExecutionState": "Failed"}}, "d"),
        ({"DatabaseConfiguration": {"RollbackStatus": "Reverted", "FailureMessage": "e"}}, "e"),
        ({"DatabaseConfiguration": {"RollbackStatus": "RevertFailed", "Advisory": "look there"}}, "look there"),
        (
            {"SlurmHealth": {"Component": "Slurmdbd", "Status": "Unhealthy", "Reason": "DbUnreachable"}},
            "Slurmdbd Unhealthy: DbUnreachable",
        ),
        ({"Cluster": None, "Instance": None}, ""),
        (None, ""),
    ],
)
def test_c05_the_message_is_found_in_every_subtree(metadata: Any, text: str) -> None:
    assert failure_message({"EventDetails": {"EventMetadata": metadata}}) == text


def test_c05_the_pair_of_events_of_one_fault_is_told_once_and_with_the_instance() -> None:
    events = RecordedEvents(an_error("disk full", subtree="Cluster", group="", instance=""), an_error("disk full"))
    (fault,) = newest_faults(Aws(sagemaker=events), NAME)
    assert (fault.text, fault.group, fault.instance) == ("disk full", "p5", INSTANCE)


def test_c06_warnings_are_left_out() -> None:
    noise = {"EventLevel": "Warn", "Description": "lost orchestration-ready", "InstanceGroupName": "p5"}
    assert newest_faults(Aws(sagemaker=RecordedEvents(noise, noise)), NAME) == []


def test_a_thousand_errors_cost_a_handful_of_calls() -> None:
    events = RecordedEvents(*(an_error(f"error {number}") for number in range(1000)))
    newest_faults(Aws(sagemaker=events), NAME)
    assert len(events.described) <= 6


def test_the_first_line_is_the_cause_and_the_rest_says_where() -> None:
    text = told(
        RecordedEvents(an_error("EFA health check failed: check the security group")), RecordedLog("one", "two")
    )
    lines = text.splitlines()
    assert lines[0] == "The cluster failed"
    assert lines[1] == "event: EFA health check failed: check the security group"
    assert f"group p5, instance {INSTANCE}, log group /aws/sagemaker/Clusters/{NAME}/abcdef012345" in lines[2]
    assert f"stream LifecycleConfig/p5/{INSTANCE}" in lines[2]
    assert lines[3].startswith("hint: EFA needs the security group")
    assert lines[4] == "log ends: one | two"


@pytest.mark.parametrize("client", [Denying(), Broken()])
def test_c05_whatever_happens_to_the_details_the_cause_stays(client: Any) -> None:
    text = told(client, client, cause="the first error")
    assert text.splitlines()[0] == "the first error"
    assert "not authorized" not in text
    assert "broken" not in text


def test_an_old_story_is_not_told_again() -> None:
    seen: dict[str, Any] = {}

    class Asked(RecordedEvents):
        def list_cluster_events(self, **request: Any) -> dict[str, Any]:
            seen.update(request)
            return {"Events": []}

    newest_faults(Aws(sagemaker=Asked()), NAME, since=1_800_000_000)
    assert seen["EventTimeAfter"].timestamp() == 1_800_000_000 - 60


@given(cause=st.text(max_size=3000), event=st.text(max_size=3000), lines=st.lists(st.text(max_size=500), max_size=30))
def test_the_reason_is_never_over_the_limit_and_always_text(cause: str, event: str, lines: list[str]) -> None:
    text = told(RecordedEvents(an_error(event)), RecordedLog(*lines), cause)
    assert len(text.encode()) <= 1000


@given(text=st.text(max_size=300), limit=st.integers(0, 300), share=st.floats(0, 1))
def test_a_shortened_text_keeps_head_and_tail_and_breaks_no_character(text: str, limit: int, share: float) -> None:
    short = shortened(text, limit, head_share=share)
    assert len(short.encode()) <= limit
    if len(text.encode()) <= limit:
        assert short == text
    elif " [...] " in short and " [...] " not in text:
        head, tail = short.split(" [...] ")
        assert text.startswith(head)
        assert text.endswith(tail)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("EFA health checks did not run successfully. Ensure that your security group rules", "from and to itself"),
        ("We currently do not have sufficient capacity: InsufficientInstanceCapacity", "no capacity of this type"),
        ("The requested Availability Zone does not match", "zone of the reservation"),
        ("Unable to retrieve subnets", "not known everywhere yet"),
        ("The role cannot be assumed", "must trust sagemaker.amazonaws.com"),
        ("User is not authorized to perform ec2:X", "a permission is missing"),
        ("ResourceLimitExceeded: The account-level service limit", "Service Quotas"),
        ("Lifecycle scripts did not run successfully", "ended with an error"),
        ("something else", ""),
        ("the security group sg-1 was deleted", ""),
        ("a time limit", ""),
    ],
)
def test_known_causes_get_a_hint(text: str, words: str) -> None:
    hint = hint_for(text)
    assert (words in hint) if words else hint == ""


def test_attributes_fit_the_response_with_a_hundred_groups_and_long_notes() -> None:
    groups = [described_group(compute(f"group-{number}-{'x' * 50}", 6000)) for number in range(100)]
    cluster = read_cluster({**described([]), "InstanceGroups": groups})
    data = attributes(cluster, NAME, [f"note {number} " + "ü" * 100 for number in range(50)])
    assert len("".join(data.values()).encode()) < 3000
    assert all(isinstance(value, str) for value in data.values())
    assert data["ClusterArn"] == ARN


def test_every_attribute_is_there_without_a_cluster() -> None:
    data = attributes(None, NAME)
    assert data["ClusterName"] == NAME
    assert set(data) == {
        "ClusterName",
        "ClusterArn",
        "ClusterId",
        "LogGroupName",
        "Status",
        "InstanceCounts",
        "Warning",
    }
