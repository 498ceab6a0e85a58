"""The role of the cluster's nodes."""

from collections.abc import Sequence

import jsii
from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

MANAGED_POLICY = "AmazonSageMakerClusterInstanceRolePolicy"

# FACTS 1.3, custom VPC. These take no resource: EC2 describes everything or nothing.
_DESCRIBE = (
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


def vpc_statements(stack: Stack) -> list[iam.PolicyStatement]:
    """What nodes need in a VPC of yours (FACTS 1.3), each as narrow as EC2 allows.

    Args:
        stack: gives partition, region and account.
    """

    def arns(*kinds: str) -> list[str]:
        return [stack.format_arn(service="ec2", resource=kind, resource_name="*") for kind in kinds]

    return [
        iam.PolicyStatement(sid="DescribeNetwork", actions=list(_DESCRIBE), resources=["*"]),
        iam.PolicyStatement(
            sid="AttachToNetwork",
            actions=list(_INTERFACES),
            # The interfaces' instances live in an account of the service (FACTS 0): no instance ARN of ours.
            resources=[*arns("network-interface", "subnet", "security-group", "vpc")],
        ),
        iam.PolicyStatement(sid="TagInterfaces", actions=["ec2:CreateTags"], resources=arns("network-interface")),
    ]


@jsii.implements(iam.IGrantable)
class ExecutionRole(Construct):
    """The role that a cluster's nodes run with: the service's managed policy and what a VPC of yours needs.

    Args:
        scope: parent construct.
        id: construct id.
        managed_policies: further managed policies; none by default.
        permissions_boundary: boundary of the role; none by default.

    Attributes:
        role: the role, to which further grants can be made.

    Example:
        >>> from aws_cdk import App, Stack
        >>> role = ExecutionRole(Stack(App(), "Identity"), "NodeRole").role
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        managed_policies: Sequence[iam.IManagedPolicy] = (),
        permissions_boundary: iam.IManagedPolicy | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"),
            description="Nodes of a SageMaker HyperPod cluster",
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(MANAGED_POLICY), *managed_policies],
            permissions_boundary=permissions_boundary,
        )
        for statement in vpc_statements(Stack.of(self)):
            self.role.add_to_principal_policy(statement)

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """The role, as the receiver of grants."""
        return self.role.grant_principal
