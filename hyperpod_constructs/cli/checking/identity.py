"""Who calls, and the roles of the nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from hyperpod_constructs.cli.account import AccountError, Clients, Kind, call

from .outcome import Check, failed, passed, unknown, warning
from .subject import Subject, bucket_and_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVICE = "sagemaker.amazonaws.com"
MANAGED_POLICY = "AmazonSageMakerClusterInstanceRolePolicy"


def role_checks(subject: Subject, clients: Clients) -> list[Check]:
    """Every execution role: it exists, the service may take it, and it can do what nodes do (FACTS 1)."""
    arns = dict.fromkeys(group.role_arn for group in subject.groups if group.role_arn)
    return [check for arn in arns for check in _role(arn, subject, clients)]


def _role(arn: str, subject: Subject, clients: Clients) -> list[Check]:
    name, iam = arn.rsplit("/", 1)[-1], clients.client("iam")
    try:
        role = call("iam:GetRole", iam.get_role, RoleName=name)["Role"]
    except AccountError as error:
        if error.kind is Kind.NOT_FOUND:
            return [failed(f"execution role {name}: there is none in this account; create it, or check the ARN")]
        return [unknown(f"execution role {name}: {error}")]
    if role.get("Arn") not in (None, arn):
        return [failed(f"execution role {name}: its ARN is {role['Arn']}, got {arn}; use that")]
    if not trusts(role.get("AssumeRolePolicyDocument"), SERVICE):
        text = f"its trust policy does not let {SERVICE} take it; allow sts:AssumeRole to that service"
        return [failed(f"execution role {name}: {text}")]
    try:
        attached = call("iam:ListAttachedRolePolicies", iam.list_attached_role_policies, RoleName=name)
    except AccountError as error:
        return [unknown(f"execution role {name}: its policies are {error}")]
    policies = {str(one["PolicyName"]) for one in attached.get("AttachedPolicies", ())}
    return [*_policies(name, arn, policies, subject)] or [passed(f"Validated execution role {name} ...")]


def _policies(name: str, arn: str, policies: set[str], subject: Subject) -> Iterator[Check]:
    if MANAGED_POLICY not in policies:
        text = f"{MANAGED_POLICY} is not attached; nodes need what it allows: attach it, unless your own policies do"
        yield warning(f"execution role {name}: {text}")
    buckets = {bucket_and_prefix(group.scripts_uri)[0] for group in subject.groups if group.role_arn == arn}
    for bucket in sorted(one for one in buckets if one and not one.startswith("sagemaker-")):
        if policies <= {MANAGED_POLICY}:
            text = f"reads buckets named sagemaker-... only, not {bucket}; allow s3:ListBucket and s3:GetObject on it"
            yield warning(f"execution role {name}: {text}")


def trusts(document: Any, service: str) -> bool:
    """Whether a trust policy lets a service take the role.

    Args:
        document: as the SDK gives it, an object, or the text that other clients give.
        service: its principal.
    """
    if isinstance(document, str):
        try:
            document = json.loads(unquote(document))
        except ValueError:
            return False
    statements = document.get("Statement", []) if isinstance(document, Mapping) else []
    for statement in [statements] if isinstance(statements, Mapping) else statements:
        principal = statement.get("Principal", {})
        services = principal.get("Service", []) if isinstance(principal, Mapping) else []
        named = [services] if isinstance(services, str) else services
        if statement.get("Effect") == "Allow" and service in named:
            return True
    return False


def caller_check(clients: Clients) -> Check:
    """Who calls: without that, nothing of the account is known."""
    try:
        identity = call("sts:GetCallerIdentity", clients.client("sts").get_caller_identity)
    except AccountError as error:
        return unknown(f"the account was not looked at: {error}")
    return passed(f"Validated credentials of account {identity.get('Account')} in {clients.region} ...")
