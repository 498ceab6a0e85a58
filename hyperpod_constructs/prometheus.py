"""Where a cluster's metrics are kept: made before the cluster, because its scripts and its role need the address."""

import json
from collections.abc import Iterable

from aws_cdk import ArnFormat, RemovalPolicy, Stack, Token
from aws_cdk import aws_aps as aps
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from hyperpod_constructs.events import LOGS_WITHOUT_KEY, skip_checkov
from hyperpod_constructs.observability import PrometheusKind, PrometheusWorkspace
from hyperpod_constructs.observability_rules import REMOTE_WRITE_END

_QUERY_ACTIONS = ("aps:QueryMetrics", "aps:GetLabels", "aps:GetSeries", "aps:GetMetricMetadata")
_RULES = "hyperpod"


class PrometheusTarget(Construct):
    """A Prometheus that nodes write to: a new workspace, or yours.

    Args:
        scope: parent construct.
        id: construct id.
        cluster_name: alias of a new workspace that has none.
        options: what the user wants; not ``none()``.

    Attributes:
        workspace_arn: of an Amazon Managed Prometheus workspace; "" for any other Prometheus.
        remote_write_url: where nodes write.
        resource: the workspace, if it is ours.

    Example:
        >>> from aws_cdk import App, Stack
        >>> stack = Stack(App(), "Metrics")
        >>> target = PrometheusTarget(stack, "Target", cluster_name="train", options=PrometheusWorkspace.new())
        >>> target.resource.alias
        'train'
    """

    def __init__(self, scope: Construct, id: str, *, cluster_name: str, options: PrometheusWorkspace) -> None:
        super().__init__(scope, id)
        self.resource: aps.CfnWorkspace | None = None
        if options.kind is PrometheusKind.NEW:
            self.resource = self._create(options, cluster_name)
            self.workspace_arn = self.resource.attr_arn
            self.remote_write_url = f"{self.resource.attr_prometheus_endpoint}{REMOTE_WRITE_END}"
        else:
            self.workspace_arn = options.workspace_arn
            self.remote_write_url = options.remote_write_url or self._url(options.workspace_arn)

    def grant_remote_write(self, grantees: Iterable[iam.IGrantable]) -> None:
        """Let nodes write metrics (FACTS 1.3). Nothing for a Prometheus that IAM does not guard.

        Args:
            grantees: roles of the nodes.
        """
        self._grant(grantees, ["aps:RemoteWrite"])

    def grant_query(self, grantee: iam.IGrantable) -> None:
        """Let a Grafana read metrics. Nothing for a Prometheus that IAM does not guard.

        Args:
            grantee: role of the Grafana workspace.
        """
        self._grant([grantee], list(_QUERY_ACTIONS))

    def add_rules(self, groups: dict[str, object]) -> None:
        """Rules that the workspace evaluates, if it is ours: another's rules are not ours to change.

        Args:
            groups: in the form of a Prometheus rules file. JSON is YAML, which is what the workspace reads.
        """
        if self.resource is not None:
            aps.CfnRuleGroupsNamespace(
                self, "Rules", name=_RULES, workspace=self.resource.attr_arn, data=json.dumps(groups, indent=1)
            )

    def _grant(self, grantees: Iterable[iam.IGrantable], actions: list[str]) -> None:
        if self.workspace_arn:
            for grantee in grantees:
                iam.Grant.add_to_principal(grantee=grantee, actions=actions, resource_arns=[self.workspace_arn])

    def _create(self, options: PrometheusWorkspace, cluster_name: str) -> aps.CfnWorkspace:
        log_group = logs.LogGroup(
            self, "Logs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        skip_checkov(log_group, LOGS_WITHOUT_KEY)
        workspace = aps.CfnWorkspace(
            self,
            "Workspace",
            alias=options.alias or cluster_name,
            # Failing rules and refused samples are told nowhere else. The service wants the ARN with its wildcard.
            logging_configuration=aps.CfnWorkspace.LoggingConfigurationProperty(log_group_arn=log_group.log_group_arn),
        )
        workspace.apply_removal_policy(RemovalPolicy.RETAIN if options.keep else RemovalPolicy.DESTROY)
        return workspace

    def _url(self, workspace_arn: str) -> str:
        """The address that belongs to a workspace (user guide of Amazon Managed Service for Prometheus)."""
        stack = Stack.of(self)
        if Token.is_unresolved(workspace_arn):
            parts = stack.split_arn(workspace_arn, arn_format=ArnFormat.SLASH_RESOURCE_NAME)
            region, workspace_id = str(parts.region), str(parts.resource_name)
        else:
            region, workspace_id = workspace_arn.split(":")[3], workspace_arn.rpartition("/")[2]
        suffix = stack.url_suffix if Token.is_unresolved(region) or region.startswith("cn-") else "amazonaws.com"
        return f"https://aps-workspaces.{region}.{suffix}/workspaces/{workspace_id}/{REMOTE_WRITE_END}"
