"""The role of the cluster's nodes."""

from collections.abc import Sequence

import jsii
from aws_cdk import Aspects, CfnResource, IAspect, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct, IConstruct

from hyperpod_constructs.acknowledgements import acknowledge_wildcards
from hyperpod_constructs.role_statements import NODE_REASONS, vpc_statements

MANAGED_POLICY = "AmazonSageMakerClusterInstanceRolePolicy"
_MANAGED_POLICY_FINDING = f"IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{MANAGED_POLICY}]"


@jsii.implements(iam.IGrantable)
class ExecutionRole(Construct):
    """The role that a cluster's nodes run with: the service's managed policy and what a VPC of yours needs.

    What further features need is granted by the cluster, or by you: ``bucket.grant_read_write(role)`` for data,
    ``role.allow(*container_image_statements(...))`` for images.

    Args:
        scope: parent construct.
        id: construct id.
        managed_policies: further managed policies; none by default.
        permissions_boundary: boundary of the role; none by default. For every role of an app, CDK's own too, use
            ``iam.PermissionsBoundary.of(app).apply(...)``.
        path: IAM path of the role, such as ``/hyperpod/``; ``/`` by default. For every role use :class:`RolePath`.
        only_for_this_account: whether the service may assume it for clusters of this account only. Off by default:
            no sample of the service has the condition, so it is not known to be honoured (field report N-14).

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
        path: str | None = None,
        only_for_this_account: bool = False,
    ) -> None:
        super().__init__(scope, id)
        stack = Stack.of(self)
        service: iam.IPrincipal = iam.ServicePrincipal("sagemaker.amazonaws.com")
        if only_for_this_account:
            service = iam.PrincipalWithConditions(
                service,
                {
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnLike": {
                        "aws:SourceArn": stack.format_arn(service="sagemaker", resource="cluster", resource_name="*")
                    },
                },
            )
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=service,
            description="Nodes of a SageMaker HyperPod cluster",
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(MANAGED_POLICY), *managed_policies],
            permissions_boundary=permissions_boundary,
            path=path,
        )
        self.allow(*vpc_statements(stack))
        reason = "the policy that the service prescribes for nodes"
        acknowledge_wildcards(self.role, NODE_REASONS, (_MANAGED_POLICY_FINDING, reason))

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """The role, as the receiver of grants."""
        return self.role.grant_principal

    def allow(self, *statements: iam.PolicyStatement) -> None:
        """Add statements, such as those of :mod:`hyperpod_constructs.role_statements`.

        Args:
            statements: to add.
        """
        for statement in statements:
            self.role.add_to_principal_policy(statement)


@jsii.implements(IAspect)
class _SetPath:
    def __init__(self, path: str) -> None:
        self._path = path

    def visit(self, node: IConstruct) -> None:
        # By type name: CDK's own helper roles are no CfnRole.
        if isinstance(node, CfnResource) and node.cfn_resource_type in ("AWS::IAM::Role", "AWS::IAM::ManagedPolicy"):
            node.add_property_override("Path", self._path)


class RolePath:
    """Gives every role and managed policy under a scope an IAM path, the helper roles of the CDK included.

    Example:
        >>> from aws_cdk import App
        >>> RolePath.of(App()).apply("/hyperpod/")
    """

    def __init__(self, scope: IConstruct) -> None:
        self._scope = scope

    @classmethod
    def of(cls, scope: IConstruct) -> "RolePath":
        """For a scope.

        Args:
            scope: app, stack or construct.
        """
        return cls(scope)

    def apply(self, path: str) -> None:
        """Set the path.

        Args:
            path: begins and ends with a slash.
        """
        Aspects.of(self._scope).add(_SetPath(path))
