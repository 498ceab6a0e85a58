"""AccountingDatabase: history that outlives the controller."""

import json
from typing import Any

import pytest
from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from hyperpod_constructs import (
    Accounting,
    AccountingDatabase,
    ClusterNetwork,
    ComputeGroup,
    ControllerGroup,
    ExecutionRole,
    SpecError,
)
from tests.constructs.support import Synthesized, a_cluster


def _database(stack: Stack, **options: Any) -> AccountingDatabase:
    return AccountingDatabase(stack, "Accounting", network=ClusterNetwork(stack, "Network"), **options)


def test_it_is_encrypted_protected_backed_up_and_not_public(stack: Stack) -> None:
    _database(stack)
    template = Synthesized(stack)
    _, cluster = template.only("AWS::RDS::DBCluster")
    assert cluster["Properties"]["StorageEncrypted"] is True
    assert cluster["Properties"]["DeletionProtection"] is True
    assert cluster["Properties"]["BackupRetentionPeriod"] == 14
    _, instance = template.only("AWS::RDS::DBInstance")
    assert instance["Properties"]["PubliclyAccessible"] is False


def test_nodes_alone_reach_it_on_its_port(stack: Stack) -> None:
    database = _database(stack)
    template = Synthesized(stack)
    _, cluster = template.only("AWS::RDS::DBCluster")
    (group,) = (item["Fn::GetAtt"][0] for item in cluster["Properties"]["VpcSecurityGroupIds"])
    rules = [item["Properties"] for item in template.of_type("AWS::EC2::SecurityGroupIngress").values()]
    admitted = [rule for rule in rules if rule["GroupId"]["Fn::GetAtt"][0] == group]
    assert [(rule["FromPort"], rule["ToPort"], rule["IpProtocol"]) for rule in admitted] == [(3306, 3306, "tcp")]
    assert database.accounting().port == 3306


def test_the_password_is_generated_and_never_in_the_template(stack: Stack) -> None:
    _database(stack)
    template = Synthesized(stack)
    _, secret = template.only("AWS::SecretsManager::Secret")
    assert secret["Properties"]["GenerateSecretString"]["GenerateStringKey"] == "password"
    _, cluster = template.only("AWS::RDS::DBCluster")
    assert "{{resolve:secretsmanager:" in json.dumps(cluster["Properties"]["MasterUserPassword"])


def test_kept_it_keeps_all_that_it_uses_because_a_group_in_use_cannot_be_deleted(stack: Stack) -> None:
    _database(stack)
    kept = {item["Type"] for item in Synthesized(stack).resources.values() if item.get("DeletionPolicy") == "Retain"}
    assert kept == {
        "AWS::RDS::DBCluster",
        "AWS::RDS::DBInstance",
        "AWS::RDS::DBSubnetGroup",
        "AWS::RDS::DBClusterParameterGroup",
        "AWS::SecretsManager::Secret",
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::Subnet",
        "AWS::EC2::VPC",
    }


def test_destroyed_it_leaves_nothing_and_is_not_protected(stack: Stack) -> None:
    _database(stack, removal_policy=RemovalPolicy.DESTROY)
    template = Synthesized(stack)
    assert not [name for name, item in template.resources.items() if item.get("DeletionPolicy") == "Retain"]
    _, cluster = template.only("AWS::RDS::DBCluster")
    assert cluster["Properties"]["DeletionProtection"] is False


def test_a_snapshot_may_be_all_that_is_kept(stack: Stack) -> None:
    _database(stack, removal_policy=RemovalPolicy.SNAPSHOT)
    _, cluster = Synthesized(stack).only("AWS::RDS::DBCluster")
    assert cluster["DeletionPolicy"] == "Snapshot"
    assert cluster["Properties"]["DeletionProtection"] is False


def test_a_reader_takes_over_and_a_key_of_yours_protects_data_and_secret(stack: Stack) -> None:
    _database(stack, readers=1, kms_key=kms.Key(stack, "Key"))
    template = Synthesized(stack)
    assert len(template.of_type("AWS::RDS::DBInstance")) == 2
    _, cluster = template.only("AWS::RDS::DBCluster")
    _, secret = template.only("AWS::SecretsManager::Secret")
    assert cluster["Properties"]["KmsKeyId"] == secret["Properties"]["KmsKeyId"]


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"least_capacity_units": 0}, "least_capacity_units"),
        ({"least_capacity_units": 0.7}, "least_capacity_units"),
        ({"least_capacity_units": 8}, "least_capacity_units"),
        ({"backup_retention_days": 0}, "backup_retention_days"),
    ],
)
def test_numbers_that_aurora_does_not_take_are_refused(stack: Stack, options: dict[str, Any], path: str) -> None:
    with pytest.raises(SpecError, match=path):
        _database(stack, **options)


def test_the_controllers_role_reads_the_secret_and_no_other_role_does(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    database = AccountingDatabase(stack, "Accounting", network=network)
    own = ExecutionRole(stack, "ControllerRole").role
    a_cluster(
        stack,
        network=network,
        accounting=database.accounting(database_name="slurm"),
        controller=ControllerGroup(instance_type="ml.m5.xlarge", execution_role=own),
    )
    template = Synthesized(stack)
    readers = [
        name
        for name, policy in template.of_type("AWS::IAM::Policy").items()
        if "secretsmanager:GetSecretValue" in json.dumps(policy)
    ]
    assert len(readers) == 1
    assert readers[0].startswith("ControllerRole")
    _, resource = template.only("Custom::HyperPodCluster")
    assert "AccountingDatabase" in json.dumps(resource["Properties"]["Cluster"])


def test_the_cluster_is_made_after_the_database_that_it_names(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    database = AccountingDatabase(stack, "Accounting", network=network)
    a_cluster(stack, network=network, accounting=database.accounting())
    template = Synthesized(stack)
    name, _ = template.only("Custom::HyperPodCluster")
    for kind in ("AWS::RDS::DBCluster", "AWS::RDS::DBInstance", "AWS::SecretsManager::SecretTargetAttachment"):
        assert set(template.of_type(kind)) <= template.before(name), kind


def test_a_secret_known_by_its_arn_is_granted_by_its_arn(stack: Stack) -> None:
    arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:slurm-AbCdEf"
    a_cluster(stack, accounting=Accounting.external(endpoint="db.example.com", secret=arn))
    policies = json.dumps(Synthesized(stack).of_type("AWS::IAM::Policy"))
    assert arn in policies


def test_without_internet_the_secret_has_an_endpoint(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network", nat_gateways=0)
    database = AccountingDatabase(stack, "Accounting", network=network)
    a_cluster(stack, network=network, accounting=database.accounting())
    endpoints = json.dumps(Synthesized(stack).of_type("AWS::EC2::VPCEndpoint"))
    assert ".secretsmanager" in endpoints


def test_a_role_that_cannot_be_changed_gets_a_warning_with_the_exact_statements(stack: Stack) -> None:
    role = iam.Role.from_role_arn(stack, "Role", "arn:aws:iam::123456789012:role/nodes", mutable=False)
    compute = [ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=1)]
    a_cluster(stack, execution_role=role, compute=compute)
    messages = [str(m.data) for m in stack.node.find_child("Cluster").node.metadata if m.type == "aws:cdk:warning"]
    (text,) = [message for message in messages if "mutable=False" in message]
    assert "ec2:CreateNetworkInterfacePermission" in text
    assert "controller-group, login-group, p5" in text
