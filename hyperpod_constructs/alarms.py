"""CloudWatch alarms of a cluster."""

from collections.abc import Sequence
from typing import Protocol, cast

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from constructs import Construct

from hyperpod_constructs.handlers.notify.notice import FAILING_METRIC, Kind
from hyperpod_constructs.lustre import LustreFileSystem
from hyperpod_constructs.metrics import (
    DEFAULT_PERIOD_MINUTES,
    cluster_metric,
    event_count,
    free_percent,
    service_metric,
)
from hyperpod_constructs.observability import Alarms

_AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
_BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
_FAILED_NODES_MINUTES = 10


class FileSystem(Protocol):
    """A file system of a cluster, as far as its alarm needs it."""

    @property
    def file_system_id(self) -> str:
        """``fs-...``; may be a token."""
        ...


class AlarmedCluster(Protocol):
    """A cluster as far as its alarms need it."""

    @property
    def cluster_name(self) -> str:
        """Known at synth time."""
        ...

    @property
    def cluster_id(self) -> str:
        """Known at deploy time."""
        ...


class ClusterAlarms(Construct):
    """The alarms of a cluster, those that its options want.

    Args:
        scope: parent construct.
        id: construct id.
        cluster: whose alarms.
        file_systems: of the cluster.
        options: thresholds; ``None`` in them is an alarm that is not made.
        topic: told of each change into and out of alarm; nobody if ``None``.
        counts_events: whether there are notifications, which count events for two of the alarms.

    Attributes:
        alarms: what was made, in order.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: AlarmedCluster,
        file_systems: Sequence[FileSystem],
        options: Alarms,
        topic: sns.ITopic | None,
        counts_events: bool,
    ) -> None:
        super().__init__(scope, id)
        self._cluster, self._options = cluster, options
        self._actions = [*([actions.SnsAction(topic)] if topic is not None else []), *options.actions]
        self.alarms: list[cloudwatch.Alarm] = []
        self._failed_nodes()
        self._controller_silent()
        self._file_systems(file_systems)
        self._idle_gpus()
        if counts_events:
            self._events()

    def add_function_errors(self, function: lambda_.IFunction) -> None:
        """An alarm for a function that fails: silence must not look like peace.

        Args:
            function: of the notifications or the cost guard.
        """
        self._alarm(
            "NotificationErrors",
            "The function that tells of events fails; read its log group",
            function.metric_errors(period=Duration.minutes(DEFAULT_PERIOD_MINUTES)),
            threshold=1,
        )

    def _failed_nodes(self) -> None:
        if self._options.failed_node_count is not None:
            self._alarm(
                "FailedNodes",
                f"Failed nodes for {_FAILED_NODES_MINUTES} minutes; hyperpod-slurm nodes shows which",
                self._service("cluster_failed_node_count"),
                threshold=self._options.failed_node_count,
                minutes=_FAILED_NODES_MINUTES,
            )

    def _controller_silent(self) -> None:
        """The agent on the controller publishes these metrics: no data is the sign of a controller that is gone."""
        if self._options.controller_silent_minutes is not None:
            self._alarm(
                "ControllerSilent",
                "The controller reports no nodes: it, or the agent on it, is down, and Slurm with it",
                self._service("cluster_node_count"),
                threshold=1,
                comparison=_BELOW,
                minutes=self._options.controller_silent_minutes,
                missing=cloudwatch.TreatMissingData.BREACHING,
            )

    def _file_systems(self, file_systems: Sequence[FileSystem]) -> None:
        if self._options.file_system_free_percent is None:
            return
        for number, file_system in enumerate(file_systems):
            self._alarm(
                f"FileSystemSpace{number or ''}",
                "Little free space on a file system of the cluster; jobs fail when there is none",
                free_percent(file_system.file_system_id, is_lustre=isinstance(file_system, LustreFileSystem)),
                threshold=self._options.file_system_free_percent,
                comparison=_BELOW,
                minutes=15,
            )

    def _idle_gpus(self) -> None:
        if self._options.idle_gpu_percent is None:
            return
        period = Duration.minutes(DEFAULT_PERIOD_MINUTES)
        using = {name: self._service(f"cluster_{name}_count") for name in ("idle_gpu", "gpu")}
        self._alarm(
            "IdleGpus",
            "GPUs are billed and idle",
            cloudwatch.MathExpression(
                expression="100 * idle_gpu / gpu", using_metrics=dict(using), label="idle GPUs (%)", period=period
            ),
            threshold=self._options.idle_gpu_percent,
            minutes=self._options.idle_gpu_minutes,
        )

    def _events(self) -> None:
        name = self._cluster.cluster_name
        if self._options.lifecycle_failure_count is not None:
            self._alarm(
                "LifecycleFailures",
                "Lifecycle scripts fail; the service tries again for ever and bills every try",
                event_count(Kind.SCRIPT_FAILURE.value, name),
                threshold=self._options.lifecycle_failure_count,
            )
        if self._options.slurm_database:
            self._alarm(
                "SlurmDatabase",
                "Slurm's accounting daemon or its database is unhealthy; records of jobs may be lost",
                event_count(Kind.SLURM_UNHEALTHY.value, name),
                threshold=1,
            )

    def _service(self, name: str) -> cloudwatch.Metric:
        return service_metric(_ById(self._cluster), name)

    def _alarm(
        self,
        id: str,
        description: str,
        metric: cloudwatch.Metric | cloudwatch.MathExpression,
        *,
        threshold: float,
        comparison: cloudwatch.ComparisonOperator = _AT_LEAST,
        minutes: int = DEFAULT_PERIOD_MINUTES,
        missing: cloudwatch.TreatMissingData = cloudwatch.TreatMissingData.NOT_BREACHING,
    ) -> None:
        alarm = add_alarm(
            self,
            id,
            description=f"{self._cluster.cluster_name}: {description}",
            metric=metric,
            threshold=threshold,
            comparison=comparison,
            minutes=minutes,
            missing=missing,
        )
        for action in self._actions:
            alarm.add_alarm_action(action)
            alarm.add_ok_action(action)
        self.alarms.append(alarm)


class _ById:
    """The metrics of a cluster of which only the id is known."""

    def __init__(self, cluster: AlarmedCluster) -> None:
        self._cluster = cluster

    def metric(
        self, metric_name: str, *, statistic: str = "Average", period: Duration | None = None
    ) -> cloudwatch.Metric:
        return cluster_metric(self._cluster.cluster_id, metric_name, statistic, period)


def add_alarm(
    scope: Construct,
    id: str,
    *,
    description: str,
    metric: cloudwatch.Metric | cloudwatch.MathExpression,
    threshold: float,
    comparison: cloudwatch.ComparisonOperator = _AT_LEAST,
    minutes: int = DEFAULT_PERIOD_MINUTES,
    missing: cloudwatch.TreatMissingData = cloudwatch.TreatMissingData.NOT_BREACHING,
) -> cloudwatch.Alarm:
    """One alarm that is on when every period of so many minutes is over the threshold.

    Args:
        scope: where it is made.
        id: construct id.
        description: what it means and what to do.
        metric: what is watched, in periods of five minutes.
        threshold: see ``comparison``.
        comparison: at least, by default.
        minutes: a multiple of five.
        missing: what no data means; nothing wrong by default.
    """
    return cloudwatch.Alarm(
        scope,
        id,
        alarm_description=description,
        metric=cast("cloudwatch.IMetric", metric),
        threshold=threshold,
        comparison_operator=comparison,
        evaluation_periods=minutes // DEFAULT_PERIOD_MINUTES,
        treat_missing_data=missing,
    )


def failing_groups_alarm(
    scope: Construct, cluster_name: str, topic: sns.ITopic, window_minutes: int
) -> cloudwatch.Alarm:
    """On while the cost guard counts failures beyond its threshold, off a window after the last one.

    Args:
        scope: where it is made.
        cluster_name: of the cluster.
        topic: told when it goes off: recovered. The guard's own message, with the command, tells when it goes on.
        window_minutes: of the guard.
    """
    periods = -(-window_minutes // DEFAULT_PERIOD_MINUTES)
    alarm = cloudwatch.Alarm(
        scope,
        "Alarm",
        alarm_description=f"{cluster_name}: nodes of a group fail again and again and are billed; see the message",
        metric=event_count(FAILING_METRIC, cluster_name),
        threshold=1,
        comparison_operator=_AT_LEAST,
        evaluation_periods=periods,
        datapoints_to_alarm=1,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )
    alarm.add_ok_action(actions.SnsAction(topic))
    return alarm
