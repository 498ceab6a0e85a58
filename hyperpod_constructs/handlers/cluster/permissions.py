"""What the handler's role must be allowed: plain data that the construct turns into a policy. Needs no SDK.

The test suite runs every story against a client that denies what is not in this table, and fails when a row is used
by no story or call.
"""

from dataclasses import dataclass
from enum import StrEnum


class Resource(StrEnum):
    """What an action is granted on; the construct makes the ARN."""

    ANY = "*"
    CLUSTER = "cluster/*"
    """Clusters of the account and region. Their ARNs end in an id that is unknown before creation (FACTS 5.1)."""
    TRAINING_PLAN = "training-plan/*"
    RESERVED_CAPACITY = "reserved-capacity/*"
    EXECUTION_ROLE = "execution roles of the groups"
    STACK = "the stack itself"
    CLUSTER_LOG_STREAM = "log-group:/aws/sagemaker/Clusters/*:log-stream:*"
    SERVICE_LINKED_ROLE = "role/aws-service-role/sagemaker.amazonaws.com/*"


@dataclass(frozen=True, kw_only=True)
class Permission:
    """One action on one kind of resource.

    Attributes:
        action: the IAM action.
        resource: what it is granted on.
        reason: why it is needed, and for a wildcard why nothing narrower does.
        call: the API operation that needs it; "" when the service checks it on its own.
        conditions: IAM condition operator -> key -> value.
    """

    action: str
    resource: Resource
    reason: str
    call: str = ""
    conditions: tuple[tuple[str, str, str], ...] = ()


_ID_UNKNOWN = "the cluster's ARN ends in an id that exists only after creation"
_PASSED_TO = (("StringEquals", "iam:PassedToService", "sagemaker.amazonaws.com"),)
_LINKED_SERVICE = (("StringLike", "iam:AWSServiceName", "sagemaker.amazonaws.com"),)

PERMISSIONS: tuple[Permission, ...] = (
    Permission(
        action="sagemaker:CreateCluster",
        resource=Resource.ANY,
        call="CreateCluster",
        reason=f"creates the cluster; `*` because {_ID_UNKNOWN} and AWS's own samples grant it so (FACTS 1.4)",
    ),
    *(
        Permission(
            action=f"sagemaker:{call}",
            resource=Resource.CLUSTER,
            call=call,
            reason=f"{reason}; all clusters because {_ID_UNKNOWN}; the owner tags keep others untouched",
        )
        for call, reason in (
            ("DescribeCluster", "every decision starts from what is there"),
            ("UpdateCluster", "scales, adds, removes and changes groups"),
            ("UpdateClusterSoftware", "starts a software update when the pinned image changes"),
            ("DeleteCluster", "deletes the cluster"),
            ("ListTags", "reads the owner tags"),
            ("AddTags", "tags at creation and changed tags"),
            ("DeleteTags", "removed tags"),
            ("ListClusterEvents", "the cause of a failure"),
            ("DescribeClusterEvent", "the failure text, which only this call shows"),
            ("ListClusterNodes", "what nodes say when a deletion takes long"),
        )
    ),
    *(
        Permission(
            action=f"sagemaker:{call}",
            resource=resource,
            reason="checked by the service when a group uses a training plan (FACTS 1.4); any plan of the account",
        )
        for call in ("CreateCluster", "UpdateCluster")
        for resource in (Resource.TRAINING_PLAN, Resource.RESERVED_CAPACITY)
    ),
    Permission(
        action="iam:PassRole",
        resource=Resource.EXECUTION_ROLE,
        reason="checked by CreateCluster and UpdateCluster for each group's execution role",
        conditions=_PASSED_TO,
    ),
    Permission(
        action="iam:CreateServiceLinkedRole",
        resource=Resource.SERVICE_LINKED_ROLE,
        reason="the first HyperPod cluster of an account makes AWSServiceRoleForSageMakerHyperPod (FACTS 1.4)",
        conditions=_LINKED_SERVICE,
    ),
    Permission(
        action="cloudformation:DescribeStacks",
        resource=Resource.STACK,
        call="DescribeStacks",
        reason="whether the stack is rolling back: then nothing is refused",
    ),
    Permission(
        action="logs:GetLogEvents",
        resource=Resource.CLUSTER_LOG_STREAM,
        call="GetLogEvents",
        reason="the last lines of a failed lifecycle script; the log group's name holds the cluster's unknown id",
    ),
)
