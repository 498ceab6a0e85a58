"""OpenZfsFileSystem: home directories."""

from typing import Any

import pytest
from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2

from hyperpod_constructs import ClusterNetwork, LustreFileSystem, OpenZfsDeploymentType, OpenZfsFileSystem, SpecError
from tests.constructs.support import Synthesized, a_cluster

INGRESS = "AWS::EC2::SecurityGroupIngress"
MULTI_AZ = OpenZfsDeploymentType.MULTI_AZ_1


def _file_system(stack: Stack, **options: Any) -> OpenZfsFileSystem:
    return OpenZfsFileSystem(stack, "Homes", network=ClusterNetwork(stack, "Network", flow_logs=False), **options)


def _configuration(stack: Stack) -> dict[str, Any]:
    _, resource = Synthesized(stack).only("AWS::FSx::FileSystem")
    return dict(resource["Properties"]["OpenZFSConfiguration"])


def test_root_of_a_node_stays_root_because_it_hands_homes_to_their_owners(stack: Stack) -> None:
    _file_system(stack)
    exports = _configuration(stack)["RootVolumeConfiguration"]["NfsExports"]
    assert exports == [{"ClientConfigurations": [{"Clients": "*", "Options": ["rw", "crossmnt", "no_root_squash"]}]}]


def test_the_defaults_are_available_backed_up_and_deletable(stack: Stack) -> None:
    _file_system(stack)
    configuration = _configuration(stack)
    assert configuration["DeploymentType"] == "SINGLE_AZ_HA_2"
    assert configuration["ThroughputCapacity"] == 160
    assert configuration["AutomaticBackupRetentionDays"] == 30
    assert configuration["Options"] == ["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"]


def test_nodes_reach_every_port_of_nfs_and_creation_waits_for_it(stack: Stack) -> None:
    _file_system(stack)
    template = Synthesized(stack)
    rules = [item["Properties"] for item in template.of_type(INGRESS).values()]
    ports = {(rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) for rule in rules if rule["IpProtocol"] != "-1"}
    assert ports == {
        (protocol, first, last)
        for protocol in ("tcp", "udp")
        for first, last in ((111, 111), (2049, 2049), (20001, 20003))
    }
    name, _ = template.only("AWS::FSx::FileSystem")
    waited = {rule for rule, item in template.of_type(INGRESS).items() if item["Properties"]["IpProtocol"] != "-1"}
    assert waited <= template.before(name)


def test_it_is_kept_with_what_it_stands_on_unless_told_otherwise(stack: Stack) -> None:
    _file_system(stack)
    kept = {item["Type"] for item in Synthesized(stack).resources.values() if item.get("DeletionPolicy") == "Retain"}
    assert kept == {"AWS::FSx::FileSystem", "AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::SecurityGroup"}


def test_two_zones_need_two_subnets_and_their_routes(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network", availability_zones=["us-east-1a", "us-east-1b"])
    OpenZfsFileSystem(stack, "Homes", network=network, deployment_type=MULTI_AZ)
    _, resource = Synthesized(stack).only("AWS::FSx::FileSystem")
    assert len(resource["Properties"]["SubnetIds"]) == 2
    configuration = resource["Properties"]["OpenZFSConfiguration"]
    assert configuration["PreferredSubnetId"] == resource["Properties"]["SubnetIds"][0]
    assert len(configuration["RouteTableIds"]) == 2


@pytest.mark.parametrize(
    ("options", "path", "words"),
    [
        ({"capacity_gib": 63}, "capacity_gib", "64 to 524288"),
        ({"throughput_mb_per_s": 64}, "throughput_mb_per_s", "160, 320"),
        (
            {"deployment_type": OpenZfsDeploymentType.SINGLE_AZ_HA_1, "throughput_mb_per_s": 160},
            "throughput_mb_per_s",
            "64, 128",
        ),
        ({"iops": 100}, "iops", "at least 3"),
        ({"record_size_kib": 100}, "record_size_kib", "128"),
        ({"deployment_type": MULTI_AZ}, "subnets", "allowed with MULTI_AZ_1: 2"),
        ({"backup_retention_days": 100}, "backup_retention_days", "0 to 90"),
        ({"backup_start_time": "1:00"}, "backup_start_time", "HH:MM"),
        ({"maintenance_start_time": "8:01:00"}, "maintenance_start_time", "1 is Monday"),
        ({"removal_policy": RemovalPolicy.SNAPSHOT}, "removal_policy", "RETAIN or DESTROY"),
    ],
)
def test_an_option_that_fsx_would_refuse_is_refused_before(
    stack: Stack, options: dict[str, Any], path: str, words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        _file_system(stack, **options)
    ((found, message),) = [(problem.path, problem.message) for problem in caught.value.problems]
    assert found == path
    assert words in message


def test_a_cluster_mounts_lustre_and_openzfs_side_by_side(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    cluster = a_cluster(
        stack,
        network=network,
        file_systems=[
            LustreFileSystem(stack, "Data", network=network),
            OpenZfsFileSystem(stack, "Homes", network=network),
        ],
    )
    assert [item.mount_path for item in cluster.file_systems] == ["/fsx", "/home"]
    template = Synthesized(stack)
    _, resource = template.only("Custom::HyperPodCluster")
    for group in resource["Properties"]["InstanceGroups"].values():
        text = str(group)
        assert "FsxLustreConfig" in text
        assert "FsxOpenZfsConfig" in text


def test_an_existing_file_systems_group_gets_the_rules_for_the_nodes(stack: Stack) -> None:
    OpenZfsFileSystem.from_attributes(
        stack,
        "Homes",
        file_system_id="fs-0123456789abcdef0",
        dns_name="fs-0123456789abcdef0.fsx",
        security_group=ec2.SecurityGroup.from_security_group_id(stack, "Theirs", "sg-theirs"),
        network=ClusterNetwork(stack, "Network"),
    )
    rules = [item["Properties"] for item in Synthesized(stack).of_type(INGRESS).values()]
    assert len([rule for rule in rules if rule["GroupId"] == "sg-theirs"]) == 6
