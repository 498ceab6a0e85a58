"""The FSx calls."""

from typing import Any

import pytest

from hyperpod_constructs.rehearsal.service import ManualClock, ServiceError
from hyperpod_constructs.rehearsal.service.fsx import FsxService
from hyperpod_constructs.rehearsal.service.model import operation_model
from hyperpod_constructs.rehearsal.service.validation import shape_problems

SUBNET = "subnet-0123456789abcdef0"
Fields = dict[str, Any]


class Fsx(FsxService):
    """Every answer is checked against botocore's output shape."""

    def call(self, operation: str, parameters: Any = None) -> Fields:
        answer = super().call(operation, parameters)
        assert shape_problems(operation_model("fsx", operation).output_shape, answer) == []
        return answer


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def fsx(clock: ManualClock) -> Fsx:
    return Fsx(clock, creation_seconds=10, deletion_seconds=20, seed=1)


def lustre(**configuration: Any) -> Fields:
    given = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250, **configuration}
    return {
        "FileSystemType": "LUSTRE",
        "StorageCapacity": 1200,
        "SubnetIds": [SUBNET],
        "LustreConfiguration": {key: value for key, value in given.items() if value is not None},
    }


def zfs(**configuration: Any) -> Fields:
    given = {"DeploymentType": "SINGLE_AZ_HA_2", "ThroughputCapacity": 160, **configuration}
    return {"FileSystemType": "OPENZFS", "StorageCapacity": 64, "SubnetIds": [SUBNET], "OpenZFSConfiguration": given}


def refused(match: str, code: str = "BadRequest") -> Any:
    return pytest.raises(ServiceError, match=f"^{code}: .*{match}")


def create(fsx: Fsx, request: Fields) -> Fields:
    found: Fields = fsx.call("CreateFileSystem", request)["FileSystem"]
    return found


def test_a_file_system_becomes_available_and_goes_away_again(fsx: Fsx, clock: ManualClock) -> None:
    made = create(fsx, lustre())
    wanted = {"FileSystemIds": [made["FileSystemId"]]}
    assert made["Lifecycle"] == "CREATING"
    clock.advance(10)
    assert fsx.call("DescribeFileSystems", wanted)["FileSystems"][0]["Lifecycle"] == "AVAILABLE"
    assert fsx.call("DeleteFileSystem", {"FileSystemId": made["FileSystemId"]})["Lifecycle"] == "DELETING"
    assert fsx.call("DescribeFileSystems", wanted)["FileSystems"][0]["Lifecycle"] == "DELETING"
    clock.advance(20)
    with refused("does not exist", "FileSystemNotFound"):
        fsx.call("DescribeFileSystems", wanted)
    assert fsx.call("DescribeFileSystems")["FileSystems"] == []


def test_a_lustre_file_system_has_what_the_cluster_needs(fsx: Fsx) -> None:
    made = create(fsx, lustre())
    assert made["DNSName"] == f"{made['FileSystemId']}.fsx.us-east-1.amazonaws.com"
    assert len(made["LustreConfiguration"]["MountName"]) == 8
    assert made["ResourceARN"] == f"arn:aws:fsx:us-east-1:123456789012:file-system/{made['FileSystemId']}"


def test_the_first_scratch_type_is_the_default_and_is_mounted_as_fsx(fsx: Fsx) -> None:
    made = create(fsx, {"FileSystemType": "LUSTRE", "StorageCapacity": 1200, "SubnetIds": [SUBNET]})
    assert made["LustreConfiguration"] == {"DeploymentType": "SCRATCH_1", "MountName": "fsx"}


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (lustre(), "2.12"),
        (lustre(MetadataConfiguration={"Mode": "AUTOMATIC"}), "2.15"),
        (lustre(DeploymentType="SCRATCH_2", PerUnitStorageThroughput=None), "2.10"),
        ({**lustre(), "FileSystemTypeVersion": "2.15"}, "2.15"),
    ],
)
def test_the_version_has_its_default(fsx: Fsx, request_: Fields, version: str) -> None:
    assert create(fsx, request_)["FileSystemTypeVersion"] == version


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (lustre(PerUnitStorageThroughput=None), "must be one of 125, 250, 500, 1000, got None"),
        (lustre(PerUnitStorageThroughput=200), "must be one of 125, 250, 500, 1000, got 200"),
        (lustre(DeploymentType="PERSISTENT_1"), "must be one of 50, 100, 200, got 250"),
        (lustre(DeploymentType="SCRATCH_2"), "PerUnitStorageThroughput is not supported with SCRATCH_2"),
        ({**lustre(), "StorageCapacity": 3600}, "1200, 2400 or a multiple of 2400 GiB, got 3600"),
        ({**lustre(), "StorageCapacity": 1300}, "got 1300"),
        ({key: value for key, value in lustre().items() if key != "StorageCapacity"}, "StorageCapacity is required"),
        ({**lustre(), "SubnetIds": [SUBNET, SUBNET]}, "exactly one subnet for Lustre, got 2"),
        ({**lustre(), "StorageType": "HDD"}, "HDD is only supported with PERSISTENT_1"),
        (
            {**lustre(DeploymentType="PERSISTENT_1", PerUnitStorageThroughput=12), "StorageType": "HDD"},
            "multiple of 6000",
        ),
        (
            {**lustre(DeploymentType="PERSISTENT_1", PerUnitStorageThroughput=40), "StorageType": "HDD"},
            "multiple of 1800",
        ),
        ({**lustre(), "FileSystemTypeVersion": "2.10"}, "2.10 is not supported with PERSISTENT_2"),
        ({**lustre(), "FileSystemTypeVersion": "2.11"}, "must be 2.10, 2.12 or 2.15"),
        (lustre(EfaEnabled=True), "EfaEnabled needs PERSISTENT_2 with MetadataConfiguration"),
        (lustre(EfaEnabled=True, MetadataConfiguration={"Mode": "AUTOMATIC"}), "multiple of 19200 GiB"),
        (
            lustre(
                DeploymentType="SCRATCH_2", PerUnitStorageThroughput=None, MetadataConfiguration={"Mode": "AUTOMATIC"}
            ),
            "MetadataConfiguration is only supported with PERSISTENT_2",
        ),
        (
            {**lustre(DeploymentType="SCRATCH_2", PerUnitStorageThroughput=None), "KmsKeyId": "k"},
            "KmsKeyId is only supported with persistent",
        ),
        (
            lustre(DeploymentType="SCRATCH_2", PerUnitStorageThroughput=None, AutomaticBackupRetentionDays=1),
            "Automatic backups are only supported with persistent",
        ),
        ({**lustre(), "StorageType": "INTELLIGENT_TIERING"}, "StorageCapacity cannot be given"),
        ({**zfs(), "StorageCapacity": 63}, "64 to 524288 GiB, got 63"),
        (zfs(ThroughputCapacity=128), "must be one of 160, 320"),
        (zfs(DeploymentType="MULTI_AZ_1"), "needs two subnets and PreferredSubnetId"),
        ({**zfs(), "SubnetIds": [SUBNET, SUBNET]}, "exactly one subnet with SINGLE_AZ_HA_2"),
        ({"FileSystemType": "OPENZFS", "SubnetIds": [SUBNET]}, "OpenZFSConfiguration is required"),
        ({"FileSystemType": "WINDOWS", "SubnetIds": [SUBNET]}, "LUSTRE and OPENZFS only"),
        ({**lustre(), "SubnetIds": ["subnet-not-hexadecimal"]}, "subnetIds.1.member"),
        ({**lustre(), "Surprise": 1}, "Unknown parameter"),
    ],
)
def test_a_file_system_that_the_guide_forbids_is_refused(fsx: Fsx, request_: Fields, message: str) -> None:
    with refused(message):
        create(fsx, request_)
    assert fsx.call("DescribeFileSystems")["FileSystems"] == []


@pytest.mark.parametrize(
    "request_",
    [
        {**lustre(), "StorageCapacity": 2400},
        {**lustre(), "StorageCapacity": 4800},
        {**lustre(DeploymentType="SCRATCH_1", PerUnitStorageThroughput=None), "StorageCapacity": 3600},
        {**lustre(EfaEnabled=True, MetadataConfiguration={"Mode": "AUTOMATIC"}), "StorageCapacity": 19200},
        {
            "FileSystemType": "LUSTRE",
            "StorageType": "INTELLIGENT_TIERING",
            "SubnetIds": [SUBNET],
            "LustreConfiguration": {
                "DeploymentType": "PERSISTENT_2",
                "ThroughputCapacity": 8000,
                "DataReadCacheConfiguration": {"SizingMode": "NO_CACHE"},
                "MetadataConfiguration": {"Mode": "AUTOMATIC"},
            },
        },
    ],
)
def test_a_file_system_at_the_limits_is_made(fsx: Fsx, request_: Fields) -> None:
    assert create(fsx, request_)["FileSystemId"].startswith("fs-")


def test_an_open_zfs_file_system_has_a_root_volume(fsx: Fsx) -> None:
    made = create(fsx, zfs(RootVolumeConfiguration={"DataCompressionType": "LZ4"}))
    assert made["OpenZFSConfiguration"]["RootVolumeId"].startswith("fsvol-")
    assert made["DNSName"].startswith("fs-")


def test_storage_grows_and_never_shrinks(fsx: Fsx, clock: ManualClock) -> None:
    made = create(fsx, lustre())["FileSystemId"]
    with refused("lifecycle CREATING"):
        fsx.call("UpdateFileSystem", {"FileSystemId": made, "StorageCapacity": 2400})
    clock.advance(10)
    for capacity, message in ((1200, "can only grow"), (600, "can only grow"), (3600, "multiple of 2400")):
        with refused(message):
            fsx.call("UpdateFileSystem", {"FileSystemId": made, "StorageCapacity": capacity})
    grown = fsx.call("UpdateFileSystem", {"FileSystemId": made, "StorageCapacity": 2400})["FileSystem"]
    assert (grown["Lifecycle"], grown["StorageCapacity"]) == ("UPDATING", 2400)
    clock.advance(10)
    assert fsx.call("DescribeFileSystems")["FileSystems"][0]["Lifecycle"] == "AVAILABLE"


def test_file_systems_are_listed_in_pages(fsx: Fsx) -> None:
    for _ in range(3):
        create(fsx, lustre())
    first = fsx.call("DescribeFileSystems", {"MaxResults": 2})
    second = fsx.call("DescribeFileSystems", {"MaxResults": 2, "NextToken": first["NextToken"]})
    assert (len(first["FileSystems"]), len(second["FileSystems"])) == (2, 1)


def link(fsx: Fsx, file_system: str, path: str = "/data", bucket: str = "s3://bucket/a") -> Fields:
    request = {"FileSystemId": file_system, "FileSystemPath": path, "DataRepositoryPath": bucket}
    found: Fields = fsx.call("CreateDataRepositoryAssociation", request)["Association"]
    return found


@pytest.fixture
def linked(fsx: Fsx, clock: ManualClock) -> str:
    made = str(create(fsx, lustre())["FileSystemId"])
    clock.advance(10)
    link(fsx, made)
    return made


def test_a_link_lives_and_dies(fsx: Fsx, clock: ManualClock, linked: str) -> None:
    clock.advance(10)
    wanted = {"Filters": [{"Name": "file-system-id", "Values": [linked]}]}
    found = fsx.call("DescribeDataRepositoryAssociations", wanted)["Associations"][0]
    assert (found["Lifecycle"], found["ImportedFileChunkSize"]) == ("AVAILABLE", 1024)
    fsx.call("DeleteDataRepositoryAssociation", {"AssociationId": found["AssociationId"]})
    clock.advance(20)
    with refused("does not exist", "DataRepositoryAssociationNotFound"):
        fsx.call("DescribeDataRepositoryAssociations", {"AssociationIds": [found["AssociationId"]]})


def test_a_link_goes_with_its_file_system(fsx: Fsx, clock: ManualClock, linked: str) -> None:
    fsx.call("DeleteFileSystem", {"FileSystemId": linked})
    clock.advance(20)
    assert fsx.call("DescribeDataRepositoryAssociations")["Associations"] == []


@pytest.mark.parametrize("path", ["/", "/data", "/data/", "/data/deep"])
def test_links_do_not_overlap(fsx: Fsx, linked: str, path: str) -> None:
    with refused("overlaps /data/"):
        link(fsx, linked, path, "s3://bucket/b")


def test_a_bucket_path_is_linked_once(fsx: Fsx, linked: str) -> None:
    with refused("is linked already"):
        link(fsx, linked, "/other", "s3://bucket/a/")
    assert link(fsx, linked, "/datasets", "s3://bucket/b")


def test_a_file_system_has_eight_links_at_most(fsx: Fsx, linked: str) -> None:
    for number in range(7):
        link(fsx, linked, f"/p{number}", f"s3://bucket/p{number}")
    with refused("at most 8"):
        link(fsx, linked, "/p8", "s3://bucket/p8")


def test_links_need_lustre_of_a_later_kind(fsx: Fsx, clock: ManualClock) -> None:
    made = [create(fsx, zfs()), create(fsx, lustre(DeploymentType="SCRATCH_1", PerUnitStorageThroughput=None))]
    clock.advance(10)
    for file_system in made:
        with refused("only supported with Lustre 2.12 and later, except SCRATCH_1"):
            link(fsx, file_system["FileSystemId"])


def test_tags_are_kept_changed_and_removed(fsx: Fsx) -> None:
    arn = create(fsx, {**lustre(), "Tags": [{"Key": "a", "Value": "1"}]})["ResourceARN"]
    fsx.call("TagResource", {"ResourceARN": arn, "Tags": [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": "3"}]})
    tags = fsx.call("ListTagsForResource", {"ResourceARN": arn})["Tags"]
    assert tags == [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": "3"}]
    fsx.call("UntagResource", {"ResourceARN": arn, "TagKeys": ["a", "b"]})
    assert fsx.call("ListTagsForResource", {"ResourceARN": arn}) == {}
    with refused("does not exist", "ResourceNotFound"):
        fsx.call("TagResource", {"ResourceARN": arn + "0", "Tags": [{"Key": "a", "Value": "2"}]})


def test_calls_are_recorded_and_faults_strike(fsx: Fsx) -> None:
    fsx.faults.add("CreateFileSystem", "throttling")
    with refused("Rate exceeded", "ThrottlingException"):
        create(fsx, lustre())
    create(fsx, lustre())
    assert [(call.operation, call.error) for call in fsx.calls] == [
        ("CreateFileSystem", "ThrottlingException"),
        ("CreateFileSystem", None),
    ]
    with refused("has no operation CopyBackup", "UnknownOperationException"):
        fsx.call("CopyBackup")
