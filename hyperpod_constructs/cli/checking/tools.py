"""What a deployment itself needs: the service-linked role, an SDK that knows the fields, the CDK's bootstrap stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hyperpod_constructs.cli.account import AccountError, Clients, Kind, call

from .outcome import Check, failed, passed, unknown, warning

if TYPE_CHECKING:
    from .subject import Subject

LINKED_ROLE = "AWSServiceRoleForSageMakerHyperPod"
OLDEST_BOOTSTRAP = 6
"""What the CDK's own templates ask for."""

QUALIFIER = "hnb659fds"


def linked_role_check(_subject: Subject, clients: Clients) -> list[Check]:
    """The service-linked role, which the first cluster of an account creates (FACTS 1.4)."""
    try:
        call("iam:GetRole", clients.client("iam").get_role, RoleName=LINKED_ROLE)
    except AccountError as error:
        if error.kind is Kind.NOT_FOUND:
            text = "is not there yet; the first cluster creates it if its creator has iam:CreateServiceLinkedRole"
            return [warning(f"service-linked role {LINKED_ROLE}: {text}")]
        return [unknown(f"service-linked role {LINKED_ROLE}: {error}")]
    return [passed(f"Validated service-linked role {LINKED_ROLE} ...")]


def sdk_check(_subject: Subject, clients: Clients) -> list[Check]:
    """The SDK on this machine; the deployment's own function brings a service model along."""
    import boto3

    from hyperpod_constructs.handlers.cluster.clients import check_model, minimum_botocore
    from hyperpod_constructs.handlers.cluster.errors import UnsuitableSdkError

    try:
        check_model(clients.client("sagemaker").meta.service_model)
    except UnsuitableSdkError:
        text = f"does not know continuous provisioning for Slurm; install boto3 {minimum_botocore()} or newer"
        return [failed(f"SDK boto3 {boto3.__version__}: {text}")]
    return [passed(f"Validated SDK boto3 {boto3.__version__} ...")]


def bootstrap_check(_subject: Subject, clients: Clients) -> list[Check]:
    """The CDK's bootstrap stack in this region."""
    name = f"/cdk-bootstrap/{QUALIFIER}/version"
    try:
        answer = call("ssm:GetParameter", clients.client("ssm").get_parameter, Name=name)
    except AccountError as error:
        if error.kind is Kind.NOT_FOUND:
            return [failed(f"CDK bootstrap: is missing in {clients.region}; run cdk bootstrap for account and region")]
        return [unknown(f"CDK bootstrap: {error}")]
    version = str(answer["Parameter"].get("Value", ""))
    if not version.isdecimal() or int(version) < OLDEST_BOOTSTRAP:
        return [
            failed(f"CDK bootstrap: is of version {version}, allowed: {OLDEST_BOOTSTRAP} or newer; run cdk bootstrap")
        ]
    return [passed(f"Validated CDK bootstrap version {version} ...")]
