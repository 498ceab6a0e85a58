"""Gives the roles of a cluster's groups what the cluster's features need."""

import json
from collections.abc import Iterable, Mapping

from aws_cdk import Annotations, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from hyperpod_constructs.acknowledgements import acknowledge_wildcards
from hyperpod_constructs.options import AccountingKind
from hyperpod_constructs.role_statements import (
    NODE_REASONS,
    file_system_statements,
    secret_statements,
    volume_key_statements,
    vpc_statements,
)
from hyperpod_constructs.roles import ExecutionRole
from hyperpod_constructs.specs import ClusterSpec, Group

WARNING_ID = "hyperpod-constructs:role-statements"


def grant_features(
    scope: Construct, spec: ClusterSpec, roles: Mapping[str, iam.IRole], *, has_file_systems: bool
) -> None:
    """Add to each role what its groups need; where that cannot be, warn with the exact statements.

    Args:
        scope: the cluster.
        spec: the cluster's specification.
        roles: by group name; roles of your own get a policy, unless imported with ``mutable=False``.
        has_file_systems: whether groups without file systems of their own have the cluster's.
    """
    by_role: dict[iam.IRole, list[Group]] = {}
    for group in spec.groups:
        by_role.setdefault(roles[group.name], []).append(group)
    for role, groups in by_role.items():
        statements = [*_statements(Stack.of(scope), groups, has_file_systems), *_secret(spec, groups)]
        for statement in statements:
            role.add_to_principal_policy(statement)
        if not role.node.children:
            _warn(scope, groups, statements)
        _grant_secret(spec, groups, role)
        # An ExecutionRole has done so itself, and nothing of another kind came to it here.
        if not isinstance(role.node.scope, ExecutionRole):
            acknowledge_wildcards(role, NODE_REASONS)


def grant_scripts(roles: Iterable[iam.IRole], bucket: s3.IBucket, prefix: str) -> None:
    """Let roles read the scripts of a bucket that the service's managed policy does not cover.

    Args:
        roles: of the groups.
        bucket: where the scripts are.
        prefix: the cluster's own.
    """
    reasons = (
        (f"/{prefix}/*", "every script below the cluster's own prefix"),
        ("Action::s3:", "CDK's grant for reading a bucket, on the scripts bucket and the cluster's prefix only"),
    )
    for role in dict.fromkeys(roles):
        bucket.grant_read(role, f"{prefix}/*")
        acknowledge_wildcards(role, reasons)


def _statements(stack: Stack, groups: Iterable[Group], has_file_systems: bool) -> list[iam.PolicyStatement]:
    statements = vpc_statements(stack)
    if any(has_file_systems if group.file_systems is None else group.file_systems for group in groups):
        statements += file_system_statements()
    keys = {group.volume_kms_key.key_arn: None for group in groups if group.volume_kms_key is not None}
    for key_arn in keys:
        statements += volume_key_statements(stack, key_arn)
    return statements


def _secret(spec: ClusterSpec, groups: Iterable[Group]) -> list[iam.PolicyStatement]:
    accounting = spec.accounting
    if accounting is None or accounting.kind is not AccountingKind.EXTERNAL or spec.controller not in groups:
        return []
    return secret_statements(accounting.secret) if isinstance(accounting.secret, str) else []


def _grant_secret(spec: ClusterSpec, groups: Iterable[Group], role: iam.IRole) -> None:
    """Slurm's database daemon on the controller reads the password (FACTS 1.3); its key's grant comes with it."""
    accounting = spec.accounting
    if accounting is None or accounting.kind is not AccountingKind.EXTERNAL or spec.controller not in groups:
        return
    if not isinstance(accounting.secret, str):
        accounting.secret.grant_read(role)


def _warn(scope: Construct, groups: Iterable[Group], statements: Iterable[iam.PolicyStatement]) -> None:
    names = ", ".join(group.name for group in groups)
    document = Stack.of(scope).resolve([statement.to_statement_json() for statement in statements])
    Annotations.of(scope).add_warning_v2(
        WARNING_ID,
        f"the role of {names} is imported with mutable=False, so it must already allow: {json.dumps(document)}",
    )
