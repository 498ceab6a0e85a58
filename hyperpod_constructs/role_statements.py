"""What the nodes' role must be allowed, one function a feature: the only place that knows (FACTS 1.3)."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from hyperpod_constructs.acknowledgements import Reasons

# FACTS 1.3, custom VPC. These take no resource: EC2 describes everything or nothing.
_DESCRIBE_NETWORK = (
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeVpcs",
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeSubnets",
    "ec2:DescribeSecurityGroups",
)
_INTERFACES = (
    "ec2:CreateNetworkInterface",
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
    # For automatic recovery, which moves a node's interfaces (FACTS 1.3).
    "ec2:DetachNetworkInterface",
)
_PULL = ("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")


def vpc_statements(stack: Stack) -> list[iam.PolicyStatement]:
    """What nodes need in a VPC of yours (FACTS 1.3), each as narrow as EC2 allows.

    Args:
        stack: gives partition, region and account.
    """

    def arns(*kinds: str) -> list[str]:
        return [stack.format_arn(service="ec2", resource=kind, resource_name="*") for kind in kinds]

    return [
        iam.PolicyStatement(actions=list(_DESCRIBE_NETWORK), resources=["*"]),
        iam.PolicyStatement(
            actions=list(_INTERFACES),
            # The interfaces' instances live in an account of the service (FACTS 0): no instance ARN of ours.
            resources=[*arns("network-interface", "subnet", "security-group", "vpc")],
        ),
        iam.PolicyStatement(actions=["ec2:CreateTags"], resources=arns("network-interface")),
    ]


def file_system_statements() -> list[iam.PolicyStatement]:
    """What scripts need that look whether a file system has EFA (field report N-06); mounting needs nothing.

    The action takes no resource (service authorization reference), so it joins the one statement that describes:
    CDK merges statements without a sid.
    """
    return [iam.PolicyStatement(actions=["fsx:DescribeFileSystems"], resources=["*"])]


def volume_key_statements(stack: Stack, key_arn: str) -> list[iam.PolicyStatement]:
    """What encrypting volumes with a key of yours needs (FACTS 1.3): grants for AWS's own use, through SageMaker only.

    Args:
        stack: gives region and DNS suffix.
        key_arn: of the key.
    """
    return [
        iam.PolicyStatement(
            actions=["kms:CreateGrant"],
            resources=[key_arn],
            conditions={
                "Bool": {"kms:GrantIsForAWSResource": "true"},
                "StringEquals": {"kms:ViaService": f"sagemaker.{stack.region}.{stack.url_suffix}"},
            },
        ),
        iam.PolicyStatement(actions=["kms:DescribeKey"], resources=[key_arn]),
    ]


def container_image_statements(repository_arns: Sequence[str]) -> list[iam.PolicyStatement]:
    """What pulling images from repositories of ECR needs.

    Args:
        repository_arns: of the repositories.
    """
    return [
        # Takes no resource: the token is for the whole registry (service authorization reference).
        iam.PolicyStatement(actions=["ecr:GetAuthorizationToken"], resources=["*"]),
        iam.PolicyStatement(actions=list(_PULL), resources=list(repository_arns)),
    ]


def remote_write_statements(workspace_arn: str) -> list[iam.PolicyStatement]:
    """What writing metrics to Amazon Managed Prometheus needs.

    Args:
        workspace_arn: of the workspace.
    """
    return [iam.PolicyStatement(actions=["aps:RemoteWrite"], resources=[workspace_arn])]


def secret_statements(secret_arn: str) -> list[iam.PolicyStatement]:
    """What reading a secret needs that is known by its ARN alone; an ``ISecret`` is granted with ``grant_read``.

    Args:
        secret_arn: of the secret.
    """
    return [
        iam.PolicyStatement(
            actions=["secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret"], resources=[secret_arn]
        )
    ]


NODE_REASONS: Reasons = (
    (":network-interface/*", "the service makes and deletes a node's interfaces; their ids are not known before"),
    (":subnet/*", "checked together with the interface; the subnets of groups are the cluster's own properties"),
    (":security-group/*", "checked together with the interface; the groups are the cluster's own properties"),
    (":vpc/*", "checked together with the interface"),
    ("Resource::*", "EC2 and FSx take no resource for Describe actions, nor does ecr:GetAuthorizationToken"),
)
"""Why the wildcards in a node role's policies are there."""
