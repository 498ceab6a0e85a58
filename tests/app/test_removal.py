"""In which order things go, and what stays."""

from typing import Any

import pytest
from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_s3 as s3

from hyperpod_constructs import AccountingDatabase, ClusterNetwork, DataRepository, LustreFileSystem, OpenZfsFileSystem
from tests.app.support import new_app
from tests.constructs.support import Synthesized, a_cluster, references

STATEFUL = {
    "AWS::FSx::FileSystem",
    "AWS::FSx::DataRepositoryAssociation",
    "AWS::RDS::DBCluster",
    "AWS::RDS::DBInstance",
    "AWS::RDS::DBSubnetGroup",
    "AWS::RDS::DBClusterParameterGroup",
    "AWS::SecretsManager::Secret",
}
GROUND = {"AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::SecurityGroup"}


def _full(policy: RemovalPolicy) -> Synthesized:
    stack = Stack(new_app(), "Training")
    network = ClusterNetwork(stack, "Network")
    bucket = s3.Bucket(stack, "Datasets", enforce_ssl=True)
    data = LustreFileSystem(
        stack,
        "Data",
        network=network,
        removal_policy=policy,
        data_repositories=[DataRepository(path="/datasets", bucket=bucket)],
    )
    homes = OpenZfsFileSystem(stack, "Homes", network=network, removal_policy=policy)
    database = AccountingDatabase(stack, "Accounting", network=network, removal_policy=policy)
    a_cluster(stack, network=network, file_systems=[data, homes], accounting=database.accounting())
    return Synthesized(stack)


@pytest.fixture(scope="module")
def kept() -> Synthesized:
    return _full(RemovalPolicy.RETAIN)


@pytest.fixture(scope="module")
def destroyed() -> Synthesized:
    return _full(RemovalPolicy.DESTROY)


def _retained(template: Synthesized) -> dict[str, dict[str, Any]]:
    return {name: item for name, item in template.resources.items() if item.get("DeletionPolicy") == "Retain"}


def test_data_stays_by_default_with_the_ground_that_it_stands_on(kept: Synthesized) -> None:
    # The bucket is the user's own; CDK's default for it is to stay.
    assert {item["Type"] for item in _retained(kept).values()} == STATEFUL | GROUND | {"AWS::S3::Bucket"}


def test_what_stays_after_a_replacement_too_because_a_replaced_file_system_is_an_empty_one(kept: Synthesized) -> None:
    for name, item in _retained(kept).items():
        assert item["UpdateReplacePolicy"] == "Retain", name


def test_the_subnets_of_what_stays_are_exactly_those_that_it_uses(kept: Synthesized) -> None:
    used: set[str] = set()
    for item in kept.of_type("AWS::FSx::FileSystem").values():
        used |= {subnet["Ref"] for subnet in item["Properties"]["SubnetIds"]}
    for item in kept.of_type("AWS::RDS::DBSubnetGroup").values():
        used |= {subnet["Ref"] for subnet in item["Properties"]["SubnetIds"]}
    assert {name for name, item in _retained(kept).items() if item["Type"] == "AWS::EC2::Subnet"} == used


def test_what_stays_uses_nothing_that_goes_because_its_deletion_would_fail(kept: Synthesized) -> None:
    retained = _retained(kept)
    for name, item in retained.items():
        used = references(item.get("Properties", {})) & set(kept.resources)
        assert used <= set(retained), name


def test_everything_goes_when_asked(destroyed: Synthesized) -> None:
    assert {item["Type"] for item in _retained(destroyed).values()} == {"AWS::S3::Bucket"}


def test_the_cluster_goes_before_links_file_systems_and_database(destroyed: Synthesized) -> None:
    name, _ = destroyed.only("Custom::HyperPodCluster")
    before = destroyed.before(name)
    for kind in STATEFUL:
        assert set(destroyed.of_type(kind)) <= before, kind


def test_a_link_goes_before_its_file_system_and_its_bucket(destroyed: Synthesized) -> None:
    name, _ = destroyed.only("AWS::FSx::DataRepositoryAssociation")
    before = destroyed.before(name)
    assert set(destroyed.of_type("AWS::S3::BucketPolicy")) & before
    assert any(
        item["Properties"]["FileSystemType"] == "LUSTRE"
        for key, item in destroyed.of_type("AWS::FSx::FileSystem").items()
        if key in before
    )


def test_file_systems_and_database_go_before_the_rules_that_they_were_made_after(destroyed: Synthesized) -> None:
    for kind in ("AWS::FSx::FileSystem", "AWS::RDS::DBCluster"):
        for name in destroyed.of_type(kind):
            before = destroyed.before(name)
            assert {item for item in before if "Rules" in item}, name
