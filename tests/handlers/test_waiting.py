"""Whether a deployment is done, from one picture. No AWS, no clock."""

from typing import Any

import pytest

from hyperpod_constructs.handlers.cluster.observed import Cluster, read_cluster
from hyperpod_constructs.handlers.cluster.waiting import (
    DEADLINE_SECONDS,
    Failed,
    NotYet,
    Ready,
    Verdict,
    expected_counts,
    judge,
)
from tests.handlers.builders import compute, controller, desired, login
from tests.handlers.pictures import described, described_group

GROUPS = [controller(), login(), compute(count=4, MinInstanceCount=2)]


def picture(
    groups: dict[str, dict[str, Any]] | None = None, *, status: str = "InService", failure: str = ""
) -> Cluster:
    """A cluster in service with everything there; groups by name with fields that differ."""
    changed = groups or {}
    shown = [described_group(group, **changed.get(group["InstanceGroupName"], {})) for group in GROUPS]
    details = {**described([]), "ClusterStatus": status, "FailureMessage": failure, "InstanceGroups": shown}
    return read_cluster(details)


def judged(cluster: Cluster, elapsed: float = 60, **options: Any) -> Verdict:
    wanted = desired(GROUPS, **options)
    return judge(wanted, cluster, expected=expected_counts(wanted.groups), elapsed_seconds=elapsed)


@pytest.mark.parametrize("ready_when", ["IN_SERVICE", "MINIMUM", "ALL"])
def test_everything_there_is_ready(ready_when: str) -> None:
    assert judged(picture(), ReadyWhen=ready_when) == Ready()


@pytest.mark.parametrize(
    ("ready_when", "current", "ready"),
    [
        ("IN_SERVICE", 0, True),
        ("MINIMUM", 1, False),
        ("MINIMUM", 2, True),
        ("ALL", 3, False),
        ("ALL", 4, True),
    ],
)
def test_how_many_workers_each_choice_awaits(ready_when: str, current: int, ready: bool) -> None:
    cluster = picture({"p5": {"CurrentCount": current, "Status": "Updating"}})
    assert isinstance(judged(cluster, ReadyWhen=ready_when), Ready) == ready


@pytest.mark.parametrize("group", ["controller", "login"])
@pytest.mark.parametrize("fields", [{"Status": "Creating"}, {"CurrentCount": 0}, {"Status": "Degraded"}])
def test_controller_and_login_groups_must_be_in_service_with_all_their_instances(
    group: str, fields: dict[str, Any]
) -> None:
    assert isinstance(judged(picture({group: fields})), NotYet)


def test_the_clusters_own_status_does_not_matter_while_a_minimum_keeps_it_creating() -> None:
    cluster = picture({"p5": {"Status": "Creating", "CurrentCount": 0}}, status="Creating")
    assert judged(cluster) == Ready()
    assert isinstance(judged(cluster, ReadyWhen="MINIMUM"), NotYet)


def test_a_group_that_is_not_there_yet_is_missing() -> None:
    cluster = picture()
    without = read_cluster({**cluster.details, "InstanceGroups": cluster.details["InstanceGroups"][:2]})
    assert judged(without) == NotYet(reason="p5 is not there yet")


def test_a_failed_cluster_is_a_failure_in_the_services_words() -> None:
    cluster = picture({"controller": {"Status": "Failed"}}, status="Failed", failure="The script ended with 1")
    assert judged(cluster) == Failed(cause="The script ended with 1", group="controller")


def test_a_failed_cluster_without_a_text_still_has_a_cause() -> None:
    assert judged(picture(status="Failed")) == Failed(cause="cluster my-training-cluster has failed")


def test_a_failed_group_in_a_living_cluster_may_come_back() -> None:
    assert isinstance(judged(picture({"login": {"Status": "Failed", "CurrentCount": 0}})), NotYet)


def test_a_cluster_that_somebody_deletes_meanwhile_is_a_failure() -> None:
    assert isinstance(judged(picture(status="Deleting")), Failed)


@pytest.mark.parametrize("ready_when", ["IN_SERVICE", "MINIMUM", "ALL"])
def test_a_minimum_that_was_given_up_is_a_failure_although_it_looks_like_success(ready_when: str) -> None:
    cluster = picture({"p5": {"CurrentCount": 0, "TargetCount": 0, "MinCount": 0}})
    verdict = judged(cluster, ReadyWhen=ready_when)
    assert isinstance(verdict, Failed)
    assert verdict.group == "p5"
    assert verdict.cause.startswith("p5: the minimum of 2 was not met: the group went from a target of 4 back to 0")


def test_a_minimum_that_went_back_to_earlier_numbers_is_a_failure_too() -> None:
    assert isinstance(judged(picture({"p5": {"CurrentCount": 1, "TargetCount": 1, "MinCount": 1}})), Failed)


def test_an_operator_who_only_lowers_the_target_is_no_failure() -> None:
    assert judged(picture({"p5": {"CurrentCount": 2, "TargetCount": 2, "MinCount": 2}})) == Ready()


def test_an_operator_who_only_lowers_the_minimum_is_no_failure() -> None:
    assert judged(picture({"p5": {"MinCount": 0}})) == Ready()


def test_a_software_update_is_not_awaited() -> None:
    busy = {"Status": "SystemUpdating", "CurrentCount": 0, "SoftwareUpdateStatus": "InProgress"}
    assert judged(picture({"login": busy})) == Ready()


def test_while_the_service_rolls_back_it_is_not_done() -> None:
    assert isinstance(judged(picture(status="RollingBack")), NotYet)


@pytest.mark.parametrize(
    ("on_timeout", "controller_fields", "succeeds"),
    [
        ("SUCCEED", {}, True),
        ("FAIL", {}, False),
        ("SUCCEED", {"CurrentCount": 0, "Status": "Creating"}, False),
    ],
)
def test_what_the_deadline_decides(on_timeout: str, controller_fields: dict[str, Any], succeeds: bool) -> None:
    cluster = picture({"controller": controller_fields, "p5": {"CurrentCount": 1}})
    options = {"ReadyWhen": "ALL", "OnTimeout": on_timeout}
    assert isinstance(judged(cluster, DEADLINE_SECONDS - 1, **options), NotYet)
    verdict = judged(cluster, DEADLINE_SECONDS, **options)
    assert isinstance(verdict, Ready if succeeds else Failed)
    text = verdict.notes[0] if isinstance(verdict, Ready) else getattr(verdict, "cause", "")
    assert text.startswith("after 55 minutes still missing: ")
    assert "p5 1/4" in text
