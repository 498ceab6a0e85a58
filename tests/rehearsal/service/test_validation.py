"""What the model allows."""

from typing import Any

import pytest
from botocore.exceptions import ParamValidationError

from hyperpod_constructs.rehearsal.service import ServiceError
from hyperpod_constructs.rehearsal.service.validation import matches, request_problems
from tests.rehearsal.service.support import NAME, Bed, controller, login, refusal, request, workers


@pytest.mark.parametrize("name", ["a_b", "-a", "a-", "a.b", "a" * 64, "ä"])
def test_a_cluster_name_outside_the_pattern_or_the_length_is_refused(bed: Bed, name: str) -> None:
    with refusal(match="clusterName"):
        bed.create(ClusterName=name)


@pytest.mark.parametrize("name", ["a--b", "a", "a" * 63, "A-1"])
def test_a_cluster_name_at_the_limits_is_accepted(bed: Bed, name: str) -> None:
    assert bed.create(ClusterName=name)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"InstanceType": "ml.p9.48xlarge"}, "instanceGroups.3.member.instanceType"),
        ({"InstanceCount": 6759}, "instanceGroups.3.member.instanceCount"),
        ({"ThreadsPerCore": 3}, "instanceGroups.3.member.threadsPerCore"),
        ({"ExecutionRole": "arn:aws:iam::1:role/too-short-account"}, "executionRole"),
        ({"SlurmConfig": {"NodeType": "Worker"}}, "slurmConfig.nodeType"),
        ({"SlurmConfig": {"NodeType": "Compute", "PartitionNames": ["gpu_a"]}}, "partitionNames.1.member"),
        ({"SlurmConfig": {"NodeType": "Compute", "PartitionNames": ["a", "b"]}}, "partitionNames"),
        ({"LifeCycleConfig": {"SourceS3Uri": "ftp://x/y", "OnCreate": "a.sh"}}, "sourceS3Uri"),
        ({"LifeCycleConfig": {"SourceS3Uri": "s3://x/y", "OnCreate": "a" * 129}}, "onCreate"),
        ({"ImageReleaseVersion": "2.1"}, "imageReleaseVersion"),
        ({"InstanceStorageConfigs": [{"EbsVolumeConfig": {"VolumeSizeInGB": 16385}}]}, "volumeSizeInGB"),
        ({"InstanceStorageConfigs": [{"EbsVolumeConfig": {"VolumeSizeInGB": 1}}] * 5}, "instanceStorageConfigs"),
    ],
)
def test_a_value_that_only_the_service_checks_is_refused_with_its_path(
    bed: Bed, change: dict[str, Any], path: str
) -> None:
    with refusal(match=path.replace(".", r"\.")):
        bed.create(controller(), login(), workers(**change))


@pytest.mark.parametrize(
    "change",
    [
        {"ClusterName": 5},
        {"Clustername": "x"},
        {"InstanceGroups": []},
        {"Orchestrator": "Slurm"},
        {"InstanceGroups": [controller(InstanceCount="1")]},
        {"InstanceGroups": [controller(InstanceStorageConfigs=[{"EbsVolumeConfig": {}, "FsxOpenZfsConfig": {}}])]},
    ],
)
def test_what_boto3_refuses_itself_never_reaches_the_service(bed: Bed, change: dict[str, Any]) -> None:
    with pytest.raises(ParamValidationError):
        bed.client.create_cluster(**{**request(), **change})
    assert bed.service.calls == []


def test_a_caller_without_boto3_gets_the_same_refusals_from_the_service(bed: Bed) -> None:
    with pytest.raises(ServiceError, match="Unknown parameter") as caught:
        bed.service.call("CreateCluster", request(Surprise=1))
    assert caught.value.code == "ValidationException"
    assert bed.service.calls[0].error == "ValidationException"


def test_an_update_has_neither_vpc_nor_tags() -> None:
    problems = request_problems("sagemaker", "UpdateCluster", {"ClusterName": NAME, "Tags": [], "VpcConfig": {}})
    assert [problem for problem in problems if "Unknown parameter" in problem]


def test_all_problems_of_a_request_are_told_at_once() -> None:
    problems = request_problems("sagemaker", "CreateCluster", request(workers(ThreadsPerCore=9), ClusterName="-"))
    assert len(problems) == 2


@pytest.mark.parametrize("value", ["Zürich_1", "日本 語", "a:b/c=d+e-f@g.h", "٣", "", "\u2003"])
def test_tags_take_letters_numbers_and_separators_of_any_script(value: str) -> None:
    assert matches(r"([\p{L}\p{Z}\p{N}_.:/=+\-@]*)", value)


@pytest.mark.parametrize("value", ["a*b", "tab\t", "emoji 🚀", "€", "e\u0301", "a\x00"])
def test_tags_take_no_symbols_controls_or_marks(value: str) -> None:
    assert not matches(r"([\p{L}\p{Z}\p{N}_.:/=+\-@]*)", value)


def test_a_digit_of_another_script_is_no_digit_in_a_pattern_of_the_service() -> None:
    assert not matches(r"[0-9]+\.\d+", "1.٣")


def test_a_pattern_must_match_the_whole_value_even_before_a_line_end() -> None:
    assert not matches(r"[a-z]+", "abc\n")


def test_an_operation_that_the_rehearsal_lacks_is_told_by_name(bed: Bed) -> None:
    with pytest.raises(ServiceError, match="ListClusterOperations"):
        bed.service.call("ListClusterOperations", {"ClusterName": NAME})
