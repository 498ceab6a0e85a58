"""From the handler's own table of permissions to the policy of its role."""

from collections import defaultdict
from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from hyperpod_constructs.handlers.cluster.permissions import PERMISSIONS, Resource


def policy_statements(stack: Stack) -> list[iam.PolicyStatement]:
    """What the functions may do, apart from passing roles. The table gives the reason for every row and every ``*``.

    Args:
        stack: gives partition, region, account and its own id.
    """
    rows = [row for row in PERMISSIONS if row.resource is not Resource.EXECUTION_ROLE]
    grouped: dict[tuple[Resource, tuple[tuple[str, str, str], ...]], list[str]] = defaultdict(list)
    for row in rows:
        grouped[row.resource, row.conditions].append(row.action)
    return [
        _statement(actions, [_arn(stack, resource)], conditions) for (resource, conditions), actions in grouped.items()
    ]


def pass_role_statement(role_arns: Sequence[str]) -> iam.PolicyStatement:
    """Handing these roles to the service, and to nothing else (FACTS 1.4).

    Args:
        role_arns: roles of a cluster's groups.
    """
    (row,) = [row for row in PERMISSIONS if row.resource is Resource.EXECUTION_ROLE]
    return _statement([row.action], role_arns, row.conditions)


def _statement(
    actions: Sequence[str], resources: Sequence[str], conditions: tuple[tuple[str, str, str], ...]
) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        actions=list(actions),
        resources=list(resources),
        conditions={operator: {key: value} for operator, key, value in conditions} or None,
    )


def _arn(stack: Stack, resource: Resource) -> str:
    if resource is Resource.ANY:
        return "*"
    if resource is Resource.STACK:
        return stack.stack_id
    if resource is Resource.CLUSTER_LOG_STREAM:
        return f"arn:{stack.partition}:logs:{stack.region}:{stack.account}:{resource.value}"
    if resource is Resource.SERVICE_LINKED_ROLE:
        return f"arn:{stack.partition}:iam::{stack.account}:{resource.value}"
    kind, name = resource.value.split("/")
    return stack.format_arn(service="sagemaker", resource=kind, resource_name=name)
