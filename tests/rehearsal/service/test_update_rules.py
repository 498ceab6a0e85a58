"""What UpdateCluster allows, and when."""

from typing import Any

import pytest

from hyperpod_constructs.rehearsal.service import ServiceError
from tests.rehearsal.service.support import NAME, ROLE, UP, Bed, controller, group, login, refusal, workers
from tests.rehearsal.service.test_creation_rules import DATABASE, EBS, LUSTRE

OWN = {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"InstanceType": "ml.p5e.48xlarge"}, "InstanceType"),
        ({"ExecutionRole": ROLE + "2"}, "ExecutionRole"),
        ({"ThreadsPerCore": 1}, "ThreadsPerCore"),
        ({"ThreadsPerCore": None}, "ThreadsPerCore"),
        ({"OverrideVpcConfig": OWN}, "OverrideVpcConfig"),
        ({"SlurmConfig": {"NodeType": "Compute", "PartitionNames": ["other"]}}, "SlurmConfig"),
        ({"SlurmConfig": {"NodeType": "Login"}}, "SlurmConfig"),
        ({"InstanceStorageConfigs": [{EBS: {"VolumeSizeInGB": 9, "VolumeKmsKeyId": "k"}}]}, "VolumeKmsKeyId"),
    ],
)
def test_what_is_fixed_for_a_group_cannot_be_changed(up: Bed, change: dict[str, Any], field: str) -> None:
    with refusal(match=f"{field} of instance group worker-gpu-a cannot be changed"):
        up.update(workers(6, **change))
    assert up.counts() == (4, 4)


@pytest.mark.parametrize(
    "change",
    [
        {"LifeCycleConfig": {"SourceS3Uri": "s3://sagemaker-bucket/newer/", "OnCreate": "on_create.sh"}},
        {"LifeCycleConfig": None},
        {"InstanceStorageConfigs": [{EBS: {"VolumeSizeInGB": 9}}, LUSTRE]},
    ],
)
def test_what_concerns_new_nodes_only_is_taken_and_old_nodes_keep_theirs(up: Bed, change: dict[str, Any]) -> None:
    before = up.nodes()[0]["InstanceId"]
    up.update(workers(5, **change))
    up.clock.advance(UP)
    old = up.client.describe_cluster_node(ClusterName=NAME, NodeId=before)["NodeDetails"]
    new = up.client.describe_cluster_node(ClusterName=NAME, NodeId=up.nodes()[-1]["InstanceId"])["NodeDetails"]
    field = next(iter(change))
    assert old.get(field) != new.get(field)
    assert old["LifeCycleConfig"] == workers()["LifeCycleConfig"]


def test_groups_that_an_update_does_not_name_stay_as_they_are(up: Bed) -> None:
    up.update(workers(6))
    assert set(up.picture()) == {"controller-group", "login-group", "worker-gpu-a"}
    assert up.counts("login-group") == (1, 1)


def test_a_group_is_added_and_comes_up_while_the_cluster_stays_in_service(up: Bed) -> None:
    up.update(group("worker-gpu-b", count=2))
    assert up.status() == "InService"
    up.clock.advance(UP)
    assert up.picture()["worker-gpu-b"] == ("InService", 2, 2)


def test_a_group_is_removed_after_its_nodes_are_gone(up: Bed) -> None:
    up.update(InstanceGroupsToDelete=["worker-gpu-a"])
    assert up.picture()["worker-gpu-a"] == ("Deleting", 4, 0)
    up.clock.advance(5)
    assert set(up.picture()) == {"controller-group", "login-group"}
    assert up.status() == "InService"


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"InstanceGroupsToDelete": ["controller-group"]}, "node type Controller cannot be deleted"),
        ({"InstanceGroupsToDelete": ["nobody"]}, "nobody does not exist"),
        (
            {"InstanceGroups": [workers(1)], "InstanceGroupsToDelete": ["worker-gpu-a"]},
            "both InstanceGroups and InstanceGroupsToDelete",
        ),
        ({"InstanceGroups": [group("second", "Controller")]}, "exactly one InstanceGroup with Controller"),
        ({"InstanceGroups": [group("other-login", "Login")]}, "at most one InstanceGroup with Login"),
        ({"InstanceGroups": [workers(2, MinInstanceCount=3)]}, "MinInstanceCount"),
        ({"InstanceGroups": [workers(2), workers(3)]}, "used 2 times"),
        ({"Orchestrator": {"Slurm": {"SlurmConfigStrategy": "Managed"}}}, "SlurmConfigStrategy is not supported"),
        (
            {"Orchestrator": {"Eks": {"ClusterArn": "arn:aws:eks:us-east-1:123456789012:cluster/x"}}},
            "Orchestrator .* cannot be changed",
        ),
        ({"ClusterRole": ROLE}, "EKS"),
    ],
)
def test_an_update_that_the_guide_forbids_is_refused(up: Bed, update: dict[str, Any], message: str) -> None:
    before = up.describe()
    with refusal(match=message):
        up.client.update_cluster(ClusterName=NAME, **update)
    after = up.describe()
    assert {**before, "ResponseMetadata": None} == {**after, "ResponseMetadata": None}


def test_a_login_group_can_be_exchanged_in_one_call(up: Bed) -> None:
    up.update(group("login-2", "Login"), InstanceGroupsToDelete=["login-group"])
    up.clock.advance(UP)
    assert set(up.picture()) == {"controller-group", "worker-gpu-a", "login-2"}


def test_an_accounting_database_is_added_shown_with_defaults_and_never_removed(up: Bed) -> None:
    up.update(Orchestrator={"Slurm": {"AccountingDatabase": DATABASE}})
    shown = up.describe()
    cluster_id = shown["ClusterArn"].rpartition("/")[2]
    expected = {**DATABASE, "Port": 3306, "Name": f"slurm_acct_db_{cluster_id}"}
    assert shown["Orchestrator"]["Slurm"]["AccountingDatabase"] == expected
    assert "Advisory" in up.metadata(up.events()[-1])["DatabaseConfiguration"]
    with refusal(match="AccountingDatabase cannot be removed"):
        up.update(Orchestrator={"Slurm": {}})
    up.update(workers(5))


@pytest.mark.parametrize(("status", "kept"), [("NotApplicable", False), ("Reverted", False), ("RevertFailed", True)])
def test_a_change_of_the_accounting_database_can_fail(up: Bed, status: Any, kept: bool) -> None:
    up.service.fail_accounting("Access denied for user slurm", status)
    up.update(Orchestrator={"Slurm": {"AccountingDatabase": DATABASE}})
    assert ("AccountingDatabase" in up.describe()["Orchestrator"]["Slurm"]) is kept
    metadata = up.metadata(up.events()[-1])["DatabaseConfiguration"]
    assert metadata == {"RollbackStatus": status, "FailureMessage": "Access denied for user slurm"}
    assert (up.status(), up.describe()["FailureMessage"]) == ("InService", "Access denied for user slurm")
    up.update(Orchestrator={"Slurm": {"AccountingDatabase": DATABASE}})
    assert "AccountingDatabase" in up.describe()["Orchestrator"]["Slurm"]


def test_an_update_of_a_cluster_that_is_being_created_may_only_correct_counts(bed: Bed) -> None:
    bed.create(controller(), login(), workers(4, MinInstanceCount=4))
    bed.update(workers(2, MinInstanceCount=1))
    with refusal("ConflictException", "only counts"):
        bed.update(workers(2, MinInstanceCount=1, LifeCycleConfig=None))
    with refusal("ConflictException", "cannot be added"):
        bed.update(group("worker-gpu-b"))
    with refusal("ConflictException", "only counts"):
        bed.update(NodeRecovery="None")
    bed.clock.advance(60)
    assert bed.picture()["worker-gpu-a"] == ("InService", 2, 2)


def test_a_group_that_is_being_deleted_can_be_neither_changed_nor_deleted_again(up: Bed) -> None:
    up.update(InstanceGroupsToDelete=["worker-gpu-a"])
    with refusal("ConflictException", "being deleted"):
        up.update(workers(1))
    with refusal("ConflictException", "being deleted"):
        up.update(InstanceGroupsToDelete=["worker-gpu-a"])


def test_a_group_with_a_node_that_is_being_replaced_is_busy_and_the_others_are_not(up: Bed) -> None:
    up.update(group("worker-gpu-b"))
    up.client.batch_replace_cluster_nodes(ClusterName=NAME, NodeIds=[up.nodes()[0]["InstanceId"]])
    with refusal("ConflictException", "worker-gpu-a has a node that is being replaced"):
        up.update(workers(5))
    up.update(group("worker-gpu-b", count=2))
    up.clock.advance(5 + UP)
    up.update(workers(5))


@pytest.mark.parametrize("operation", ["UpdateCluster", "DeleteCluster", "DescribeCluster", "ListClusterNodes"])
def test_a_cluster_that_does_not_exist_is_told_without_the_suffix_exception(bed: Bed, operation: str) -> None:
    with pytest.raises(ServiceError) as caught:
        bed.service.call(operation, {"ClusterName": "nobody"})
    assert caught.value.code == "ResourceNotFound"


def test_the_legacy_file_rolls_an_update_back() -> None:
    files: list[str] = []
    bed = Bed(object_lister=lambda _: files)
    bed.create_and_wait()
    files.append("scripts/provisioning_parameters.json")
    bed.update(workers(9))
    assert bed.status() == "RollingBack"
    with refusal("ConflictException", "RollingBack"):
        bed.update(workers(9))
    bed.clock.advance(3)
    shown = bed.describe()
    assert (shown["ClusterStatus"], bed.counts()) == ("InService", (4, 4))
    assert "provisioning_parameters.json" in shown["FailureMessage"]


def test_the_mode_of_a_continuous_cluster_may_be_repeated_and_of_another_not_be_set(bed: Bed) -> None:
    bed.create_and_wait()
    bed.update(NodeProvisioningMode="Continuous")
    other = Bed()
    other.create_and_wait(NodeProvisioningMode=None)
    with refusal(match="NodeProvisioningMode of cluster .* cannot be changed"):
        other.update(NodeProvisioningMode="Continuous")


def test_a_failed_cluster_can_only_be_deleted(bed: Bed) -> None:
    bed.service.fail_lifecycle("controller-group")
    bed.create_and_wait()
    with refusal("ConflictException", "Failed"):
        bed.update(workers(1))
    bed.client.delete_cluster(ClusterName=NAME)
    bed.clock.advance(10)
    with refusal("ResourceNotFound"):
        bed.describe()


def test_the_arn_is_as_good_as_the_name(up: Bed) -> None:
    arn = up.describe()["ClusterArn"]
    up.client.update_cluster(ClusterName=arn, InstanceGroups=[workers(5)])
    assert up.client.delete_cluster(ClusterName=arn)["ClusterArn"] == arn


def test_login_groups_may_have_several_nodes(up: Bed) -> None:
    up.update(login(InstanceCount=3))
    up.clock.advance(UP)
    assert up.counts("login-group") == (3, 3)


def test_the_controller_stays_a_single_node(up: Bed) -> None:
    with refusal(match="InstanceCount 1, multi-head"):
        up.update(controller(InstanceCount=2))
