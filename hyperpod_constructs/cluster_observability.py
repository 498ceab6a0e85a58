"""Makes of :class:`Observability` what it says, for one cluster."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

from aws_cdk import CfnResource, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct

from hyperpod_constructs import extension
from hyperpod_constructs.alarms import ClusterAlarms, FileSystem
from hyperpod_constructs.cloudwatch_dashboard import ClusterDashboard
from hyperpod_constructs.dashboards import alert_rules
from hyperpod_constructs.errors import SpecError
from hyperpod_constructs.events import EventFunction, acknowledge, add_rules, event_records, notices_topic
from hyperpod_constructs.handlers.notify.permissions import READS
from hyperpod_constructs.observability import (
    MetricsSource,
    Notifications,
    Observability,
    PrometheusKind,
)
from hyperpod_constructs.observability_rules import RETENTION_DAYS, observability_problems
from hyperpod_constructs.prometheus import PrometheusTarget
from hyperpod_constructs.specs import ClusterSpec

_BASIC_POLICY = "arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
_LOG_RETENTION_SINGLETON = "LogRetentionaae0aa3c5b4d4f87b02d85b201efdd8a"  # id of CDK's function, one a stack


class ObservedCluster(Protocol):
    """A cluster as far as it is observed: ``SlurmCluster`` is one."""

    @property
    def cluster_name(self) -> str:
        """Known at synth time."""
        ...

    @property
    def cluster_arn(self) -> str:
        """Known at deploy time."""
        ...

    @property
    def cluster_id(self) -> str:
        """Known at deploy time."""
        ...

    @property
    def log_group_name(self) -> str:
        """Known at deploy time."""
        ...

    @property
    def spec(self) -> ClusterSpec:
        """What the cluster is."""
        ...

    @property
    def file_systems(self) -> Sequence[FileSystem]:
        """Of the cluster."""
        ...


class ClusterObservability(Construct):
    """Metrics, dashboard, alarms, notifications and log retention of one cluster, those that the options want.

    ``SlurmCluster`` makes one when it is given ``observability``. Made by hand, for a cluster that exists already or in
    another stack, it cannot change what the nodes run: that takes ``MetricsSource.EXTENSION`` or ``NONE``.

    Args:
        scope: parent construct.
        id: construct id.
        cluster: that is observed.
        options: what is wanted.
        roles: of the nodes, which are allowed to write metrics; none by default.
        prometheus: where metrics are kept, if it exists already; by default made as the options say.

    Raises:
        SpecError: with every problem of the options.

    Attributes:
        prometheus: where metrics are kept; ``None`` without one.
        extension: the cluster extension; ``None`` if another collects.
        topic: where messages go; ``None`` without notifications.
        alarms: the alarms made; ``None`` without alarms.
        dashboard: the CloudWatch dashboard; ``None`` without one.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: ObservedCluster,
        options: Observability,
        roles: Iterable[iam.IRole] = (),
        prometheus: PrometheusTarget | None = None,
    ) -> None:
        problems = observability_problems(options, cluster.spec, Stack.of(scope).region)
        if problems:
            raise SpecError(problems, subject="observability")
        super().__init__(scope, id)
        self._cluster, self._options = cluster, options
        self.prometheus = prometheus or prometheus_target(self, cluster.cluster_name, options)
        self.extension = self._extension() if options.metrics is MetricsSource.EXTENSION else None
        if self.prometheus is not None:
            self._open_prometheus(self.prometheus, roles)
        self.topic: sns.ITopic | None = None
        self.notifier: EventFunction | None = None
        if options.notifications is not None:
            self._notify(options.notifications)
        self.alarms = self._alarms()
        self.dashboard = self._dashboard() if options.dashboard else None
        if options.log_retention_days is not None:
            self._retain_logs(options.log_retention_days)

    def _open_prometheus(self, prometheus: PrometheusTarget, roles: Iterable[iam.IRole]) -> None:
        prometheus.grant_remote_write(dict.fromkeys(roles))
        if self._options.grafana_role is not None:
            prometheus.grant_query(self._options.grafana_role)
        prometheus.add_rules(alert_rules())

    def _extension(self) -> CfnResource:
        """The extension as a plain resource, because the CDK knows its class only from 2.278 on (FACTS 5.4)."""
        url = self.prometheus.remote_write_url if self.prometheus is not None else None
        configuration = extension.configuration(self._options.extension_settings, url)
        properties = {
            "ClusterArn": self._cluster.cluster_arn,
            "ExtensionName": extension.NAME,
            "ConfigurationValues": Stack.of(self).to_json_string(configuration),
        }
        if self._options.extension_version:
            properties["ExtensionVersion"] = self._options.extension_version
        resource = CfnResource(self, "Extension", type=extension.RESOURCE_TYPE, properties=properties)
        # The type is newer than the lists of cfn-lint and of CDK's own check, which would end the synthesis.
        acknowledge(
            resource, {"CloudFormation-Validate::F3006": "a type of November 2026, newer than the list of this check"}
        )
        resource.add_metadata("cfn-lint", {"config": {"ignore_checks": ["E3006"]}})
        return resource

    def _notify(self, options: Notifications) -> None:
        home = cast("Construct", self.node.scope)
        self.topic = notices_topic(home, options.topic, options.emails)
        self.notifier = EventFunction(
            self,
            "Notifier",
            entry="tell",
            description=f"Tells of events of the HyperPod cluster {self._cluster.cluster_name}",
            topic=self.topic,
            records=event_records(home),
            reads=READS,
            environment={"QUIET_MINUTES": str(options.quiet_minutes)},
        )
        rules = Construct(self, "Events")
        name = self._cluster.cluster_name
        add_rules(rules, name, self.notifier.target, level=options.level, kinds=options.kinds)

    def _alarms(self) -> ClusterAlarms | None:
        if self._options.alarms is None:
            return None
        alarms = ClusterAlarms(
            self,
            "Alarms",
            cluster=self._cluster,
            file_systems=self._cluster.file_systems,
            options=self._options.alarms,
            topic=self.topic,
            counts_events=self.notifier is not None,
        )
        if self.notifier is not None:
            alarms.add_function_errors(self.notifier.function)
        return alarms

    def _dashboard(self) -> cloudwatch.Dashboard:
        return ClusterDashboard(
            self,
            "Dashboard",
            cluster=self._cluster,
            file_systems=self._cluster.file_systems,
            alarms=self.alarms.alarms if self.alarms is not None else [],
        ).dashboard

    def _retain_logs(self, days: int) -> None:
        """The service makes the group with the first node and never lets it expire (FACTS 8).

        CDK's own resource makes the group if it is not there yet, which the service takes as it is.
        """
        retention = dict(zip(RETENTION_DAYS, logs.RetentionDays, strict=False))[days]
        logs.LogRetention(self, "LogRetention", log_group_name=self._cluster.log_group_name, retention=retention)
        singleton = Stack.of(self).node.try_find_child(_LOG_RETENTION_SINGLETON)
        if singleton is not None:
            _accept_retention_function(cast("Construct", singleton))


def _accept_retention_function(function: Construct) -> None:
    """CDK's own function, one a stack, which checks find fault with."""
    acknowledge(
        function,
        {
            f"AwsSolutions-IAM4[Policy::{_BASIC_POLICY}]": "CDK's own function, with the basic policy",
            "AwsSolutions-IAM5[Resource::*]": "CDK's own function: groups that it learns at deploy time",
            "AwsSolutions-L1": "CDK's own function, with the runtime that CDK chooses",
        },
    )
    checks = ("CKV_AWS_111", "CKV_AWS_115", "CKV_AWS_116", "CKV_AWS_117")
    reasons = dict.fromkeys(checks, "CDK's own function: sets the retention of log groups, at deployments only")
    for child in function.node.find_all():
        if isinstance(child, CfnResource):
            child.add_metadata("checkov", {"skip": [{"id": check, "comment": why} for check, why in reasons.items()]})


def prometheus_target(scope: Construct, cluster_name: str, options: Observability) -> PrometheusTarget | None:
    """Where metrics are kept, made as the options say; ``None`` if nobody collects any or they go to CloudWatch.

    Args:
        scope: where it is made.
        cluster_name: of the cluster.
        options: what is wanted.
    """
    if options.metrics is MetricsSource.NONE or options.workspace.kind is PrometheusKind.NONE:
        return None
    return PrometheusTarget(scope, "Prometheus", cluster_name=cluster_name, options=options.workspace)


def node_settings(
    options: Observability, spec: ClusterSpec, prometheus: PrometheusTarget | None, region: str
) -> dict[str, Any]:
    """What the node scripts are told: keys for node_config.json; none unless they run the agents.

    A step of theirs that ships with them and reads its settings from its arguments, in the form of a user's step.

    Args:
        options: what is wanted.
        spec: the cluster.
        prometheus: where agents write.
        region: for signing requests; may be a token.
    """
    if options.metrics is not MetricsSource.NODE_AGENTS or prometheus is None:
        return {}
    types = {group.name: list(group.all_instance_types) for group in spec.groups}
    settings = {
        "--remote-write-url": prometheus.remote_write_url,
        # Only Amazon Managed Prometheus wants signed requests.
        "--region": region if prometheus.workspace_arn else "",
        "--scrape-interval-seconds": str(options.scrape_interval_seconds),
        "--instance-types": json.dumps(types),
        "--hourly-prices-usd": json.dumps(options.prices),
    }
    step = {
        "name": "metrics",
        "path": "files/node_metrics.py",
        # Before Slurm: the agents, which start after it, find their configuration.
        "stage": "before_slurm",
        "required": False,
        "arguments": ["set-up", *(word for setting in settings.items() for word in setting)],
    }
    return {"user_steps": [step]}


def merged(config: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """A node configuration with further settings: objects are joined, lists continued, the rest replaced.

    Args:
        config: what ``node_config()`` built.
        settings: what :func:`node_settings` built.
    """
    result = dict(config)
    for name, value in settings.items():
        known = result.get(name)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            result[name] = merged(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            result[name] = [*known, *value]
        else:
            result[name] = value
    return result
