"""The cluster's whole life, as CloudFormation plays it: success, failure and rollback."""

from tests.handlers.builders import NAME, p5, props
from tests.handlers.replay import StackReplay, World


def test_a_cluster_is_created_scaled_and_deleted(world: World, stack: StackReplay) -> None:
    created = stack.deploy(props(p5(4)))
    assert created.succeeded, created.reason
    assert created.physical_id == NAME
    assert world.mutations() == ["CreateCluster"]
    scaled = stack.deploy(props(p5(6)))
    assert scaled.succeeded, scaled.reason
    (update,) = world.requests("UpdateCluster")
    assert [group["InstanceGroupName"] for group in update["InstanceGroups"]] == ["p5"]
    assert update["InstanceGroups"][0]["InstanceCount"] == 6
    deleted = stack.destroy()
    assert deleted.succeeded, deleted.reason
    assert world.describe(NAME) is None


def test_nothing_changed_makes_no_call(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    assert stack.deploy(props(p5(4))).succeeded
    assert world.mutations() == ["CreateCluster"]


def test_a_controller_that_fails_is_told_with_the_services_reason_and_deleted(world: World, stack: StackReplay) -> None:
    world.service.fail_lifecycle("controller", log=["line one", "mount: /fsx: cannot connect"])
    failed = stack.deploy(props(p5(4)))
    assert not failed.succeeded
    assert failed.reason.splitlines()[0].startswith("Instance i-")
    assert "LifecycleConfig/controller/i-" in failed.reason
    assert "cannot connect" in failed.reason
    assert stack.status == "ROLLBACK_COMPLETE"
    assert world.describe(NAME) is None
