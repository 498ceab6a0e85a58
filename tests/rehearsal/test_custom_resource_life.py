"""Create, update, failed updates with their rollbacks, and destroy: by the unmodified CDK CLI, with the real handler.

The emulated CloudFormation rolls back as AWS does, and shows the stack's status to the handler that asks for it.
"""

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from hyperpod_constructs.rehearsal.runner import divided
from hyperpod_constructs.rehearsal.session import DeploymentFailedError, Rehearsal

pytestmark = [pytest.mark.rehearsal, pytest.mark.xdist_group("rehearsal")]

STACK, CLUSTER = "ClusterLife", "cluster-life"
APP = shlex.join([sys.executable, str(Path(__file__).with_name("cluster_life_app.py"))])


class Act:
    """One deployment: how it ended, what it called, and the cluster afterwards."""

    def __init__(self, rehearsal: Rehearsal, **context: str) -> None:
        calls, events = len(rehearsal.calls()), len(rehearsal.stack_events(STACK))
        self.failure: DeploymentFailedError | None = None
        try:
            rehearsal.deploy(APP, context)
        except DeploymentFailedError as error:
            self.failure = error
        self.changes: list[dict[str, Any]] = [call for call in rehearsal.calls()[calls:] if call["mutating"]]
        self.events = rehearsal.stack_events(STACK)[events:]
        self.status = [event.status for event in self.events if event.logical_id == STACK][-1]
        found = [one for one in rehearsal.clusters() if one["ClusterName"] == CLUSTER]
        assert len(found) == 1, f"{context}: {self.failure}"
        self.cluster = found[0]

    @property
    def targets(self) -> dict[str, int]:
        return {
            group["InstanceGroupName"]: group["TargetCount"]
            for group in self.cluster["InstanceGroups"]
            if group["Status"] != "Deleting"
        }

    @property
    def reason(self) -> str:
        assert self.failure is not None
        assert self.failure.event is not None
        return self.failure.event.reason


class Story:
    """The acts, each played once, in the order of their lines."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self.created = Act(rehearsal, groups="a=2")
        self.scaled = Act(rehearsal, groups="a=3")
        self.broken = Act(rehearsal, groups="a=4,b=2", breaks="yes")
        self.refused = Act(rehearsal, groups="a=3", type="ml.p4d.24xlarge")
        seen = len(rehearsal.calls())
        rehearsal.destroy()
        self.destruction = [call["operation"] for call in rehearsal.calls()[seen:] if call["mutating"]]
        self.after = [one for one in rehearsal.clusters() if one["ClusterName"] == CLUSTER]
        self.left = divided(rehearsal.leftovers())[0]


@pytest.fixture(scope="module")
def story(rehearsal: Rehearsal) -> Story:
    return Story(rehearsal)


def operations(act: Act) -> list[str]:
    return [call["operation"] for call in act.changes]


def test_the_cluster_is_created_by_one_call_although_the_first_poll_makes_it(story: Story) -> None:
    assert (story.created.status, operations(story.created)) == ("CREATE_COMPLETE", ["CreateCluster"])
    assert story.created.targets == {"controller": 1, "login": 1, "a": 2}


def test_an_update_is_one_call(story: Story) -> None:
    assert (story.scaled.status, operations(story.scaled)) == ("UPDATE_COMPLETE", ["UpdateCluster"])
    assert story.scaled.targets["a"] == 3


def test_an_update_that_fails_elsewhere_ends_in_a_complete_rollback(story: Story) -> None:
    assert story.broken.status == "UPDATE_ROLLBACK_COMPLETE"
    assert "already exists" in story.broken.reason


def counts(call: dict[str, Any]) -> dict[str, int]:
    return {one["InstanceGroupName"]: one["InstanceCount"] for one in call["parameters"]["InstanceGroups"]}


def test_the_rollback_takes_the_count_back_and_removes_the_group_that_was_added(story: Story) -> None:
    """The group had instances: going forward its removal is refused, so the handler saw UPDATE_ROLLBACK_IN_PROGRESS.

    Controller and login group travel too: the nodes' configuration names every group, so their scripts have moved.
    """
    forward, back = story.broken.changes
    assert counts(forward) == {"controller": 1, "login": 1, "a": 4, "b": 2}
    assert counts(back) == {"controller": 1, "login": 1, "a": 3}
    assert back["parameters"]["InstanceGroupsToDelete"] == ["b"]
    assert story.broken.targets == {"controller": 1, "login": 1, "a": 3}


def test_a_refused_change_tells_what_to_do_calls_nothing_and_rolls_back(story: Story) -> None:
    assert story.refused.status == "UPDATE_ROLLBACK_COMPLETE"
    assert (
        "a: InstanceType cannot change from ml.p5.48xlarge to ml.p4d.24xlarge: give the group" in story.refused.reason
    )
    assert operations(story.refused) == []


def test_it_is_the_same_cluster_all_the_time(story: Story) -> None:
    acts = (story.created, story.scaled, story.broken, story.refused)
    assert len({act.cluster["ClusterArn"] for act in acts}) == 1


def test_destroy_deletes_it_and_leaves_nothing(story: Story) -> None:
    assert story.destruction == ["DeleteCluster"]
    assert story.after == []
    assert story.left == []
