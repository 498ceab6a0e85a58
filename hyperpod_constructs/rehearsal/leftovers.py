"""What there is in the emulated account, so that a rehearsal can say what a destroyed stack left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Client = Callable[[str], Any]


@dataclass(frozen=True)
class Inventory:
    """Names of everything that costs money or stands in the way of a later deployment, by kind."""

    things: frozenset[tuple[str, str]] = field(default_factory=frozenset)

    def since(self, earlier: Inventory) -> list[str]:
        """What is there now and was not then, as ``kind name``."""
        return [f"{kind} {name}" for kind, name in sorted(self.things - earlier.things)]


def take_inventory(client: Client) -> Inventory:
    """Ask every service that a cluster's stack uses. ``client`` gives the boto3 client of a service."""
    return Inventory(frozenset(_things(client)))


def _things(client: Client) -> Iterator[tuple[str, str]]:
    for service, operation, key, kind, name in _LISTED:
        for item in _pages(client(service), operation, key):
            yield kind, str(item[name])
    for reservation in client("cloudformation").describe_stacks()["Stacks"]:
        yield "stack", f"{reservation['StackName']} ({reservation['StackStatus']})"
    ec2 = client("ec2")
    for operation, key, kind, name in _EC2:
        for item in getattr(ec2, operation)()[key]:
            if item.get("State") not in ("deleted", "deleting"):
                yield kind, str(item[name])


# Service, operation, key of the answer, what to call it, key of its name.
_LISTED = (
    ("sagemaker", "list_clusters", "ClusterSummaries", "cluster", "ClusterName"),
    ("fsx", "describe_file_systems", "FileSystems", "file system", "FileSystemId"),
    ("s3", "list_buckets", "Buckets", "bucket", "Name"),
    ("logs", "describe_log_groups", "logGroups", "log group", "logGroupName"),
    ("iam", "list_roles", "Roles", "role", "RoleName"),
    ("lambda", "list_functions", "Functions", "function", "FunctionName"),
    ("stepfunctions", "list_state_machines", "stateMachines", "state machine", "name"),
    ("secretsmanager", "list_secrets", "SecretList", "secret", "Name"),
    ("rds", "describe_db_instances", "DBInstances", "database", "DBInstanceIdentifier"),
    ("rds", "describe_db_clusters", "DBClusters", "database cluster", "DBClusterIdentifier"),
    ("events", "list_rules", "Rules", "rule", "Name"),
    ("cloudwatch", "describe_alarms", "MetricAlarms", "alarm", "AlarmName"),
    ("sns", "list_topics", "Topics", "topic", "TopicArn"),
)
_EC2 = (
    ("describe_vpcs", "Vpcs", "VPC", "VpcId"),
    ("describe_subnets", "Subnets", "subnet", "SubnetId"),
    ("describe_security_groups", "SecurityGroups", "security group", "GroupId"),
    ("describe_network_interfaces", "NetworkInterfaces", "network interface", "NetworkInterfaceId"),
    ("describe_nat_gateways", "NatGateways", "NAT gateway", "NatGatewayId"),
    ("describe_addresses", "Addresses", "elastic address", "AllocationId"),
    ("describe_vpc_endpoints", "VpcEndpoints", "VPC endpoint", "VpcEndpointId"),
    ("describe_flow_logs", "FlowLogs", "flow log", "FlowLogId"),
)


def _pages(client: Any, operation: str, key: str) -> Iterator[Any]:
    if client.can_paginate(operation):
        for page in client.get_paginator(operation).paginate():
            yield from page.get(key, [])
    else:
        yield from getattr(client, operation)().get(key, [])
