"""LustreFileSystem: sizes, order, and what is kept."""

import pytest
from aws_cdk import RemovalPolicy, Stack

from hyperpod_constructs import ClusterNetwork, LustreFileSystem, SpecError
from tests.constructs.support import Synthesized


def test_the_defaults_are_what_the_images_lustre_client_can_mount(stack: Stack) -> None:
    LustreFileSystem(stack, "Data", network=ClusterNetwork(stack, "Network"))
    _, resource = Synthesized(stack).only("AWS::FSx::FileSystem")
    properties = resource["Properties"]
    assert properties["FileSystemTypeVersion"] == "2.15"
    assert properties["StorageCapacity"] == 1200
    assert properties["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 250,
        "DataCompressionType": "LZ4",
        "MetadataConfiguration": {"Mode": "AUTOMATIC"},
    }


def test_creation_waits_for_every_rule_because_fsx_checks_them_when_it_starts(stack: Stack) -> None:
    LustreFileSystem(stack, "Data", network=ClusterNetwork(stack, "Network"))
    template = Synthesized(stack)
    name, _ = template.only("AWS::FSx::FileSystem")
    lustre_rules = {
        rule
        for kind in ("AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress")
        for rule, item in template.of_type(kind).items()
        if item["Properties"]["IpProtocol"] == "tcp"
    }
    assert len(lustre_rules) == 12
    assert lustre_rules <= template.before(name)


def test_a_kept_file_system_keeps_what_it_stands_on_so_that_destroy_ends_cleanly(stack: Stack) -> None:
    LustreFileSystem(stack, "Data", network=ClusterNetwork(stack, "Network"))
    template = Synthesized(stack)
    kept = {item["Type"] for item in template.resources.values() if item.get("DeletionPolicy") == "Retain"}
    assert kept == {"AWS::FSx::FileSystem", "AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::SecurityGroup"}


def test_destroy_keeps_nothing(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    LustreFileSystem(stack, "Data", network=network, removal_policy=RemovalPolicy.DESTROY)
    assert not [name for name, item in Synthesized(stack).resources.items() if item.get("DeletionPolicy") == "Retain"]


@pytest.mark.parametrize(
    ("capacity", "advice"), [(1000, "use 1200"), (3600, "use 4800"), (0, "use 1200"), (7000, "use 7200")]
)
def test_a_capacity_that_fsx_does_not_have_is_refused_with_the_nearest(
    stack: Stack, capacity: int, advice: str
) -> None:
    with pytest.raises(SpecError, match=advice):
        LustreFileSystem(stack, "Data", network=ClusterNetwork(stack, "Network"), capacity_gib=capacity)


def test_a_wrong_capacity_and_a_wrong_throughput_are_reported_together(stack: Stack) -> None:
    with pytest.raises(SpecError) as caught:
        LustreFileSystem(
            stack, "Data", network=ClusterNetwork(stack, "Network"), capacity_gib=1300, throughput_mb_per_s_per_tib=200
        )
    assert [problem.path for problem in caught.value.problems] == ["capacity_gib", "throughput_mb_per_s_per_tib"]


def test_an_imported_file_system_adds_nothing_to_the_template(stack: Stack) -> None:
    imported = LustreFileSystem.from_attributes(
        stack, "Data", file_system_id="fs-0123456789abcdef0", dns_name="fs-0123456789abcdef0.fsx", mount_name="abcdefgh"
    )
    assert imported.mount.path == "/fsx"
    assert not Synthesized(stack).json.get("Resources")
