"""The documented rules for CreateCluster."""

from typing import Any

import pytest

from hyperpod_constructs.rehearsal.service import Assumptions, Quotas
from tests.rehearsal.service.support import NAME, Bed, controller, group, login, refusal, request, workers

LUSTRE = {"FsxLustreConfig": {"DnsName": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com", "MountName": "abcdefgh"}}
OPEN_ZFS = {"FsxOpenZfsConfig": {"DnsName": "fs-0123456789abcdef1.fsx.us-east-1.amazonaws.com"}}
DATABASE = {"Endpoint": "db.example.com", "SecretArn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:db-abc"}
TAG = {"Key": "team", "Value": "a"}
EBS = "EbsVolumeConfig"


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([login(), workers()], "Cluster must have exactly one InstanceGroup with Controller node type"),
        (
            [controller(), group("second", "Controller"), workers()],
            "Cluster must have exactly one InstanceGroup with Controller node type",
        ),
        ([controller(), login(), group("other", "Login")], "at most one InstanceGroup with Login node type, got 2"),
        ([controller(InstanceCount=2)], "must have InstanceCount 1, multi-head"),
        ([controller(InstanceCount=0, MinInstanceCount=0)], "must have InstanceCount 1"),
        ([controller(), workers(), workers()], "worker-gpu-a is used 2 times"),
        ([controller(), workers(SlurmConfig=None)], "worker-gpu-a must have a SlurmConfig"),
        ([controller(), workers(SlurmConfig={"NodeType": "Compute"})], "must have a partition"),
        (
            [controller(SlurmConfig={"NodeType": "Controller", "PartitionNames": ["x"]})],
            "Partitions can only be assigned to Compute node types",
        ),
        ([controller(), workers(4, MinInstanceCount=5)], r"MinInstanceCount \(5\) .* InstanceCount \(4\)"),
        ([controller(InstanceType=None)], "exactly one of InstanceType and InstanceRequirements"),
        (
            [controller(InstanceRequirements={"InstanceTypes": ["ml.m5.xlarge"]})],
            "exactly one of InstanceType and InstanceRequirements",
        ),
        ([controller(LifeCycleConfig={})], "is provided but contains no configuration"),
        ([controller(LifeCycleConfig={"OnCreate": "a.sh"})], "LifeCycleConfig for instance group .* is incomplete"),
        ([controller(LifeCycleConfig={"SourceS3Uri": "s3://a/b"})], "is incomplete"),
        (
            [controller(LifeCycleConfig={"SourceS3Uri": "s3://a/b", "OnCreate": "a", "OnInitComplete": "b"})],
            "OnCreate and OnInitComplete in LifeCycleConfig are mutually exclusive",
        ),
        ([controller(InstanceStorageConfigs=[LUSTRE, LUSTRE])], "2 of FsxLustreConfig, at most one"),
        ([controller(InstanceStorageConfigs=[OPEN_ZFS, OPEN_ZFS])], "2 of FsxOpenZfsConfig, at most one"),
        ([controller(InstanceStorageConfigs=[{EBS: {"VolumeSizeInGB": 1}}] * 2)], "2 of secondary EbsVolumeConfig"),
        ([controller(InstanceStorageConfigs=[{EBS: {}}])], "secondary volume .* must have VolumeSizeInGB"),
        ([controller(InstanceStorageConfigs=[{EBS: {"RootVolume": True}}])], "must have VolumeKmsKeyId and no"),
        (
            [
                controller(
                    InstanceStorageConfigs=[{EBS: {"RootVolume": True, "VolumeSizeInGB": 9, "VolumeKmsKeyId": "k"}}]
                )
            ],
            "must have VolumeKmsKeyId and no VolumeSizeInGB",
        ),
        ([controller(), workers(KubernetesConfig={"Labels": {"a": "b"}})], "only supported .* EKS"),
        ([controller(), workers(AutoPatchConfig={"PatchingStrategy": "DrainFirst"})], "DrainFirst is only .* EKS"),
    ],
)
def test_groups_that_the_guide_forbids_are_refused(bed: Bed, groups: list[dict[str, Any]], message: str) -> None:
    with refusal(match=message):
        bed.create(*groups)
    assert bed.client.list_clusters()["ClusterSummaries"] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Orchestrator": {"Slurm": {"SlurmConfigStrategy": "Merge"}}}, "SlurmConfigStrategy is not supported"),
        ({"Orchestrator": {}}, "exactly one of Eks and Slurm"),
        ({"Orchestrator": None}, "needs Orchestrator.Slurm"),
        ({"AutoScaling": {"Mode": "Enable"}}, "AutoScaling is only supported .* EKS"),
        ({"Tags": [TAG, TAG]}, "team is given 2 times"),
        ({"Tags": [{"Key": "aws:x", "Value": ""}]}, "aws: prefixed"),
    ],
)
def test_a_request_that_the_guide_forbids_is_refused(bed: Bed, change: dict[str, Any], message: str) -> None:
    with refusal(match=message):
        bed.create(**change)


@pytest.mark.parametrize("storage", [LUSTRE, OPEN_ZFS])
def test_a_file_system_needs_a_vpc_of_ones_own(bed: Bed, storage: dict[str, Any]) -> None:
    with refusal(match="FSx configurations are only supported for Custom VPC"):
        bed.create(controller(InstanceStorageConfigs=[storage]), VpcConfig=None)


def test_subnets_of_a_group_need_a_vpc_of_ones_own(bed: Bed) -> None:
    own = {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}
    with refusal(match="OverrideVpcConfig .* only supported for Custom VPC"):
        bed.create(controller(OverrideVpcConfig=own), VpcConfig=None)


def test_every_kind_of_storage_once_is_accepted(bed: Bed) -> None:
    volumes = [{EBS: {"RootVolume": True, "VolumeKmsKeyId": "k"}}, {EBS: {"VolumeSizeInGB": 500}}]
    assert bed.create(controller(InstanceStorageConfigs=[*volumes, LUSTRE, OPEN_ZFS]))


def test_two_groups_may_share_a_partition(bed: Bed) -> None:
    assert bed.create(controller(), workers(), group("worker-gpu-b"))


@pytest.mark.parametrize("release", ["2.1.0", "1.9.9"])
def test_an_accounting_database_needs_an_image_of_september(bed: Bed, release: str) -> None:
    slurm = {"Slurm": {"AccountingDatabase": DATABASE}}
    with refusal(match=f"released after August 30, 2026, the controller pins {release}"):
        bed.create(controller(ImageReleaseVersion=release), Orchestrator=slurm)
    assert bed.create(controller(ImageReleaseVersion="2.1.1"), Orchestrator=slurm)


@pytest.mark.parametrize(
    ("more", "groups"),
    [
        ({"Orchestrator": {"Slurm": {"AccountingDatabase": DATABASE}}}, [controller(), workers()]),
        ({}, [controller(), workers(MinInstanceCount=1)]),
        ({}, [controller(InstanceStorageConfigs=[{EBS: {"RootVolume": True, "VolumeKmsKeyId": "k"}}])]),
    ],
)
def test_what_needs_continuous_provisioning_is_refused_without_it(
    bed: Bed, more: dict[str, Any], groups: list[dict[str, Any]]
) -> None:
    with refusal(match="Continuous as the NodeProvisioningMode"):
        bed.create(*groups, NodeProvisioningMode=None, **more)


def test_a_name_in_use_is_told_by_its_own_error(up: Bed) -> None:
    with refusal("ResourceInUse", NAME):
        up.create()


def test_a_name_is_in_use_until_the_deletion_ends(up: Bed) -> None:
    up.client.delete_cluster(ClusterName=NAME)
    with refusal("ResourceInUse"):
        up.create()
    up.clock.advance(10)
    assert up.create()


@pytest.mark.parametrize(
    ("quotas", "limit"),
    [
        (Quotas(instances_of_type={"ml.p5.48xlarge": 3}), "ml.p5.48xlarge for cluster usage' is 3 Instances"),
        (Quotas(instances_per_cluster=5), "is 5 Instances"),
        (Quotas(instances_in_total=5), "is 5 Instances"),
    ],
)
def test_a_request_above_a_quota_is_refused(quotas: Quotas, limit: str) -> None:
    with refusal("ResourceLimitExceeded", limit):
        Bed(quotas=quotas).create()


def test_a_quota_counts_what_other_clusters_have() -> None:
    bed = Bed(quotas=Quotas(instances_of_type={"ml.p5.48xlarge": 7}))
    bed.create()
    with refusal("ResourceLimitExceeded", "current utilization of 4 Instances and a request delta of 4"):
        bed.create(ClusterName="another")


def test_a_quota_refuses_an_update_and_an_addition() -> None:
    bed = Bed(quotas=Quotas(instances_of_type={"ml.p5.48xlarge": 5}))
    bed.create_and_wait()
    with refusal("ResourceLimitExceeded"):
        bed.update(workers(6))
    with refusal("ResourceLimitExceeded"):
        added = [{"InstanceGroupName": "worker-gpu-a", "IncrementTargetCountBy": 2}]
        bed.client.batch_add_cluster_nodes(ClusterName=NAME, NodesToAdd=added)
    bed.update(workers(5))
    assert bed.counts() == (4, 5)


def keys_of(found: dict[str, list[str]]) -> Any:
    return lambda uri: found.get(uri, [])


@pytest.mark.parametrize(
    "place", ["scripts/provisioning_parameters.json", "scripts/deep/er/provisioning_parameters.json"]
)
def test_the_legacy_file_under_any_groups_scripts_fails_the_creation(place: str) -> None:
    bed = Bed(object_lister=keys_of({"s3://sagemaker-other/x/": [place], "s3://sagemaker-bucket/scripts/": ["a.sh"]}))
    scripts = {"SourceS3Uri": "s3://sagemaker-other/x/", "OnCreate": "a.sh"}
    bed.create(controller(), login(), workers(LifeCycleConfig=scripts))
    bed.clock.advance(3)
    shown = bed.describe()
    assert shown["ClusterStatus"] == "Failed"
    assert (
        "cannot include both a SLURM Orchestrator Config and a provisioning_parameters.json" in shown["FailureMessage"]
    )
    assert bed.nodes("controller-group") == []


def test_a_file_of_a_similar_name_is_no_legacy_file() -> None:
    bed = Bed(object_lister=lambda _: ["my_provisioning_parameters.json", "provisioning_parameters.json.txt"])
    bed.create_and_wait()
    assert bed.status() == "InService"


def test_a_request_that_says_no_mode_gets_the_one_that_is_assumed() -> None:
    plain = request(NodeProvisioningMode=None)
    for continuous in (True, False):
        bed = Bed(assumptions=Assumptions(continuous_by_default=continuous))
        bed.client.create_cluster(**plain)
        assert ("NodeProvisioningMode" in bed.describe()) is continuous
