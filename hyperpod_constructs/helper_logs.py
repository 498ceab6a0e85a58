"""Log groups for the small functions that CDK adds by itself.

Lambda makes a log group for a function that names none, and such a group stays when the stack goes.
"""

from aws_cdk import CfnResource, RemovalPolicy, Stack
from aws_cdk import aws_logs as logs
from constructs import Construct

AUTO_DELETE_OBJECTS = "Custom::S3AutoDeleteObjectsCustomResourceProvider"
RESTRICT_DEFAULT_GROUP = "Custom::VpcRestrictDefaultSGCustomResourceProvider"

_HANDLER = "Handler"


def give_log_group(scope: Construct, provider_id: str) -> None:
    """Let a function of CDK's write to a log group of the stack, once a stack; nothing if it has no such function.

    Args:
        scope: any construct of the stack.
        provider_id: where CDK puts the function's provider in a stack.
    """
    stack = Stack.of(scope)
    provider = stack.node.try_find_child(provider_id)
    log_id = f"{provider_id.removeprefix('Custom::').removesuffix('CustomResourceProvider')}Logs"
    if provider is None or stack.node.try_find_child(log_id) is not None:
        return
    group = logs.LogGroup(stack, log_id, retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY)
    handler = provider.node.try_find_child(_HANDLER)
    if isinstance(handler, CfnResource):
        handler.add_property_override("LoggingConfig", {"LogGroup": group.log_group_name})
