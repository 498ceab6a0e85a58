"""The two classic files: a good pair passes, each broken one is named by its fault."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import Command, FakeAccount, Pair, classic_pair, write_pair

REQUEST, PARAMETERS = "create_cluster.json", "provisioning_parameters.json"
ROLE_WORDS = "the ARN of an IAM role"


def group(pair: Pair, index: int) -> dict[str, Any]:
    found: dict[str, Any] = pair[0]["InstanceGroups"][index]
    return found


def put(target: dict[str, Any], **values: Any) -> None:
    for key, value in values.items():
        if value is None:
            target.pop(key)
        else:
            target[key] = value


Break = Callable[[Pair], object]

# What is done to the pair, the file and path that the line names, and words of the line.
BROKEN: dict[str, tuple[Break, str, str]] = {
    "no name": (lambda p: put(p[0], ClusterName=None), "ClusterName", "missing; the service needs it"),
    "underscore in the name": (lambda p: put(p[0], ClusterName="my_cluster"), f"{REQUEST}:2:3", "my_cluster"),
    "64 characters": (
        lambda p: put(p[0], ClusterName="a" * 64),
        f"{REQUEST}:2:3",
        "got 64 characters, allowed: 1 to 63",
    ),
    "a number as name": (lambda p: put(p[0], ClusterName=5), f"{REQUEST}:2:3", "got 5 (a number), allowed: text"),
    "no groups": (lambda p: put(p[0], InstanceGroups=None), "InstanceGroups", "missing; give a list"),
    "groups are no list": (lambda p: put(p[0], InstanceGroups="x"), "InstanceGroups", "allowed: a list"),
    "unknown top-level key": (lambda p: put(p[0], VpcConf={}), "VpcConf", 'did you mean "VpcConfig"?'),
    "the seed's own slip": (
        lambda p: group(p, 2).update(LifeCycleConfig={"SourceS3URI": "s3://sagemaker-a/b", "OnCreate": "on_create.sh"}),
        "InstanceGroups[2].LifeCycleConfig.SourceS3URI",
        'did you mean "SourceS3Uri"?',
    ),
    "count as text": (
        lambda p: put(group(p, 2), InstanceCount="16"),
        "InstanceGroups[2].InstanceCount",
        "a whole number",
    ),
    "negative count": (lambda p: put(group(p, 2), InstanceCount=-1), "InstanceGroups[2].InstanceCount", "0 to 6758"),
    "too many": (lambda p: put(group(p, 2), InstanceCount=6759), "InstanceGroups[2].InstanceCount", "0 to 6758"),
    "no count": (lambda p: put(group(p, 2), InstanceCount=None), "InstanceGroups[2].InstanceCount", "missing"),
    "two controllers": (lambda p: put(group(p, 0), InstanceCount=2), "InstanceGroups[0].InstanceCount", "got 2"),
    "no role": (lambda p: put(group(p, 2), ExecutionRole=None), "InstanceGroups[2].ExecutionRole", "missing"),
    "role by name": (lambda p: put(group(p, 2), ExecutionRole="hyperpod-nodes-role"), "ExecutionRole", "got 19 char"),
    "no such type": (
        lambda p: put(group(p, 2), InstanceType="ml.p5.49xlarge"),
        "InstanceGroups[2].InstanceType",
        'did you mean "ml.p5.4',
    ),
    "type without ml": (lambda p: put(group(p, 2), InstanceType="p5.48xlarge"), "InstanceType", "p5.48xlarge"),
    "no type": (lambda p: put(group(p, 2), InstanceType=None), "InstanceGroups[2].InstanceType", "missing"),
    "three threads": (lambda p: put(group(p, 2), ThreadsPerCore=3), "InstanceGroups[2].ThreadsPerCore", "1 to 2"),
    "no lifecycle": (lambda p: put(group(p, 2), LifeCycleConfig=None), "InstanceGroups[2].LifeCycleConfig", "scripts"),
    "OnInitComplete": (
        lambda p: put(group(p, 2), LifeCycleConfig={"SourceS3Uri": "s3://sagemaker-a/b", "OnInitComplete": "x.sh"}),
        "LifeCycleConfig.OnInitComplete",
        "allowed: OnCreate",
    ),
    "no entry script": (
        lambda p: put(group(p, 2), LifeCycleConfig={"SourceS3Uri": "s3://sagemaker-a/b"}),
        "InstanceGroups[2].LifeCycleConfig",
        "got neither",
    ),
    "no scripts address": (
        lambda p: put(group(p, 2), LifeCycleConfig={"OnCreate": "on_create.sh"}),
        "LifeCycleConfig.SourceS3Uri",
        "say where the scripts are",
    ),
    "no address of S3": (
        lambda p: put(group(p, 2), LifeCycleConfig={"SourceS3Uri": "sagemaker-a/b", "OnCreate": "on_create.sh"}),
        "LifeCycleConfig.SourceS3Uri",
        "sagemaker-a/b",
    ),
    "SlurmConfig": (
        lambda p: put(group(p, 2), SlurmConfig={"NodeType": "Compute", "PartitionNames": ["a"]}),
        "InstanceGroups[2].SlurmConfig",
        PARAMETERS,
    ),
    "a minimum": (lambda p: put(group(p, 2), MinInstanceCount=1), "MinInstanceCount", "all instances or none"),
    "orchestrator": (lambda p: put(p[0], Orchestrator={"Slurm": {}}), "Orchestrator", "refuses both together"),
    "continuous": (lambda p: put(p[0], NodeProvisioningMode="Continuous"), "NodeProvisioningMode", "refuses both"),
    "no subnets": (lambda p: put(p[0]["VpcConfig"], Subnets=[]), "VpcConfig.Subnets", "got 0 entries"),
    "six security groups": (
        lambda p: put(p[0]["VpcConfig"], SecurityGroupIds=["sg-12345678"] * 6),
        "VpcConfig.SecurityGroupIds",
        "got 6 entries, allowed: 1 to 5",
    ),
    "an id with a slash": (lambda p: put(p[0]["VpcConfig"], Subnets=["subnet/1"]), "VpcConfig.Subnets[0]", "subnet/1"),
    "file system without a VPC": (lambda p: put(p[0], VpcConfig=None), "VpcConfig", "in a VPC of yours"),
    "two names in one": (
        lambda p: put(group(p, 1), InstanceGroupName="worker-gpu-a"),
        "InstanceGroups[2].InstanceGroupName",
        "rename one",
    ),
    "group with a space": (
        lambda p: put(group(p, 2), InstanceGroupName="worker gpu"),
        "InstanceGroups[2].InstanceGroupName",
        "worker gpu",
    ),
    "volume of nothing": (
        lambda p: put(group(p, 2), InstanceStorageConfigs=[{"EbsVolumeConfig": {"VolumeSizeInGB": 0}}]),
        "InstanceStorageConfigs[0].EbsVolumeConfig.VolumeSizeInGB",
        "1 to 16384",
    ),
    "two kinds of storage in one": (
        lambda p: put(
            group(p, 2), InstanceStorageConfigs=[{"EbsVolumeConfig": {"VolumeSizeInGB": 1}, "FsxLustreConfig": {}}]
        ),
        "InstanceStorageConfigs[0]",
        "exactly one of",
    ),
    "tag without a value": (lambda p: put(p[0], Tags=[{"Key": "a"}]), "Tags[0].Value", "missing"),
    "no controller group": (lambda p: put(p[1], controller_group=None), "controller_group", "name the group"),
    "controller of another name": (lambda p: put(p[1], controller_group="head"), f"{PARAMETERS}:4:3", 'got "head"'),
    "login of another name": (lambda p: put(p[1], login_group="logins"), f"{PARAMETERS}:5:3", 'got "logins"'),
    "worker of another name": (
        lambda p: p[1].update(worker_groups=[{"instance_group_name": "workers", "partition_name": "gpu"}]),
        "worker_groups[0].instance_group_name",
        "worker-gpu-a",
    ),
    "worker without a partition": (
        lambda p: p[1].update(worker_groups=[{"instance_group_name": "worker-gpu-a"}]),
        "worker_groups[0].partition_name",
        "the name of a partition",
    ),
    "partition after the instance type": (
        lambda p: p[1]["worker_groups"][0].update(partition_name="ml.p5.48xlarge"),
        "worker_groups[0].partition_name",
        "letters, digits and inner hyphens",
    ),
    "worker is no object": (lambda p: p[1].update(worker_groups=["worker-gpu-a"]), "worker_groups[0]", "an object"),
    "no workers": (lambda p: put(p[1], worker_groups=None), "worker_groups", "nothing can run jobs"),
    "two roles": (lambda p: put(p[1], login_group="controller-group"), "login_group", "name it once"),
    "no version": (lambda p: put(p[1], version=None), "version", '"1.0.0"'),
    "another scheduler": (lambda p: put(p[1], workload_manager="pbs"), "workload_manager", 'allowed: "slurm"'),
    "mount name missing": (lambda p: put(p[1], fsx_mountname=None), "fsx_mountname", "both or neither"),
    "mount name too long": (lambda p: put(p[1], fsx_mountname="abcdefghi"), "fsx_mountname", "1 to 8 characters"),
    "no FSx name": (lambda p: put(p[1], fsx_dns_name="nfs.example.com"), "fsx_dns_name", "the DNS name of an FSx"),
    "nearly a key": (lambda p: put(p[1], fsx_mount_name="a"), "fsx_mount_name", 'did you mean "fsx_mountname"?'),
    "group nothing to Slurm": (
        lambda p: p[0]["InstanceGroups"].append(group(p, 2) | {"InstanceGroupName": "extra"}),
        "extra",
        "nothing to Slurm",
    ),
}


def test_there_are_at_least_forty_faults() -> None:
    assert len(BROKEN) >= 40


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_pair_is_named_by_its_fault_told_once(name: str, command: Command, tmp_path: Path) -> None:
    fault, where, words = BROKEN[name]
    pair = copy.deepcopy(classic_pair())
    fault(pair)
    answer = command("validate", "--offline", *write_pair(tmp_path, pair))
    assert answer.code == 1
    named = [line for line in answer.lines if line.startswith("✖️") and where in line and words in line]
    assert len(named) == 1, answer.out + answer.err
    assert answer.lines[-1].startswith("❌ Cluster Validation failed: ")
    told = [line for line in answer.lines if line.startswith("✖️")]
    # One slip may break what depends on it too; more than three lines would bury it.
    assert len(told) == len(set(told)) <= 3


def test_a_good_pair_reads_as_the_service_pages_show_it(command: Command, healthy: FakeAccount, tmp_path: Path) -> None:
    answer = command("validate", *write_pair(tmp_path, classic_pair()))
    assert answer.code == 0
    assert answer.lines == [
        "✔️  Validated instance group name controller-group is correct ...",
        "✔️  Validated instance group name login-group is correct ...",
        "✔️  Validated instance group name worker-gpu-a is correct ...",
        "✔️  Validated subnet subnet-0123456789abcdef0 ...",
        "✔️  Validated security group sg-0123456789abcdef0 ingress rules ...",
        "✔️  Validated security group sg-0123456789abcdef0 egress rules ...",
        "✔️  Validated FSx Lustre DNS name fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        "✔️  Validated FSx Lustre mount name abcdefgh",
        "✔️  Validated execution role hyperpod-nodes ...",
        "✔️  Validated lifecycle scripts s3://sagemaker-scripts-111122223333-us-east-1/0123456789abcdef ...",
        "✅ Cluster Validation succeeded",
    ]


def test_every_fault_of_both_files_is_told_in_one_run(command: Command, tmp_path: Path) -> None:
    pair = classic_pair()
    put(pair[0], ClusterName="a_b")
    put(group(pair, 2), InstanceCount="16", InstanceType="ml.p5.49xlarge")
    put(pair[1], fsx_mountname="abcdefghi", workload_manager="pbs")
    answer = command("validate", "--offline", *write_pair(tmp_path, pair))
    assert answer.lines[-1] == "❌ Cluster Validation failed: 5 of 7 checks"


def test_a_group_with_a_fault_is_not_called_correct(command: Command, tmp_path: Path) -> None:
    pair = classic_pair()
    put(group(pair, 2), InstanceCount="16")
    answer = command("validate", "--offline", *write_pair(tmp_path, pair))
    assert [line for line in answer.lines if "worker-gpu-a is correct" in line] == []
    assert any("login-group is correct" in line for line in answer.lines)
