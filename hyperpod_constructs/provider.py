"""The custom resource's provider: two functions, the framework around them, and exactly the permissions they use."""

from collections.abc import Iterable
from typing import cast

from aws_cdk import Duration, IgnoreMode, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import custom_resources as custom_resources
from constructs import Construct

from hyperpod_constructs import assets
from hyperpod_constructs.limits import CLOUDFORMATION_WAIT_MINUTES
from hyperpod_constructs.provider_acknowledgements import acknowledge_provider
from hyperpod_constructs.provider_policy import pass_role_statement, policy_statements

QUERY_INTERVAL_CONTEXT = "hyperpod-constructs:query-interval-seconds"
"""CDK context key: seconds between two looks at a cluster that is not ready yet; 30 by default."""

_ID = "HyperPodClusterProvider"
_QUERY_INTERVAL_SECONDS = 30
_TIMEOUT_MINUTES = 5
_MEMORY_MIB = 256


class ClusterProvider(Construct):
    """What stands behind ``Custom::HyperPodCluster``; one serves all clusters of a stack.

    Args:
        scope: parent construct.
        id: construct id.

    Attributes:
        service_token: for ``CustomResource``.
        provider: CDK's framework.

    Example:
        >>> from aws_cdk import App, Stack
        >>> stack = Stack(App(), "Training")
        >>> ClusterProvider.of(stack) is ClusterProvider.of(stack)
        True
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        self._functions = [self._function("OnEvent", "on_event"), self._function("IsComplete", "is_complete")]
        on_event, is_complete = self._functions
        self.provider = custom_resources.Provider(
            self,
            "Framework",
            on_event_handler=on_event,
            is_complete_handler=is_complete,
            query_interval=Duration.seconds(self._query_interval_seconds()),
            total_timeout=Duration.minutes(CLOUDFORMATION_WAIT_MINUTES),
            log_group=self._log_group("FrameworkLogs"),
            disable_waiter_state_machine_logging=True,
        )
        self.service_token = self.provider.service_token
        for statement in policy_statements(Stack.of(self)):
            self._allow(statement)
        acknowledge_provider(self, on_event, self.provider)

    @classmethod
    def of(cls, scope: Construct) -> "ClusterProvider":
        """The provider of the scope's stack, made at the first call.

        Args:
            scope: any construct of the stack.
        """
        stack = Stack.of(scope)
        existing = stack.node.try_find_child(_ID)
        return cast("ClusterProvider", existing) if existing is not None else cls(stack, _ID)

    def allow_pass_role(self, role_arns: Iterable[str]) -> None:
        """Let the functions hand these roles to the service, and to nothing else (FACTS 1.4).

        Args:
            role_arns: roles of a cluster's groups.
        """
        self._allow(pass_role_statement(list(dict.fromkeys(role_arns))))

    def _allow(self, statement: iam.PolicyStatement) -> None:
        for function in self._functions:
            function.add_to_role_policy(statement)

    def _function(self, id: str, handler: str) -> lambda_.Function:
        return lambda_.Function(
            self,
            id,
            description=f"HyperPod cluster custom resource, {handler}",
            runtime=lambda_.Runtime.PYTHON_3_13,
            handler=f"cluster.index.{handler}",
            code=lambda_.Code.from_asset(
                str(assets.handlers()), exclude=list(assets.EXCLUDED), ignore_mode=IgnoreMode.GLOB
            ),
            timeout=Duration.minutes(_TIMEOUT_MINUTES),
            memory_size=_MEMORY_MIB,
            log_group=self._log_group(f"{id}Logs"),
        )

    def _log_group(self, id: str) -> logs.LogGroup:
        return logs.LogGroup(self, id, retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY)

    def _query_interval_seconds(self) -> int:
        return int(self.node.try_get_context(QUERY_INTERVAL_CONTEXT) or _QUERY_INTERVAL_SECONDS)
