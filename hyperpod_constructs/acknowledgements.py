"""Findings of cdk-nag about what this library makes, each acknowledged where it is, with its reason.

An acknowledgement names one finding of one construct exactly, so that everything that you add is still reported.
Nothing of it reaches the template.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from aws_cdk import Acknowledgment, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import IConstruct

Reasons = Sequence[tuple[str, str]]
"""What a finding's text contains, and why it is right; the first that fits counts."""

_PACK = "AwsSolutions"


def acknowledge(scope: IConstruct, *findings: tuple[str, str]) -> None:
    """Acknowledge findings of a construct.

    Args:
        scope: the construct, or one around it.
        findings: rule, such as ``S1`` or ``IAM4[Policy::...]``, and reason.
    """
    if findings:
        items = [Acknowledgment(id=f"{_PACK}-{rule}", reason=reason) for rule, reason in findings]
        Validations.of(scope).acknowledge(*items)


def acknowledge_wildcards(scope: IConstruct, reasons: Reasons, *findings: tuple[str, str]) -> None:
    """Acknowledge the wildcards in the policies of a role for which there is a reason; others stay reported.

    Args:
        scope: a role, or what holds policies.
        reasons: see :data:`Reasons`.
        findings: further ones, as for :func:`acknowledge`.
    """
    # A role's own policy first: a walk over everything below a scope costs CDK a good part of a synthesis.
    own = scope.node.try_find_child("DefaultPolicy")
    policies = [own] if own is not None else scope.node.find_all()
    acknowledge(scope, *findings, *explained(policies, reasons))


def explained(policies: Iterable[IConstruct], reasons: Reasons) -> list[tuple[str, str]]:
    """The findings about wildcards in some policies for which there is a reason, with it.

    Args:
        policies: what is no policy among them is passed over.
        reasons: see :data:`Reasons`.
    """
    found = [policy for policy in policies if isinstance(policy, (iam.Policy, iam.ManagedPolicy))]
    if not found:
        return []
    # One look for all: each crosses over to Node.
    documents = Stack.of(found[0]).resolve([policy.document.to_json() for policy in found])
    texts = dict.fromkeys(text for document in documents for text in _wildcards(document.get("Statement", [])))
    known = ((f"IAM5[{text}]", reason_for(text, reasons)) for text in texts)
    return [(rule, reason) for rule, reason in known if reason]


def reason_for(text: str, reasons: Reasons) -> str:
    """The reason for a finding, or an empty string."""
    return next((reason for part, reason in reasons if part in text), "")


def as_reported(value: Any) -> str:
    """A resolved value as cdk-nag writes it into a finding: references in angle brackets.

    Args:
        value: text, or an intrinsic function.
    """
    if not isinstance(value, dict):
        return re.sub(r"\$\{([^}]*)\}", r"<\1>", str(value))
    ((name, argument),) = value.items()
    if name == "Fn::Join":
        return str(argument[0]).join(as_reported(part) for part in argument[1])
    if name == "Fn::GetAtt":
        return f"<{'.'.join(argument)}>"
    if name == "Fn::Sub":
        return as_reported(argument if isinstance(argument, str) else argument[0])
    return f"<{argument}>" if name == "Ref" else str(value)


def _wildcards(statements: Iterable[dict[str, Any]]) -> Iterator[str]:
    for statement in statements:
        if statement.get("Effect") == "Allow":
            for kind in ("Action", "Resource"):
                for item in _listed(statement.get(kind, [])):
                    text = as_reported(item)
                    if "*" in text:
                        yield f"{kind}::{text}"


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
