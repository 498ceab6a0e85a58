"""Properties of the custom resource as the construct writes them: valid by default, overridden by keyword."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hyperpod_constructs.handlers.cluster.properties import Properties, read_properties

NAME = "my-training-cluster"
ROLE = "arn:aws:iam::123456789012:role/ExecutionRole"
SCRIPTS = "s3://sagemaker-scripts/lifecycle/0123456789abcdef/"
LUSTRE = "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com"
VPC = {"SecurityGroupIds": ["sg-11111111"], "Subnets": ["subnet-11111111"]}

Group = dict[str, Any]


def a_group(name: str, node_type: str, **fields: Any) -> Group:
    """A ClusterInstanceGroupSpecification; None as a value leaves the field out."""
    group = {
        "InstanceGroupName": name,
        "InstanceType": "ml.m5.xlarge",
        "InstanceCount": 1,
        "SlurmConfig": {"NodeType": node_type},
        "LifeCycleConfig": {"SourceS3Uri": SCRIPTS, "OnCreate": "on_create.sh"},
        "ExecutionRole": ROLE,
        "ThreadsPerCore": 2,
        "InstanceStorageConfigs": [
            {"FsxLustreConfig": {"DnsName": LUSTRE, "MountName": "abcdefgh", "MountPath": "/fsx"}}
        ],
    }
    return {key: value for key, value in {**group, **fields}.items() if value is not None}


def controller(**fields: Any) -> Group:
    return a_group("controller", "Controller", **fields)


def login(**fields: Any) -> Group:
    return a_group("login", "Login", **fields)


def compute(name: str = "p5", count: int = 4, **fields: Any) -> Group:
    partition = {"NodeType": "Compute", "PartitionNames": [fields.pop("partition", name)]}
    given = {"InstanceType": "ml.p5.48xlarge", "InstanceCount": count, "SlurmConfig": partition, **fields}
    return a_group(name, "Compute", **given)


def a_request(**fields: Any) -> dict[str, Any]:
    request = {
        "ClusterName": NAME,
        "Orchestrator": {"Slurm": {}},
        "NodeProvisioningMode": "Continuous",
        "NodeRecovery": "Automatic",
        "VpcConfig": VPC,
    }
    return {key: value for key, value in {**request, **fields}.items() if value is not None}


def props(
    groups: Iterable[Mapping[str, Any]] | None = None,
    *,
    request: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
    version: str = "1",
    **options: Any,
) -> dict[str, Any]:
    """ResourceProperties; options are the members of Cluster, such as ReadyWhen and ForceInstanceCounts."""
    chosen = [controller(), login(), compute()] if groups is None else list(groups)
    cluster = {
        "Request": dict(request or a_request()),
        "GroupOrder": [group["InstanceGroupName"] for group in chosen],
        "ReadyWhen": "IN_SERVICE",
        "OnTimeout": "SUCCEED",
        "ForceInstanceCounts": False,
        "AllowGroupDeletion": [],
        "UpdateControllerSoftware": False,
        **options,
    }
    properties: dict[str, Any] = {
        "ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:provider",
        "FormatVersion": version,
        "Cluster": json.dumps(cluster),
        "InstanceGroups": {group["InstanceGroupName"]: json.dumps(group) for group in chosen},
    }
    if tags is not None:
        properties["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]
    return properties


def desired(groups: Iterable[Mapping[str, Any]] | None = None, **options: Any) -> Properties:
    """The same, read."""
    return read_properties(props(groups, **options))


def p5(count: int, **fields: Any) -> list[Group]:
    """The usual three groups with this many instances in the compute group."""
    return [controller(), login(), compute(count=count, **fields)]
