"""Lists with their filters and pages, events in both forms, tags."""

from datetime import timedelta

import pytest

from hyperpod_constructs.rehearsal.service import ServiceError
from hyperpod_constructs.rehearsal.service.events import SUBTREES
from tests.rehearsal.service.support import NAME, UP, Bed, refusal, request, workers


def names(bed: Bed, **filters: object) -> list[str]:
    return [c["ClusterName"] for c in bed.client.list_clusters(**filters)["ClusterSummaries"]]


def three(bed: Bed) -> None:
    for name in ("b-train", "a-train", "c-infer"):
        bed.create(ClusterName=name)
        bed.wait(10)


def test_clusters_are_listed_oldest_first_or_as_asked(bed: Bed) -> None:
    three(bed)
    assert names(bed) == ["b-train", "a-train", "c-infer"]
    assert names(bed, SortOrder="Descending") == ["c-infer", "a-train", "b-train"]
    assert names(bed, SortBy="NAME") == ["a-train", "b-train", "c-infer"]
    assert names(bed, NameContains="train", SortBy="NAME", SortOrder="Descending") == ["b-train", "a-train"]
    middle = bed.client.describe_cluster(ClusterName="a-train")["CreationTime"]
    assert names(bed, CreationTimeAfter=middle) == ["c-infer"]
    assert names(bed, CreationTimeBefore=middle) == ["b-train"]


def test_clusters_are_found_by_their_training_plan(bed: Bed) -> None:
    plan = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/plan"
    three(bed)
    bed.client.create_cluster(**request(*request()["InstanceGroups"][:2], workers(TrainingPlanArn=plan)))
    assert names(bed, TrainingPlanArn=plan) == [NAME]
    assert bed.group()["TrainingPlanStatus"] == "Active"


def test_a_token_leads_to_the_next_page(bed: Bed) -> None:
    three(bed)
    first = bed.client.list_clusters(MaxResults=2)
    second = bed.client.list_clusters(MaxResults=2, NextToken=first["NextToken"])
    assert len(first["ClusterSummaries"] + second["ClusterSummaries"]) == 3
    assert "NextToken" not in second


@pytest.mark.parametrize("token", ["nonsense", "cGxhY2UgLTE=", "YWJj", "é"])
def test_a_token_that_is_none_of_ours_is_refused(bed: Bed, token: str) -> None:
    with refusal(match="NextToken is not valid"):
        bed.client.list_clusters(NextToken=token)


def test_events_come_newest_first_by_default(up: Bed) -> None:
    times = [e["EventTime"] for e in up.client.list_cluster_events(ClusterName=NAME)["Events"]]
    assert times == sorted(times, reverse=True)
    assert len(times) > 20


def test_events_are_filtered_by_everything_the_api_offers(up: Bed) -> None:
    instance = up.instances()[0]
    assert {e["ResourceType"] for e in up.events(ResourceType="Cluster")} == {"Cluster"}
    assert {e["InstanceGroupName"] for e in up.events(InstanceGroupName="login-group")} == {"login-group"}
    assert {e["InstanceId"] for e in up.events(NodeId=instance)} == {instance}
    middle = up.describe()["CreationTime"] + timedelta(seconds=UP)
    before, after = up.events(EventTimeBefore=middle), up.events(EventTimeAfter=middle)
    at = [event for event in up.events() if event["EventTime"] == middle]
    assert len(before) + len(at) + len(after) == len(up.events())
    assert min(len(before), len(at), len(after)) > 0


def test_the_form_in_a_list_has_nulls_and_no_failure_text(up: Bed) -> None:
    event = up.service.call("ListClusterEvents", {"ClusterName": NAME, "ResourceType": "Cluster"})["Events"][0]
    assert event["InstanceGroupName"] is None
    assert event["InstanceId"] is None
    assert "EventDetails" not in event


def test_the_long_form_has_one_subtree_and_nulls_for_the_others(bed: Bed) -> None:
    bed.service.fail_lifecycle("worker-gpu-a")
    bed.create_and_wait()
    event = next(event for event in bed.events() if event["EventLevel"] == "Error")
    answer = bed.service.call("DescribeClusterEvent", {"ClusterName": NAME, "EventId": event["EventId"]})
    metadata = answer["EventDetails"]["EventDetails"]["EventMetadata"]
    assert set(metadata) == set(SUBTREES)
    assert [name for name, value in metadata.items() if value] == ["Instance"]


def test_an_unknown_event_is_not_found(up: Bed) -> None:
    with refusal("ResourceNotFound", "Event"):
        up.client.describe_cluster_event(ClusterName=NAME, EventId="00000000-0000-4000-8000-000000000000")


@pytest.mark.parametrize("operation", ["ListClusterEvents", "DescribeClusterEvent"])
def test_events_need_continuous_provisioning(bed: Bed, operation: str) -> None:
    bed.create(NodeProvisioningMode=None)
    parameters = {"ClusterName": NAME, "EventId": "00000000-0000-4000-8000-000000000000"}
    with pytest.raises(ServiceError, match="set to Continuous"):
        bed.service.call(operation, parameters if operation.startswith("Describe") else {"ClusterName": NAME})


def test_the_oldest_events_go_when_there_are_very_many(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hyperpod_constructs.rehearsal.service.events.KEPT_EVENTS", 100)
    bed.service.fail_lifecycle("worker-gpu-a")
    bed.create_and_wait()
    bed.wait(20_000)
    events = bed.events()
    assert 50 < len(events) <= 100
    assert events[-1]["EventTime"].timestamp() > bed.clock.now() - 1000


def tags(bed: Bed, arn: str) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in bed.client.list_tags(ResourceArn=arn)["Tags"]}


def test_tags_are_set_at_creation_changed_and_removed(bed: Bed) -> None:
    arn = bed.create(Tags=[{"Key": "hyperpod-constructs:stack-id", "Value": "s"}, {"Key": "team", "Value": "a"}])
    added = bed.client.add_tags(ResourceArn=arn, Tags=[{"Key": "team", "Value": "b"}, {"Key": "new", "Value": ""}])
    assert {tag["Key"] for tag in added["Tags"]} == {"hyperpod-constructs:stack-id", "team", "new"}
    bed.client.delete_tags(ResourceArn=arn, TagKeys=["new", "never-there"])
    assert tags(bed, arn) == {"hyperpod-constructs:stack-id": "s", "team": "b"}


def test_tags_are_no_part_of_the_description(bed: Bed) -> None:
    bed.create(Tags=[{"Key": "team", "Value": "a"}])
    assert "Tags" not in bed.describe()


def test_fifty_tags_are_the_most(bed: Bed) -> None:
    arn = bed.create(Tags=[{"Key": f"k{n}", "Value": ""} for n in range(50)])
    bed.client.add_tags(ResourceArn=arn, Tags=[{"Key": "k1", "Value": "changed"}])
    with refusal(match="would have 51 tags"):
        bed.client.add_tags(ResourceArn=arn, Tags=[{"Key": "one-more", "Value": ""}])
    assert len(tags(bed, arn)) == 50


def test_tags_of_a_cluster_that_is_gone_are_refused(bed: Bed) -> None:
    with refusal(match="does not exist"):
        bed.client.list_tags(ResourceArn="arn:aws:sagemaker:us-east-1:123456789012:cluster/abcdefghijkl")
