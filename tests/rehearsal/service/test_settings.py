"""Capacity texts, durations, faults, identifiers."""

from datetime import UTC, datetime

import pytest

from hyperpod_constructs.rehearsal.service import CallerCrash, Capacity, Limit, ManualClock, ServiceError, Timings
from hyperpod_constructs.rehearsal.service.clock import epoch_seconds
from hyperpod_constructs.rehearsal.service.identifiers import Addresses, Identifiers
from hyperpod_constructs.rehearsal.service.logs import new_lines
from tests.rehearsal.service.support import NAME, Bed, request


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("worker-gpu-a=2", {"worker-gpu-a": Limit(2)}),
        ("worker-gpu-a=2@0,16@60", {"worker-gpu-a": Limit(2, ((60.0, 16),))}),
        ("ml.p5.48xlarge=0@0,1@0.5,2@7", {"ml.p5.48xlarge": Limit(0, ((0.5, 1), (7.0, 2)))}),
        ("a=4@30", {"a": Limit(0, ((30.0, 4),))}),
        ("a=1 b=2;c=3", {"a": Limit(1), "b": Limit(2), "c": Limit(3)}),
        ("", {}),
    ],
)
def test_capacity_is_read_from_a_short_text(text: str, limits: dict[str, Limit]) -> None:
    assert Capacity.parse(text).limits == limits
    assert Capacity.parse(text.split()).limits == limits


@pytest.mark.parametrize(
    "text",
    ["a", "a=", "=2", "a=-1", "a=x", "a=2@", "a=2@60,3@60", "a=2@60,3@10", "a=1@0,", "a=1 a=2", "a_b=1", "a=1.5"],
)
def test_a_capacity_text_that_is_none_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match="for example worker-gpu-a=2 or worker-gpu-a=2@0,16@60") as caught:
        Capacity.parse(text)
    assert "\n" not in str(caught.value)


def test_a_limit_holds_from_its_second_on() -> None:
    limit = Limit(2, ((60.0, 16), (90.0, 1)))
    assert [limit.at(t) for t in (0, 59.9, 60, 89.9, 90, 1e9)] == [2, 2, 16, 16, 1, 1]


def test_the_times_of_a_key_start_when_it_is_first_asked_for() -> None:
    capacity = Capacity({"a": Limit(0, ((10.0, 1),))})
    assert capacity.next_change(0) is None
    assert not capacity.left("a", lambda _: 0, now=100)
    assert capacity.next_change(100) == 110
    assert capacity.left("a", lambda _: 0, now=110)
    assert not capacity.left("a", lambda _: 1, now=110)
    assert capacity.next_change(110) is None


def test_what_is_not_named_is_not_limited() -> None:
    assert Capacity().left("a", lambda _: 10**6, 0)


@pytest.mark.parametrize("wrong", [{"launch_seconds": -1}, {"script_seconds": float("inf")}, {"retry_seconds": 0}])
def test_durations_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Timings(**wrong)  # type: ignore[arg-type]


def test_retries_wait_twice_as_long_each_time_up_to_the_limit() -> None:
    timings = Timings(retry_seconds=2, retry_limit_seconds=60)
    assert [timings.retry_delay(n) for n in (1, 2, 3, 6, 7, 10_000)] == [2, 4, 8, 60, 60, 60]


@pytest.mark.parametrize("name", ["throttling", "internal", "unavailable", "access_denied"])
def test_a_fault_strikes_as_often_as_it_is_told_before_anything_happens(bed: Bed, name: str) -> None:
    bed.service.faults.add("CreateCluster", name, times=2)
    for _ in range(2):
        with pytest.raises(ServiceError) as caught:
            bed.service.call("CreateCluster", request())
    assert bed.client.list_clusters()["ClusterSummaries"] == []
    bed.create()
    assert [call.error for call in bed.service.mutating_calls()] == [caught.value.code] * 2 + [None]
    assert len(bed.service.mutating_calls(successful_only=True)) == 1


def test_a_fault_after_the_effect_loses_only_the_answer(bed: Bed) -> None:
    bed.service.faults.add("*", "internal", when="after")
    with pytest.raises(ServiceError, match="InternalFailure"):
        bed.service.call("CreateCluster", request())
    assert bed.status() == "Creating"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_caller_that_dies_is_not_stopped_by_its_own_error_handling(bed: Bed, when: str) -> None:
    bed.service.faults.add("CreateCluster", "crash", when=when)  # type: ignore[arg-type]

    def careless() -> None:
        try:
            bed.create()
        except Exception:
            pytest.fail("a crash is no Exception")

    with pytest.raises(CallerCrash):
        careless()
    assert bed.service.calls[-1].error == "crash"
    assert bool(bed.client.list_clusters()["ClusterSummaries"]) is (when == "after")


def test_a_new_role_is_unknown_for_a_while(bed: Bed) -> None:
    bed.service.faults.iam_not_propagated(times=2)
    for _ in range(2):
        with pytest.raises(ServiceError, match="Unable to retrieve subnets") as caught:
            bed.service.call("CreateCluster", request())
        assert caught.value.code == "ValidationException"
    assert bed.create()


@pytest.mark.parametrize(
    ("error", "times", "when"), [("slow", 1, "before"), ("internal", 0, "before"), ("internal", 1, "x")]
)
def test_a_fault_that_makes_no_sense_is_refused(bed: Bed, error: str, times: int, when: str) -> None:
    with pytest.raises(ValueError, match=r"unknown error|must be"):
        bed.service.faults.add("*", error, times, when)  # type: ignore[arg-type]


def test_the_record_holds_what_was_sent_and_cannot_be_changed_afterwards(bed: Bed) -> None:
    sent = request()
    bed.service.call("CreateCluster", sent)
    bed.service.call("DescribeCluster", {"ClusterName": NAME})
    sent["InstanceGroups"].clear()
    call = bed.service.calls[0]
    assert (call.operation, call.parameters, call.error, call.time) == (
        "CreateCluster",
        request(),
        None,
        bed.clock.now(),
    )
    assert [call.operation for call in bed.service.mutating_calls()] == ["CreateCluster"]


def test_an_answer_cannot_be_used_to_change_the_service(bed: Bed) -> None:
    bed.create()
    bed.service.call("DescribeCluster", {"ClusterName": NAME})["InstanceGroups"][0]["LifeCycleConfig"].clear()
    assert bed.group("controller-group")["LifeCycleConfig"]["OnCreate"] == "on_create.sh"


def test_a_seed_makes_a_run_repeatable() -> None:
    runs = []
    for _ in range(2):
        bed = Bed(seed=7)
        bed.create_and_wait()
        runs.append([event["EventId"] for event in bed.events()])
    assert runs[0] == runs[1]


def test_addresses_run_out_in_words_and_come_back() -> None:
    addresses = Addresses("10.1.0.0/28")
    taken = [addresses.take() for _ in range(4)]
    assert taken == ["10.1.0.11", "10.1.0.12", "10.1.0.13", "10.1.0.14"]
    with pytest.raises(RuntimeError, match=r"no free address in 10\.1\.0\.0/28"):
        addresses.take()
    addresses.give_back("10.1.0.12")
    assert addresses.take() == "10.1.0.12"


def test_ids_have_the_lengths_of_the_service() -> None:
    ids = Identifiers(0)
    assert all(len(ids.cluster_id()) == 12 and len(ids.instance_id()) == 19 for _ in range(1000))


def test_a_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="cannot go back"):
        ManualClock().advance(-1)


@pytest.mark.parametrize(
    "value", [1800000000, "1800000000", "2027-01-15T08:00:00Z", datetime(2027, 1, 15, 8, tzinfo=UTC)]
)
def test_a_time_may_be_written_in_several_ways(value: object) -> None:
    assert epoch_seconds(value) == 1_800_000_000


@pytest.mark.parametrize("value", [True, None, "yesterday", []])
def test_what_is_no_time_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"timestamp|isoformat"):
        epoch_seconds(value)


@pytest.mark.parametrize(
    ("seen", "tail", "fresh"),
    [
        ([], ["a", "b"], ["a", "b"]),
        (["a", "b"], ["a", "b"], []),
        (["a", "b"], ["b", "c"], ["c"]),
        (["a", "b"], ["x", "y"], ["x", "y"]),
        (["a", "a"], ["a", "a", "a"], ["a"]),
        (["a"], [], []),
    ],
)
def test_only_new_lines_of_a_tail_are_taken(seen: list[str], tail: list[str], fresh: list[str]) -> None:
    assert new_lines(seen, tail) == fresh
