"""What can be done with any cluster, made here or imported."""

from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from constructs import Construct

from hyperpod_constructs.event_patterns import EventKind, EventLevel
from hyperpod_constructs.metrics import ClusterMetrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_cloudwatch as cloudwatch
    from aws_cdk import aws_events as events

METRIC_NAMESPACE = "/aws/sagemaker/Clusters"  # FACTS 8
_METRIC_PERIOD_MINUTES = 5
_DESCRIBE = (
    "DescribeCluster",
    "DescribeClusterNode",
    "ListClusterNodes",
    "ListClusterEvents",
    "DescribeClusterEvent",
    "ListTags",
)


class ClusterBase(ClusterMetrics, Construct):
    """The attributes, grants and metrics of a cluster.

    Attributes:
        cluster_name: the cluster's name.
        cluster_arn: known at deploy time, or a literal of an imported cluster.
        cluster_id: the 12 characters that end the ARN and name SSM targets and log groups (FACTS 5.1, 9).
        log_group_name: of the nodes' lifecycle logs, which exists once the cluster does (FACTS 8).
    """

    cluster_name: str
    cluster_arn: str
    cluster_id: str
    log_group_name: str

    def metric(
        self, metric_name: str, *, statistic: str = "Average", period: Duration | None = None
    ) -> "cloudwatch.Metric":
        """One of the service's metrics of this cluster (FACTS 8).

        Args:
            metric_name: the service's name, such as ``cluster_node_count``.
            statistic: ``Average`` by default.
            period: five minutes by default.
        """
        from aws_cdk import aws_cloudwatch as cloudwatch  # most apps ask for no metric

        return cloudwatch.Metric(
            namespace=METRIC_NAMESPACE,
            metric_name=metric_name,
            dimensions_map={"ClusterId": self.cluster_id},
            statistic=statistic,
            period=period or Duration.minutes(_METRIC_PERIOD_MINUTES),
        )

    def on_event(
        self,
        id: str,
        *,
        target: "events.IRuleTarget | None" = None,
        level: EventLevel = EventLevel.ERROR,
        kinds: "Sequence[EventKind]" = tuple(EventKind),
    ) -> "dict[EventKind, events.Rule]":
        """Rules for this cluster's events, one for each type, since each type nests otherwise (FACTS 8).

        Args:
            id: construct id, below this cluster.
            target: what is called; nothing by default, add targets to the rules then.
            level: the lowest that is wanted; errors only by default.
            kinds: types of event; all by default.
        """
        from hyperpod_constructs.events import add_rules

        return add_rules(Construct(self, id), self.cluster_name, target, level=level, kinds=kinds)

    def grant(self, grantee: iam.IGrantable, *actions: str) -> iam.Grant:
        """Let somebody do something with this cluster.

        Args:
            grantee: who.
            actions: such as ``sagemaker:DescribeCluster``.
        """
        return iam.Grant.add_to_principal(grantee=grantee, actions=list(actions), resource_arns=[self.cluster_arn])

    def grant_describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let somebody see the cluster, its nodes, its events and its tags.

        Args:
            grantee: who.
        """
        return self.grant(grantee, *(f"sagemaker:{name}" for name in _DESCRIBE))

    def grant_admin(self, grantee: iam.IGrantable) -> None:
        """Let somebody run the cluster: scale, repair, update, watch, log in; everything but delete it.

        Args:
            grantee: who.
        """
        from hyperpod_constructs.people import admin_statements

        for statement in admin_statements(self):
            grantee.grant_principal.add_to_principal_policy(statement)

    def grant_connect(self, grantee: iam.IGrantable, *, run_as: str = "") -> None:
        """Let somebody log in to the nodes with Session Manager or SSH over it.

        Args:
            grantee: who.
            run_as: Linux user of the sessions; the service's default user if not given.

        Raises:
            SpecError: ``run_as`` is no name of a Linux user.
        """
        from hyperpod_constructs.people import connect_statements, set_run_as

        if run_as:
            set_run_as(grantee, run_as)
        for statement in connect_statements(self):
            grantee.grant_principal.add_to_principal_policy(statement)


class ImportedCluster(ClusterBase):
    """A cluster that exists; made by ``SlurmCluster.from_cluster_attributes``."""

    def __init__(self, scope: Construct, id: str, *, cluster_name: str, cluster_arn: str, cluster_id: str) -> None:
        super().__init__(scope, id)
        self.cluster_name = cluster_name
        self.cluster_arn = cluster_arn
        self.cluster_id = cluster_id
        self.log_group_name = f"{METRIC_NAMESPACE}/{cluster_name}/{cluster_id}"
