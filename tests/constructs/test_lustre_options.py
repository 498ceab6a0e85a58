"""What FSx for Lustre would refuse is refused at synth time, in its own numbers; what it takes reaches the template."""

from typing import Any

import pytest
from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from hyperpod_constructs import (
    ClusterNetwork,
    DataEvent,
    DataRepository,
    LustreDeploymentType,
    LustreFileSystem,
    LustreStorageType,
    SpecError,
)
from tests.constructs.support import Synthesized

SCRATCH_1, SCRATCH_2 = LustreDeploymentType.SCRATCH_1, LustreDeploymentType.SCRATCH_2
P1 = LustreDeploymentType.PERSISTENT_1
HDD, TIERING = LustreStorageType.HDD, LustreStorageType.INTELLIGENT_TIERING


def _file_system(stack: Stack, **options: Any) -> LustreFileSystem:
    network = ClusterNetwork(stack, "Network", flow_logs=False)
    return LustreFileSystem(stack, "Data", network=network, removal_policy=RemovalPolicy.DESTROY, **options)


def _properties(stack: Stack) -> dict[str, Any]:
    _, resource = Synthesized(stack).only("AWS::FSx::FileSystem")
    return dict(resource["Properties"])


@pytest.mark.parametrize(
    ("options", "path", "words"),
    [
        ({"deployment_type": SCRATCH_1, "capacity_gib": 4800}, "capacity_gib", "a multiple of 3600; use 3600"),
        ({"deployment_type": P1, "storage_type": HDD, "capacity_gib": 6000}, "capacity_gib", "1800"),
        (
            {"deployment_type": P1, "storage_type": HDD, "throughput_mb_per_s_per_tib": 12, "capacity_gib": 1800},
            "capacity_gib",
            "a multiple of 6000; use 6000",
        ),
        ({"storage_type": HDD}, "storage_type", "SSD, INTELLIGENT_TIERING"),
        ({"deployment_type": P1, "throughput_mb_per_s_per_tib": 250}, "throughput_mb_per_s_per_tib", "50, 100, 200"),
        ({"deployment_type": SCRATCH_2, "throughput_mb_per_s_per_tib": 200}, "throughput_mb_per_s_per_tib", "none"),
        ({"storage_type": TIERING, "throughput_mb_per_s": 4000, "capacity_gib": 1200}, "capacity_gib", "none"),
        ({"storage_type": TIERING}, "throughput_mb_per_s", "4000 or a multiple"),
        ({"storage_type": TIERING, "throughput_mb_per_s": 6000}, "throughput_mb_per_s", "up to 2000000"),
        (
            {"storage_type": TIERING, "throughput_mb_per_s": 4000, "read_cache_gib": 16},
            "read_cache_gib",
            "32 to 131072 at 4000 MB/s",
        ),
        ({"read_cache_gib": 32}, "read_cache_gib", "INTELLIGENT_TIERING only"),
        ({"metadata_iops": 2000}, "metadata_iops", "1500, 3000, 6000, 12000"),
        ({"metadata_iops": 204000}, "metadata_iops", "up to 192000"),
        ({"deployment_type": P1, "metadata_iops": 3000}, "metadata_iops", "PERSISTENT_2 only"),
        ({"efa": True, "capacity_gib": 2400}, "capacity_gib", "a multiple of 19200, whole servers; use 19200"),
        ({"efa": True, "deployment_type": P1}, "efa", "PERSISTENT_2 only"),
        ({"version": "2.10"}, "version", "2.15"),
        ({"version": "2.16", "deployment_type": P1}, "version", "2.10, 2.12, 2.15"),
        ({"backup_retention_days": 91}, "backup_retention_days", "0 to 90"),
        ({"backup_retention_days": 7, "deployment_type": SCRATCH_2}, "backup_retention_days", "persistent types"),
        ({"backup_start_time": "03:00"}, "backup_start_time", "without backup_retention_days"),
        ({"backup_start_time": "3:00", "backup_retention_days": 1}, "backup_start_time", "HH:MM"),
        ({"maintenance_start_time": "0:03:00"}, "maintenance_start_time", "1 is Monday"),
    ],
)
def test_an_option_that_fsx_would_refuse_is_refused_before(
    stack: Stack, options: dict[str, Any], path: str, words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        _file_system(stack, **options)
    messages = {problem.path: problem.message for problem in caught.value.problems}
    assert path in messages
    assert words in messages[path]


def test_a_key_on_temporary_storage_is_refused_because_fsx_uses_its_own(stack: Stack) -> None:
    with pytest.raises(SpecError, match="persistent types only"):
        _file_system(stack, deployment_type=SCRATCH_2, kms_key=kms.Key(stack, "Key"))


def test_cloudformation_cannot_snapshot_a_file_system(stack: Stack) -> None:
    with pytest.raises(SpecError, match="got SNAPSHOT"):
        LustreFileSystem(stack, "Data", network=ClusterNetwork(stack, "Network"), removal_policy=RemovalPolicy.SNAPSHOT)


def test_intelligent_tiering_has_no_capacity_but_throughput_and_a_cache(stack: Stack) -> None:
    _file_system(stack, storage_type=TIERING, throughput_mb_per_s=8000)
    properties = _properties(stack)
    assert "StorageCapacity" not in properties
    assert properties["StorageType"] == "INTELLIGENT_TIERING"
    lustre = properties["LustreConfiguration"]
    assert lustre["ThroughputCapacity"] == 8000
    assert lustre["DataReadCacheConfiguration"] == {"SizingMode": "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"}
    assert "PerUnitStorageThroughput" not in lustre


@pytest.mark.parametrize(
    ("size", "cache"), [(0, {"SizingMode": "NO_CACHE"}), (64, {"SizingMode": "USER_PROVISIONED", "SizeGiB": 64})]
)
def test_a_read_cache_may_be_left_out_or_have_a_size(stack: Stack, size: int, cache: dict[str, Any]) -> None:
    _file_system(stack, storage_type=TIERING, throughput_mb_per_s=4000, read_cache_gib=size)
    assert _properties(stack)["LustreConfiguration"]["DataReadCacheConfiguration"] == cache


def test_temporary_storage_has_neither_throughput_nor_metadata_configuration(stack: Stack) -> None:
    _file_system(stack, deployment_type=SCRATCH_2)
    assert _properties(stack)["LustreConfiguration"] == {
        "DeploymentType": "SCRATCH_2",
        "DataCompressionType": "LZ4",
    }


def test_hard_disks_say_that_they_have_no_cache_because_fsx_demands_the_word(stack: Stack) -> None:
    _file_system(stack, deployment_type=P1, storage_type=HDD, capacity_gib=1800)
    assert _properties(stack)["LustreConfiguration"]["DriveCacheType"] == "NONE"


def test_every_other_option_reaches_the_template(stack: Stack) -> None:
    key = kms.Key(stack, "Key")
    _file_system(
        stack,
        capacity_gib=4800,
        throughput_mb_per_s_per_tib=500,
        metadata_iops=6000,
        compress=False,
        kms_key=key,
        backup_retention_days=7,
        backup_start_time="03:30",
        maintenance_start_time="7:04:00",
    )
    properties = _properties(stack)
    assert properties["KmsKeyId"]["Fn::GetAtt"][0].startswith("Key")
    assert properties["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 500,
        "DataCompressionType": "NONE",
        "MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 6000},
        "AutomaticBackupRetentionDays": 7,
        "CopyTagsToBackups": True,
        "DailyAutomaticBackupStartTime": "03:30",
        "WeeklyMaintenanceStartTime": "7:04:00",
    }


def test_with_efa_all_traffic_is_open_between_nodes_and_servers_and_the_mount_says_so(stack: Stack) -> None:
    file_system = _file_system(stack, efa=True, capacity_gib=19200)
    assert file_system.mount.efa is True
    template = Synthesized(stack)
    assert _properties(stack)["LustreConfiguration"]["EfaEnabled"] is True
    kinds = {item["Properties"]["IpProtocol"] for item in template.of_type("AWS::EC2::SecurityGroupIngress").values()}
    assert kinds == {"-1"}
    assert len(template.of_type("AWS::EC2::SecurityGroupIngress")) == 4


def test_servers_take_addresses_one_each_and_one_for_metadata(stack: Stack) -> None:
    assert _file_system(stack, efa=True, capacity_gib=38400).address_count == 3


def test_a_subnet_of_another_zone_may_be_chosen(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network", availability_zones=["us-east-1a", "us-east-1b"])
    other = network.subnet_in("us-east-1b")
    file_system = LustreFileSystem(stack, "Data", network=network, subnet=other)
    assert file_system.availability_zone == "us-east-1b"


def _bucket(stack: Stack) -> s3.Bucket:
    return s3.Bucket(stack, "Datasets", enforce_ssl=True)


def test_a_link_to_s3_carries_every_change_both_ways_and_shows_what_exists(stack: Stack) -> None:
    _file_system(stack, data_repositories=[DataRepository(path="/datasets", bucket=_bucket(stack), prefix="train")])
    _, link = Synthesized(stack).only("AWS::FSx::DataRepositoryAssociation")
    properties = link["Properties"]
    assert properties["FileSystemPath"] == "/datasets"
    assert properties["DataRepositoryPath"]["Fn::Join"][1][-1] == "/train/"
    assert properties["BatchImportMetaDataOnCreate"] is True
    events = ["NEW", "CHANGED", "DELETED"]
    assert properties["S3"] == {"AutoExportPolicy": {"Events": events}, "AutoImportPolicy": {"Events": events}}


def test_a_link_may_be_read_only(stack: Stack) -> None:
    repository = DataRepository(
        path="/d", bucket=_bucket(stack), import_events=[DataEvent.NEW], export_events=[], import_existing=False
    )
    _file_system(stack, data_repositories=[repository])
    _, link = Synthesized(stack).only("AWS::FSx::DataRepositoryAssociation")
    assert link["Properties"]["S3"] == {"AutoImportPolicy": {"Events": ["NEW"]}}
    assert link["Properties"]["BatchImportMetaDataOnCreate"] is False


def test_the_bucket_admits_the_role_of_fsx_and_nobody_else(stack: Stack) -> None:
    bucket = _bucket(stack)
    _file_system(stack, data_repositories=[DataRepository(path="/datasets", bucket=bucket)])
    _, policy = Synthesized(stack).only("AWS::S3::BucketPolicy")
    (statement,) = [s for s in policy["Properties"]["PolicyDocument"]["Statement"] if s["Effect"] == "Allow"]
    condition = statement["Condition"]["ArnLike"]["aws:PrincipalArn"]["Fn::Join"][1]
    assert condition[-1].endswith("lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access_*")
    assert "s3:PutBucketNotification" in statement["Action"]


def test_an_encrypted_buckets_key_admits_fsx_too(stack: Stack) -> None:
    bucket = s3.Bucket(stack, "Datasets", encryption=s3.BucketEncryption.KMS)
    _file_system(stack, data_repositories=[DataRepository(path="/datasets", bucket=bucket)])
    _, key = Synthesized(stack).only("AWS::KMS::Key")
    conditions = [s.get("Condition") for s in key["Properties"]["KeyPolicy"]["Statement"]]
    assert any(condition and "ArnLike" in condition for condition in conditions)


def test_a_link_is_made_after_policy_and_file_system_and_so_deleted_before_both(stack: Stack) -> None:
    _file_system(stack, data_repositories=[DataRepository(path="/datasets", bucket=_bucket(stack))])
    template = Synthesized(stack)
    name, _ = template.only("AWS::FSx::DataRepositoryAssociation")
    for kind in ("AWS::FSx::FileSystem", "AWS::S3::BucketPolicy", "AWS::S3::Bucket"):
        assert set(template.of_type(kind)) <= template.before(name), kind


@pytest.mark.parametrize(
    ("links", "path", "words"),
    [
        ([{"path": "data"}], "data_repositories[0].path", "an absolute directory"),
        ([{"path": "/"}, {"path": "/b", "prefix": "b"}], "data_repositories[0].path", "only link"),
        (
            [{"path": "/a", "prefix": "x"}, {"path": "/a/b", "prefix": "y"}],
            "data_repositories[1].path",
            'overlaps "/a"',
        ),
        ([{"path": "/a", "prefix": "x"}, {"path": "/b", "prefix": "x/y"}], "data_repositories[1].prefix", "overlaps"),
        ([{"path": "/a", "prefix": "/x/"}], "data_repositories[0].prefix", 'use "x"'),
        ([{"path": "/a", "chunk_size_mib": 0}], "data_repositories[0].chunk_size_mib", "1 to 512000"),
        ([{"path": f"/{n}", "prefix": str(n)} for n in range(9)], "data_repositories", "got 9, allowed: 8"),
    ],
)
def test_links_that_fsx_would_refuse_are_refused_before(
    stack: Stack, links: list[dict[str, Any]], path: str, words: str
) -> None:
    bucket = _bucket(stack)
    with pytest.raises(SpecError) as caught:
        _file_system(stack, data_repositories=[DataRepository(bucket=bucket, **link) for link in links])
    messages = {problem.path: problem.message for problem in caught.value.problems}
    assert words in messages[path]


def test_directories_whose_names_begin_alike_do_not_overlap(stack: Stack) -> None:
    bucket = _bucket(stack)
    links = [
        DataRepository(path="/data", bucket=bucket, prefix="a"),
        DataRepository(path="/data2", bucket=bucket, prefix="ab"),
    ]
    assert len(_file_system(stack, data_repositories=links).data_repositories) == 2


@pytest.mark.parametrize("options", [{"deployment_type": SCRATCH_1}, {"backup_retention_days": 1}])
def test_some_file_systems_cannot_be_linked(stack: Stack, options: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="data_repositories"):
        _file_system(stack, data_repositories=[DataRepository(path="/d", bucket=_bucket(stack))], **options)


def test_an_existing_file_systems_group_gets_the_rules_for_the_nodes(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    LustreFileSystem.from_attributes(
        stack,
        "Data",
        file_system_id="fs-0123456789abcdef0",
        dns_name="fs-0123456789abcdef0.fsx",
        mount_name="abcdefgh",
        security_group=ec2.SecurityGroup.from_security_group_id(stack, "Theirs", "sg-theirs"),
        network=network,
    )
    rules = Synthesized(stack).of_type("AWS::EC2::SecurityGroupIngress").values()
    ports = {r["Properties"]["FromPort"] for r in rules if r["Properties"]["GroupId"] == "sg-theirs"}
    assert ports == {988, 1018}
