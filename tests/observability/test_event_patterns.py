"""Every pattern against recorded events of all three types, of this cluster and of another."""

import pytest

from hyperpod_constructs.event_patterns import (
    EventKind,
    EventLevel,
    event_pattern,
    event_patterns,
    levels_from,
    script_failure_pattern,
)
from tests.observability.support import matches, sample

SAMPLES = (
    "cluster_event_error",
    "cluster_event_script_failed",
    "cluster_event_scaling_noise",
    "cluster_event_slurm_unhealthy",
    "cluster_event_slurm_healthy",
    "cluster_event_without_level",
    "node_health_unhealthy",
    "node_health_healthy",
    "state_change_failed",
    "state_change_in_service",
    "state_change_deleting",
)
ERRORS = {
    "cluster_event_error",
    "cluster_event_script_failed",
    "cluster_event_slurm_unhealthy",
    "node_health_unhealthy",
    "state_change_failed",
}


def _matched(level: EventLevel, cluster_name: str = "sample-cluster") -> set[str]:
    patterns = event_patterns(cluster_name, level).values()
    return {name for name in SAMPLES if any(matches(pattern, sample(name)) for pattern in patterns)}


def test_errors_alone_reach_people_by_default() -> None:
    assert _matched(EventLevel.ERROR) == ERRORS


def test_warnings_add_the_noise_of_scaling_and_the_deletion() -> None:
    assert _matched(EventLevel.WARN) == ERRORS | {"cluster_event_scaling_noise", "state_change_deleting"}


def test_info_takes_every_event_even_one_without_a_level() -> None:
    assert _matched(EventLevel.INFO) == set(SAMPLES)


@pytest.mark.parametrize("level", EventLevel)
def test_no_event_of_another_cluster_is_taken(level: EventLevel) -> None:
    assert _matched(level, "other-cluster") == set()


def test_a_cluster_whose_name_begins_alike_is_another_cluster() -> None:
    events = [sample(name, **{"sample-cluster": "sample-cluster-2"}) for name in SAMPLES]
    patterns = list(event_patterns("sample-cluster", EventLevel.INFO).values())
    assert not any(matches(pattern, event) for pattern in patterns for event in events)


def test_each_pattern_takes_its_own_type_only() -> None:
    for kind in EventKind:
        pattern = event_pattern(kind, "sample-cluster", EventLevel.INFO)
        taken = {sample(name)["detail-type"] for name in SAMPLES if matches(pattern, sample(name))}
        assert taken == {kind.value}


def test_events_of_other_parts_of_sagemaker_are_ignored() -> None:
    patterns = event_patterns("sample-cluster", EventLevel.INFO).values()
    assert not any(matches(pattern, sample("training_job")) for pattern in patterns)


def test_a_script_failure_is_seen_with_and_without_metadata() -> None:
    pattern = script_failure_pattern("sample-cluster")
    assert matches(pattern, sample("cluster_event_script_failed"))
    with_metadata = sample("cluster_event_error")
    instance = with_metadata["detail"]["EventDetails"]["EventDetails"]["EventMetadata"]["Instance"]
    assert not matches(pattern, with_metadata)
    instance["LcsExecutionState"] = "Failed"
    assert matches(pattern, with_metadata)


def test_a_started_script_and_another_clusters_failure_do_not_count_as_failures() -> None:
    pattern = script_failure_pattern("sample-cluster")
    assert not matches(pattern, sample("cluster_event_without_level"))
    assert not matches(pattern, sample("cluster_event_script_failed", **{"sample-cluster": "other"}))


def test_levels_include_those_above() -> None:
    assert levels_from(EventLevel.WARN) == (EventLevel.WARN, EventLevel.ERROR)
