"""Stories of the cost guard, on the HyperPod service of the rehearsal."""

import json
import shlex
from typing import Any

import pytest

from hyperpod_constructs.event_patterns import script_failure_pattern
from hyperpod_constructs.handlers.notify import index
from hyperpod_constructs.rehearsal.service import HyperPodService, LocalClient, ManualClock, Timings
from tests.handlers.builders import a_request, compute, controller
from tests.observability.support import CLUSTER, Pricing, World, matches

REASON = "Lifecycle scripts did not run successfully: mount of /fsx timed out"
MINUTE = 60.0
HOUR = 60 * MINUTE
TIMINGS = Timings(
    launch_seconds=60, script_seconds=60, failure_visible_seconds=60, retry_seconds=300, retry_limit_seconds=600
)
PATTERN = script_failure_pattern(CLUSTER)


class Story:
    """A cluster whose events reach the guard as they happen."""

    def __init__(self, count: int = 2, **environment: str) -> None:
        self.clock = ManualClock()
        self.service = HyperPodService(clock=self.clock, timings=TIMINGS, seed=1)
        self.world = World(self.service, **environment)
        self.client = LocalClient(self.service)
        self._create(CLUSTER, count)
        self.told_at: list[float] = []
        self.start = self.clock.now()

    def _create(self, name: str, count: int) -> None:
        groups = [controller(), compute("p5", count)]
        self.client.create_cluster(**a_request(ClusterName=name), InstanceGroups=groups)

    def run(self, seconds: float) -> list[str]:
        """Let time pass, minute by minute; the texts told meanwhile."""
        before = len(self.world.topic.texts)
        for _ in range(int(seconds // MINUTE)):
            self.clock.advance(MINUTE)
            self.service.tick()
            self.deliver(self.world.new_events())
        return self.world.topic.texts[before:]

    def deliver(self, events: list[dict[str, Any]]) -> None:
        for event in events:
            if matches(PATTERN, event) and index.guard(event, aws=self.world.aws, now=self.clock.now())["told"]:
                self.told_at.append(self.clock.now() - self.start)


def test_endless_failure_is_told_once_and_then_at_intervals() -> None:
    story = Story(REMIND_MINUTES="240")
    story.service.fail_lifecycle("p5", message=REASON)
    texts = story.run(13 * HOUR)
    assert story.told_at[0] < HOUR
    gaps = [later - earlier for earlier, later in zip(story.told_at, story.told_at[1:], strict=False)]
    assert len(texts) == 4
    assert all(4 * HOUR <= gap <= 4 * HOUR + 15 * MINUTE for gap in gaps)


def test_the_message_has_the_reason_the_number_and_the_exact_command() -> None:
    story = Story(count=3)
    story.service.fail_lifecycle("p5", message=REASON)
    text = story.run(2 * HOUR)[0]
    assert "Nodes of group p5 fail their lifecycle script again and again: 3 failures within 60 minutes" in text
    assert REASON in next(line for line in text.splitlines() if line.startswith("Latest reason: "))
    assert "up to 3 instance hours each hour (3 x ml.p5.48xlarge; no price is known)" in text


def test_the_command_stops_the_tries_and_changes_nothing_else() -> None:
    story = Story(count=3)
    story.service.fail_lifecycle("p5", message=REASON)
    text = story.run(2 * HOUR)[0]
    before = story.client.describe_cluster(ClusterName=CLUSTER)["InstanceGroups"]
    command = shlex.split(next(line for line in text.splitlines() if "update-cluster" in line).partition(": ")[2])
    assert command[:5] == ["aws", "sagemaker", "update-cluster", "--cluster-name", CLUSTER]
    assert command[-2:] == ["--region", "us-east-1"]
    groups = json.loads(command[command.index("--instance-groups") + 1])
    story.client.update_cluster(ClusterName=CLUSTER, InstanceGroups=groups)
    story.run(2 * HOUR)
    after = story.client.describe_cluster(ClusterName=CLUSTER)["InstanceGroups"]
    assert [group["TargetCount"] for group in after] == [1, 0]
    for old, new in zip(before, after, strict=True):
        changing = {"TargetCount", "CurrentCount", "TargetStateCount", "ActiveOperations", "Status"}
        assert {k: v for k, v in old.items() if k not in changing} == {
            k: v for k, v in new.items() if k not in changing
        }
    failures = len([event for event in story.world.new_events() if matches(PATTERN, event)])
    assert failures == 0, "after the command nothing is tried, and billed, any more"


def test_the_guard_itself_changes_nothing() -> None:
    story = Story()
    calls = len(story.service.mutating_calls())
    story.service.fail_lifecycle("p5", message=REASON)
    assert story.run(6 * HOUR)
    assert len(story.service.mutating_calls()) == calls


def test_a_price_of_yours_becomes_an_hourly_estimate() -> None:
    story = Story(count=3, HOURLY_PRICES_USD='{"ml.p5.48xlarge": 60.5}')
    story.service.fail_lifecycle("p5", message=REASON)
    assert "up to about 181.50 USD an hour (3 x ml.p5.48xlarge, on demand)" in story.run(2 * HOUR)[0]


def _product(usage: str, price: str) -> dict[str, Any]:
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": price}}
    terms = {"OnDemand": {"one": {"priceDimensions": {"two": dimension}}}}
    return {"product": {"attributes": {"usagetype": usage}}, "terms": terms}


def test_the_price_list_is_asked_when_you_gave_no_price_and_only_cluster_prices_count() -> None:
    story = Story(count=2)
    pricing = Pricing(
        _product("USE1-Train:ml.p5.48xlarge", "99.0"),
        _product("USE1-Cluster:ml.p5.48xlarge", "0.0"),
        _product("USE1-Cluster:ml.p5.48xlarge", "50.0"),
    )
    story.world.aws._clients["pricing"] = pricing
    story.service.fail_lifecycle("p5", message=REASON)
    assert "up to about 100.00 USD an hour" in story.run(2 * HOUR)[0]


def test_nodes_that_run_well_are_not_in_the_estimate_and_not_stopped() -> None:
    story = Story(count=4, FAILURES="3")
    story.run(20 * MINUTE)
    group = story.client.describe_cluster(ClusterName=CLUSTER)["InstanceGroups"][1]
    assert group["CurrentCount"] == 4
    story.service.fail_lifecycle("p5", message=REASON)
    story.client.update_cluster(ClusterName=CLUSTER, InstanceGroups=[compute("p5", 5)])
    text = story.run(3 * HOUR)[0]
    assert "up to 1 instance hours each hour (1 x ml.p5.48xlarge" in text
    assert '"InstanceCount":4' in text


def test_two_failures_and_a_success_are_no_story() -> None:
    story = Story(count=2)
    story.service.fail_lifecycle("p5", times=2, message=REASON)
    assert story.run(6 * HOUR) == []


def test_one_node_of_many_that_fails_for_ever_is_found_although_others_succeed() -> None:
    story = Story(count=4)
    story.run(20 * MINUTE)
    story.service.fail_lifecycle("p5", message=REASON)
    story.client.update_cluster(ClusterName=CLUSTER, InstanceGroups=[compute("p5", 5)])
    assert len(story.run(2 * HOUR)) == 1


def test_a_group_that_comes_and_goes_is_not_told_at_every_crossing() -> None:
    story = Story(count=1, REMIND_MINUTES="720")
    for _ in range(6):
        story.service.fail_lifecycle("p5", times=4, message=REASON)
        story.run(40 * MINUTE)
        story.client.update_cluster(ClusterName=CLUSTER, InstanceGroups=[compute("p5", 0)])
        story.run(10 * MINUTE)
        story.service.clear_failures("p5")
        story.client.update_cluster(ClusterName=CLUSTER, InstanceGroups=[compute("p5", 1)])
    assert len(story.told_at) == 1


def test_after_a_recovery_the_next_streak_is_told_at_once_whatever_the_interval() -> None:
    story = Story(count=1, REMIND_MINUTES="1440")
    story.service.fail_lifecycle("p5", times=4, message=REASON)
    assert len(story.run(3 * HOUR)) == 1
    assert story.client.describe_cluster(ClusterName=CLUSTER)["InstanceGroups"][1]["CurrentCount"] == 1
    story.service.fail_lifecycle("p5", message=REASON)
    story.client.update_cluster(ClusterName=CLUSTER, InstanceGroups=[compute("p5", 2)])
    assert len(story.run(3 * HOUR)) == 1


def test_a_recovered_group_stays_silent() -> None:
    story = Story(count=1)
    story.service.fail_lifecycle("p5", times=4, message=REASON)
    assert len(story.run(2 * HOUR)) == 1
    assert story.run(24 * HOUR) == []


def test_the_failures_of_another_cluster_are_silent() -> None:
    story = Story(count=1)
    story.run(20 * MINUTE)
    story._create("other", 2)
    story.service.fail_lifecycle("p5", message=REASON)
    story.run(6 * HOUR)
    others = story.world.new_events("other")
    assert sum("has Failed" in event["detail"]["EventDetails"]["Description"] for event in others) > 10
    story.deliver(others)
    assert story.world.topic.texts == []


def test_every_event_delivered_twice_counts_once() -> None:
    story = Story(count=1)
    story.service.fail_lifecycle("p5", times=2, message=REASON)
    for _ in range(120):
        story.clock.advance(MINUTE)
        story.service.tick()
        story.deliver(story.world.new_events() * 3)
    assert story.world.topic.texts == []


def test_a_warning_that_could_not_be_sent_is_sent_by_the_repeated_delivery() -> None:
    story = Story(count=1)
    story.service.fail_lifecycle("p5", message=REASON)
    story.world.topic.failures = 1
    with pytest.raises(RuntimeError, match="does not answer"):
        story.run(2 * HOUR)
    assert story.run(30 * MINUTE), "the next failure tells it"


def test_failures_at_the_same_moment_are_all_counted() -> None:
    story = Story(count=3)
    story.service.fail_lifecycle("p5", message=REASON)
    events: list[dict[str, Any]] = []
    while not events:
        story.clock.advance(MINUTE)
        story.service.tick()
        events = [event for event in story.world.new_events() if matches(PATTERN, event)]
    instances = {event["detail"]["EventDetails"]["InstanceId"]: event for event in events}
    first, second, third = instances.values()
    story.world.table.before_write += [
        lambda: index.guard(third, aws=story.world.aws),
        lambda: index.guard(second, aws=story.world.aws),
    ]
    index.guard(first, aws=story.world.aws)
    assert len(story.world.topic.texts) == 1
    assert "3 failures within" in story.world.topic.texts[0]


def test_while_a_group_is_over_the_threshold_every_failure_keeps_the_alarm_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    story = Story(count=1)
    story.service.fail_lifecycle("p5", message=REASON)
    story.run(3 * HOUR)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    failures = [line for line in lines if line.get("step") == "failure" and line["new"] and line["in_window"] >= 3]
    counted = [line for line in lines if "FailingGroups" in line]
    assert len(failures) == len(counted) > 5
