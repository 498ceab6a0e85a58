"""The live cluster, and what the template said before: from the account, or from files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.cli.account import AccountError, Clients, Kind, call
from hyperpod_constructs.cli.failures import CommandError
from hyperpod_constructs.cli.reading.documents import read_text
from hyperpod_constructs.cli.reading.template import properties_of
from hyperpod_constructs.handlers.cluster.observed import Cluster, read_cluster
from hyperpod_constructs.handlers.cluster.properties import LOGICAL_ID_TAG, STACK_ID_TAG

from .desired import template_properties

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hyperpod_constructs.handlers.cluster.properties import Properties


@dataclass(frozen=True, kw_only=True)
class Past:
    """What there is.

    Attributes:
        cluster: None when there is none of that name.
        tags: of the cluster; None when they are not known.
        previous: what the template said before; None when that is not known.
        notes: why something is not known.
    """

    cluster: Cluster | None
    tags: Mapping[str, str] | None = None
    previous: Properties | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)


def past_of_account(name: str, clients: Clients) -> Past:
    """Ask the account.

    Raises:
        AccountError: the cluster itself cannot be looked at.
    """
    sagemaker = clients.client("sagemaker")
    try:
        details = call("sagemaker:DescribeCluster", sagemaker.describe_cluster, ClusterName=name)
    except AccountError as error:
        if error.kind is Kind.NOT_FOUND:
            return Past(cluster=None, tags={})
        raise
    cluster = read_cluster(details)
    try:
        tags = _tags(sagemaker, cluster.arn)
    except AccountError as error:
        return Past(cluster=cluster, notes=(f"the cluster's tags are not known: {error}",))
    try:
        previous, note = _previous(tags, clients), ""
    except (AccountError, CommandError, ValueError) as error:
        previous, note = None, f"what the template said before is not known: {error}"
    return Past(cluster=cluster, tags=tags, previous=previous, notes=(note,) if note else ())


def past_of_file(path: Path) -> Past:
    """A saved answer of ``aws sagemaker describe-cluster``.

    Raises:
        CommandError: the file is none.
    """
    try:
        details = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise CommandError(f"{path}:{error.lineno}:{error.colno}: not valid JSON: {error.msg}") from None
    if not isinstance(details, dict) or not isinstance(details.get("InstanceGroups"), list):
        raise CommandError(f"{path}: is no answer of describe-cluster; save one with: aws sagemaker describe-cluster")
    return Past(cluster=read_cluster(details))


def _tags(sagemaker: Any, arn: str) -> dict[str, str]:
    tags: dict[str, str] = {}
    request = {"ResourceArn": arn}
    while True:
        page = call("sagemaker:ListTags", sagemaker.list_tags, **request)
        tags.update({tag["Key"]: tag["Value"] for tag in page.get("Tags", ())})
        if not page.get("NextToken"):
            return tags
        request["NextToken"] = page["NextToken"]


def _previous(tags: Mapping[str, str], clients: Clients) -> Properties | None:
    """The deployed template of the stack that owns the cluster."""
    stack, logical_id = tags.get(STACK_ID_TAG), tags.get(LOGICAL_ID_TAG)
    if stack is None or logical_id is None:
        return None
    get_template = clients.client("cloudformation").get_template
    body = call("cloudformation:GetTemplate", get_template, StackName=stack, TemplateStage="Processed")["TemplateBody"]
    template = json.loads(body) if isinstance(body, str) else body
    properties = properties_of(template, logical_id)
    return None if properties is None else template_properties(properties, f"the template of {stack}")
