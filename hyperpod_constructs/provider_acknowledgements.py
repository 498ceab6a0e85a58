"""Why the custom resource's functions and CDK's framework around them are as cdk-nag finds them."""

from aws_cdk import aws_iam as iam
from constructs import IConstruct

from hyperpod_constructs.acknowledgements import Reasons, acknowledge, acknowledge_wildcards, explained

_BASIC_EXECUTION = "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]"
_BASIC_REASON = "CDK's own default for functions: writing to their log group, nothing else"
_RUNTIME_REASON = "the runtime is pinned to the version that the tests run; it changes with a release"

# hyperpod_constructs/handlers/cluster/permissions.py gives the reason for each action.
FUNCTION_REASONS: Reasons = (
    (":cluster/*", "a cluster's ARN ends in an id that exists only after creation; the owner tags keep others safe"),
    (":training-plan/*", "the service checks the plan of a group; which one is a property of the resource"),
    (":reserved-capacity/*", "the service checks the plan's capacity, whose ids are not known before"),
    ("/aws-service-role/", "the one role that the service makes in an account, whose name the service chooses"),
    (":log-group:/aws/sagemaker/Clusters/*", "the log group's name ends in the cluster's id, unknown before creation"),
    ("Resource::*", "CreateCluster before the cluster's ARN exists, as AWS's own sample policies grant it"),
)
FRAMEWORK_REASONS: Reasons = ((".Arn>:*", "CDK's provider framework invokes every version of our two functions"),)
UPLOAD_REASONS: Reasons = (
    ("Action::s3:", "CDK's bucket deployment, whose grants are CDK's own, on the two buckets below only"),
    ("Action::kms:", "CDK's bucket deployment, whose grants are CDK's own, on the key of the scripts bucket only"),
    ("-assets-", "CDK's bucket deployment reads the assets of this app from the bootstrap bucket"),
    ("Resource::", "CDK's bucket deployment writes below the cluster's prefix of the scripts bucket"),
)


def acknowledge_provider(provider: IConstruct, function: IConstruct, framework: IConstruct) -> None:
    """Acknowledge what is found about the custom resource's functions and CDK's framework around them.

    Args:
        provider: holds all of them, and nothing of a user's.
        function: one of the two functions, after its last permission; both have the same.
        framework: CDK's ``Provider``.
    """
    # Of the framework's three functions each invokes both of ours; the waiter invokes two of the three.
    policies = [_policy_of(function), *(_policy_of(part) for part in framework.node.children)]
    acknowledge(
        provider,
        (_BASIC_EXECUTION, _BASIC_REASON),
        ("L1", _RUNTIME_REASON),
        ("SF1", "the waiter only asks whether the cluster is ready; each look is in the function's own log"),
        ("SF2", "the waiter only asks whether the cluster is ready; a trace would add nothing to the function's log"),
        *explained([policy for policy in policies if policy is not None], [*FRAMEWORK_REASONS, *FUNCTION_REASONS]),
    )


def acknowledge_upload(role: iam.IRole) -> None:
    """Acknowledge what is found about the function that CDK uploads the scripts with.

    Args:
        role: of the function.
    """
    acknowledge_wildcards(role, UPLOAD_REASONS, (_BASIC_EXECUTION, _BASIC_REASON))
    if role.node.scope is not None:
        acknowledge(role.node.scope, ("L1", "CDK chooses the runtime of its uploads"))


def _policy_of(part: IConstruct) -> IConstruct | None:
    """Functions of CDK's have their role in ``ServiceRole``, state machines in ``Role``."""
    for name in ("ServiceRole/DefaultPolicy", "Role/DefaultPolicy"):
        found: IConstruct | None = part
        for step in name.split("/"):
            found = found.node.try_find_child(step) if found is not None else None
        if found is not None:
            return found
    return None
