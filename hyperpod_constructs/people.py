"""What people may do with a cluster: administrators run it, scientists log in."""

from collections.abc import Sequence
from typing import cast

from aws_cdk import Annotations, Stack, Tags
from aws_cdk import aws_iam as iam
from constructs import Construct

from hyperpod_constructs import limits
from hyperpod_constructs.acknowledgements import Reasons, acknowledge_wildcards
from hyperpod_constructs.cluster_base import ClusterBase
from hyperpod_constructs.errors import Problem, SpecError
from hyperpod_constructs.rules.rule import bad_name

RUN_AS_TAG = "SSMSessionRunAs"
"""Tag of a user or role that names the Linux user of its sessions (FACTS 1.4)."""

RUN_AS_WARNING = "hyperpod-constructs:run-as"
SESSION_DOCUMENTS = ("SSM-SessionManagerRunShell", "AWS-StartSSHSession", "AWS-StartPortForwardingSession")
"""A shell, SSH and its tunnels, and a forwarded port (FACTS 9)."""

# FACTS 1.4; deletion is left out: a cluster goes with its stack.
_ADMIN = (
    "DescribeCluster",
    "DescribeClusterEvent",
    "DescribeClusterNode",
    "ListClusterEvents",
    "ListClusterNodes",
    "ListTags",
    "UpdateCluster",
    "UpdateClusterSoftware",
    "BatchAddClusterNodes",
    "BatchDeleteClusterNodes",
    "BatchRebootClusterNodes",
    "BatchReplaceClusterNodes",
)
# They take no resource (service authorization reference).
_ADMIN_ANYWHERE = ("ListClusters",)
_REASONS: Reasons = (
    (":session/", "the ids of one's own sessions begin with one's name and end in a number of the service's"),
    (":log-group:", "every stream of the cluster's own log group"),
    ("Resource::*", "ListClusters takes no resource"),
)
_LOGS = ("logs:DescribeLogStreams", "logs:FilterLogEvents", "logs:GetLogEvents")


def admin_statements(cluster: ClusterBase) -> list[iam.PolicyStatement]:
    """What running a cluster needs: scaling, repairing, updating, watching, logging in.

    Args:
        cluster: the cluster.
    """
    return [
        iam.PolicyStatement(actions=[f"sagemaker:{name}" for name in _ADMIN], resources=[cluster.cluster_arn]),
        iam.PolicyStatement(actions=[f"sagemaker:{name}" for name in _ADMIN_ANYWHERE], resources=["*"]),
        iam.PolicyStatement(actions=list(_LOGS), resources=[_log_group_arn(cluster, "*")]),
        *connect_statements(cluster),
    ]


def connect_statements(cluster: ClusterBase, documents: Sequence[str] = SESSION_DOCUMENTS) -> list[iam.PolicyStatement]:
    """What logging in to nodes needs: sessions to this cluster, and the end of one's own sessions.

    Args:
        cluster: the cluster.
        documents: session documents that may be used.
    """
    stack = Stack.of(cluster)
    own_sessions = [f"session/${{aws:{variable}}}-*" for variable in ("username", "userid")]
    return [
        iam.PolicyStatement(
            actions=["ssm:StartSession"],
            resources=[cluster.cluster_arn, *(_document_arn(stack, name) for name in documents)],
        ),
        iam.PolicyStatement(
            actions=["ssm:ResumeSession", "ssm:TerminateSession"],
            resources=[f"arn:{stack.partition}:ssm:*:{stack.account}:{session}" for session in own_sessions],
        ),
        iam.PolicyStatement(
            actions=["sagemaker:DescribeCluster", "sagemaker:ListClusterNodes"], resources=[cluster.cluster_arn]
        ),
    ]


def set_run_as(grantee: iam.IGrantable, user: str) -> None:
    """Tag a role or user, so that its sessions belong to a Linux user.

    Session Manager's preference "Enable Run As support" must be on in the account and region.

    Args:
        grantee: a role or user that this app makes; of an imported one a warning says to tag it by hand.
        user: name of a Linux user, such as one of the cluster's ``users``.

    Raises:
        SpecError: no name of a Linux user.
    """
    if message := bad_name(user, limits.USER_NAME):
        raise SpecError([Problem(path="run_as", message=message)], subject="grant")
    if isinstance(grantee, (iam.Role, iam.User)):
        Tags.of(grantee).add(RUN_AS_TAG, user)
    elif hasattr(grantee, "node"):
        Annotations.of(cast("Construct", grantee)).add_warning_v2(
            RUN_AS_WARNING, f'it is not made by this app: tag it by hand with {RUN_AS_TAG} = "{user}"'
        )


class ClusterAdminPolicy(Construct):
    """A managed policy for those who run a cluster; they may do everything with it but delete it.

    Args:
        scope: parent construct.
        id: construct id.
        cluster: the cluster.

    Attributes:
        policy: to attach to roles, users, or a permission set by its ARN.

    Example:
        >>> from aws_cdk import App, Stack
        >>> from hyperpod_constructs import SlurmCluster
        >>> stack = Stack(App(), "People")
        >>> arn = "arn:aws:sagemaker:us-east-1:123456789012:cluster/abcdefghijkl"
        >>> cluster = SlurmCluster.from_cluster_attributes(stack, "Cluster", cluster_name="llm", cluster_arn=arn)
        >>> policy = ClusterAdminPolicy(stack, "Admins", cluster=cluster).policy
    """

    def __init__(self, scope: Construct, id: str, *, cluster: ClusterBase) -> None:
        super().__init__(scope, id)
        self.policy = iam.ManagedPolicy(
            self,
            "Policy",
            description=f"Run the HyperPod cluster {cluster.cluster_name}",
            statements=admin_statements(cluster),
        )
        acknowledge_wildcards(self, _REASONS)


class ClusterUserPolicy(Construct):
    """A managed policy for scientists: they may log in to the nodes of a cluster, and nothing else.

    Args:
        scope: parent construct.
        id: construct id.
        cluster: the cluster.
        documents: session documents that may be used; shell, SSH and port forwarding by default.

    Attributes:
        policy: to attach to roles, users, or a permission set by its ARN.
    """

    def __init__(
        self, scope: Construct, id: str, *, cluster: ClusterBase, documents: Sequence[str] = SESSION_DOCUMENTS
    ) -> None:
        super().__init__(scope, id)
        self.policy = iam.ManagedPolicy(
            self,
            "Policy",
            description=f"Log in to the HyperPod cluster {cluster.cluster_name}",
            statements=connect_statements(cluster, documents),
        )
        acknowledge_wildcards(self, _REASONS)


def _document_arn(stack: Stack, name: str) -> str:
    # AWS's own documents have no account in their ARN (Systems Manager user guide).
    account = "" if name.startswith("AWS-") else stack.account
    return f"arn:{stack.partition}:ssm:{stack.region}:{account}:document/{name}"


def _log_group_arn(cluster: ClusterBase, stream: str) -> str:
    stack = Stack.of(cluster)
    prefix = f"arn:{stack.partition}:logs:{stack.region}:{stack.account}:log-group"
    return f"{prefix}:{cluster.log_group_name}:{stream}"
