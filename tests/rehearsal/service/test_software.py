"""UpdateClusterSoftware."""

from typing import Any

import pytest

from tests.rehearsal.service.support import NAME, UP, Bed, controller, login, refusal, workers

OLD, NEW = "2.0.1", "2.1.0"


def pinned() -> Bed:
    bed = Bed()
    bed.create_and_wait(
        controller(ImageReleaseVersion=OLD), login(ImageReleaseVersion=OLD), workers(2, ImageReleaseVersion=OLD)
    )
    return bed


def start(bed: Bed, release: str | None = NEW, **more: Any) -> None:
    group = {"InstanceGroupName": "worker-gpu-a", "ImageReleaseVersion": release}
    group = {key: value for key, value in group.items() if value}
    bed.client.update_cluster_software(ClusterName=NAME, InstanceGroups=[group], **more)


def software(bed: Bed) -> tuple[str, str, str]:
    shown = bed.group()
    versions = shown["CurrentImageReleaseVersion"], shown["DesiredImageReleaseVersion"]
    return (shown["SoftwareUpdateStatus"], *versions)


def test_an_update_goes_through_its_statuses_and_keeps_the_instances() -> None:
    bed = pinned()
    before = bed.instances()
    start(bed)
    assert software(bed) == ("Pending", OLD, NEW)
    assert (bed.status(), bed.group()["Status"]) == ("SystemUpdating", "SystemUpdating")
    bed.wait(4)
    assert software(bed) == ("InProgress", OLD, NEW)
    assert bed.group()["TargetStateCount"] == 0
    assert {node["InstanceStatus"]["Status"] for node in bed.nodes()} == {"SystemUpdating"}
    assert bed.counts() == (2, 2)
    bed.wait(UP)
    assert software(bed) == ("Succeeded", NEW, NEW)
    assert (bed.status(), bed.group()["Status"]) == ("InService", "InService")
    assert bed.group()["TargetStateCount"] == 2
    assert bed.instances() == before
    assert {node["CurrentImageReleaseVersion"] for node in bed.nodes()} == {NEW}
    assert all("LastSoftwareUpdateTime" in node for node in bed.nodes())


def test_only_the_named_group_is_updated() -> None:
    bed = pinned()
    start(bed)
    bed.wait(4 + UP)
    assert bed.group("controller-group")["CurrentImageReleaseVersion"] == OLD
    assert "SoftwareUpdateStatus" not in bed.group("controller-group")


def test_without_groups_all_are_updated_to_the_latest_release() -> None:
    bed = pinned()
    bed.client.update_cluster_software(ClusterName=NAME)
    bed.wait(4 + UP)
    latest = bed.service.context.latest_image_release
    assert {g["CurrentImageReleaseVersion"] for g in bed.describe()["InstanceGroups"]} == {latest}
    assert {g["ImageVersionStatus"] for g in bed.describe()["InstanceGroups"]} == {"UpToDate"}


def test_an_update_to_what_there_is_changes_nothing_and_runs_no_script() -> None:
    bed = pinned()
    start(bed, OLD)
    assert bed.status() == "InService"
    assert "SoftwareUpdateStatus" not in bed.group()


def test_the_scripts_run_again() -> None:
    bed = pinned()
    streams = next(iter(bed.logs.streams.values()))
    before = {name: len(lines) for name, lines in streams.items() if "worker" in name}
    start(bed)
    bed.wait(4 + UP)
    assert {name: len(streams[name]) for name in before} == {name: 2 * lines for name, lines in before.items()}


def test_scripts_that_fail_are_tried_again_then_rolled_back() -> None:
    bed = pinned()
    bed.service.fail_lifecycle("worker-gpu-a", times=3, message="new image breaks us.")
    start(bed)
    bed.wait(4 + UP)
    assert software(bed) == ("InProgress", OLD, NEW)
    node = bed.nodes()[0]
    assert node["InstanceStatus"]["Status"] == "SystemUpdating"
    assert "new image breaks us." in node["InstanceStatus"]["Message"]
    bed.wait(UP)
    assert software(bed) == ("RollbackInProgress", NEW, OLD)
    bed.wait(UP)
    assert software(bed) == ("RollbackComplete", OLD, OLD)
    assert bed.status() == "InService"
    assert {node["CurrentImageReleaseVersion"] for node in bed.nodes()} == {OLD}
    assert "new image breaks us." in bed.describe()["FailureMessage"]


def test_a_rollback_ends_with_a_success_line_in_the_script_log() -> None:
    bed = pinned()
    bed.service.fail_lifecycle("worker-gpu-a", times=4)
    start(bed)
    bed.wait(4 + 4 * UP)
    assert software(bed)[0] == "RollbackComplete"
    streams = next(iter(bed.logs.streams.values()))
    worker = next(lines for name, lines in streams.items() if bed.instances()[0] in name)
    assert worker[-1] == "[SageMaker] The lifecycle scripts succeeded"
    assert "[SageMaker] The lifecycle scripts failed" in worker


def test_a_rollback_that_fails_too_is_failed_and_the_nodes_are_made_again() -> None:
    bed = pinned()
    bed.service.fail_lifecycle("worker-gpu-a", times=8)
    start(bed)
    bed.wait(4 + 4 * UP)
    assert software(bed)[0] == "Failed"
    assert bed.status() == "InService"
    bed.service.clear_failures()
    bed.wait(5 + 5 + 600 + UP)
    assert bed.counts() == (2, 2)
    assert {node["CurrentImageReleaseVersion"] for node in bed.nodes()} == {OLD}


def test_nothing_else_is_taken_while_software_is_updated() -> None:
    bed = pinned()
    start(bed)
    with refusal("ConflictException", "SystemUpdating"):
        bed.update(workers(3, ImageReleaseVersion=OLD))
    with refusal("ConflictException", "SystemUpdating"):
        bed.client.delete_cluster(ClusterName=NAME)
    with refusal("ConflictException", "SystemUpdating"):
        start(bed)
    bed.wait(4 + UP)
    bed.update(workers(3, ImageReleaseVersion=NEW))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"InstanceGroups": [{"InstanceGroupName": "nobody"}]}, "nobody do not exist"),
        ({"DeploymentConfig": {"WaitIntervalInSeconds": 1}}, "DeploymentConfig is only supported .* EKS"),
    ],
)
def test_a_software_update_that_cannot_be_is_refused(up: Bed, more: dict[str, Any], message: str) -> None:
    with refusal(match=message):
        up.client.update_cluster_software(ClusterName=NAME, **more)


def test_a_custom_image_is_taken_by_its_id() -> None:
    bed = pinned()
    start(bed, OLD, ImageId="ami-0123456789abcdef0")
    bed.wait(4 + UP)
    assert bed.group()["CurrentImageId"] == "ami-0123456789abcdef0"
    node = bed.client.describe_cluster_node(ClusterName=NAME, NodeId=bed.instances()[0])["NodeDetails"]
    assert node["CurrentImageId"] == "ami-0123456789abcdef0"


def test_a_new_group_gets_the_image_of_the_oldest_one() -> None:
    bed = pinned()
    bed.update({**workers(1), "InstanceGroupName": "worker-gpu-b"})
    assert bed.group("worker-gpu-b")["CurrentImageReleaseVersion"] == OLD


def test_the_steps_are_told_by_events() -> None:
    bed = pinned()
    bed.service.fail_lifecycle("worker-gpu-a", times=4)
    start(bed)
    bed.wait(4 + 4 * UP)
    texts = [text for text in bed.descriptions() if "UpdateClusterSoftware" in text]
    assert "has been scheduled" in texts[0]
    assert "initiated" in texts[1]
    assert "Initiating rollback" in texts[2]
