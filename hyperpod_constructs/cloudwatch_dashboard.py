"""A CloudWatch dashboard from the metrics that the service and FSx publish by themselves."""

from collections.abc import Mapping, Sequence
from typing import cast

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from hyperpod_constructs.alarms import AlarmedCluster, FileSystem
from hyperpod_constructs.lustre import LustreFileSystem
from hyperpod_constructs.metrics import (
    DEFAULT_PERIOD_MINUTES,
    FILE_SYSTEM_NAMESPACE,
    SERVICE_METRICS,
    cluster_metric,
    free_percent,
)

_WIDTH, _HEIGHT = 8, 6

# Titles with the service's metrics in each (FACTS 8).
_WIDGETS: Mapping[str, tuple[str, ...]] = {
    "Nodes": ("cluster_node_count", "cluster_idle_node_count", "cluster_failed_node_count"),
    "Jobs": ("cluster_running_task_count", "cluster_pending_task_count", "cluster_preempted_task_count"),
    "Wait of jobs": ("cluster_avg_task_wait_time", "cluster_max_task_wait_time"),
    "GPUs": ("cluster_gpu_count", "cluster_idle_gpu_count"),
    "CPU cores": ("cluster_cpu_count", "cluster_idle_cpu_count"),
    "Utilisation (%)": (
        "node_gpu_utilization",
        "node_gpu_memory_utilization",
        "node_cpu_utilization",
        "node_memory_utilization",
    ),
}


class ClusterDashboard(Construct):
    """The dashboard of a cluster.

    Args:
        scope: parent construct.
        id: construct id.
        cluster: whose metrics.
        file_systems: of the cluster; free space and throughput of each.
        alarms: shown with their states on top; none if empty.

    Attributes:
        dashboard: CDK's dashboard, to which further widgets can be added.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: AlarmedCluster,
        file_systems: Sequence[FileSystem],
        alarms: Sequence[cloudwatch.IAlarm],
    ) -> None:
        super().__init__(scope, id)
        self.dashboard = cloudwatch.Dashboard(self, "Resource", default_interval=Duration.hours(12))
        if alarms:
            self._row([cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=3 * _WIDTH, height=3)])
        widgets = [_service_widget(cluster, title, names) for title, names in _WIDGETS.items()]
        self._row(widgets[:3])
        self._row(widgets[3:])
        for number, file_system in enumerate(file_systems):
            self._row(_file_system_widgets(file_system, f"File system {number + 1}"))

    def _row(self, widgets: Sequence[cloudwatch.ConcreteWidget]) -> None:
        self.dashboard.add_widgets(*(cast("cloudwatch.IWidget", widget) for widget in widgets))


def _service_widget(cluster: AlarmedCluster, title: str, names: Sequence[str]) -> cloudwatch.GraphWidget:
    metrics = [cluster_metric(cluster.cluster_id, name, SERVICE_METRICS[name].statistic) for name in names]
    labelled = [metric.with_(label=SERVICE_METRICS[name].about) for metric, name in zip(metrics, names, strict=True)]
    return _graph(title, [cast("cloudwatch.IMetric", metric) for metric in labelled])


def _file_system_widgets(file_system: FileSystem, title: str) -> list[cloudwatch.GraphWidget]:
    def metric(name: str) -> cloudwatch.IMetric:
        made = cloudwatch.Metric(
            namespace=FILE_SYSTEM_NAMESPACE,
            metric_name=name,
            dimensions_map={"FileSystemId": file_system.file_system_id},
            statistic="Sum",
            period=Duration.minutes(DEFAULT_PERIOD_MINUTES),
        )
        return cast("cloudwatch.IMetric", made)

    free = free_percent(file_system.file_system_id, is_lustre=isinstance(file_system, LustreFileSystem))
    return [
        _graph(f"{title}: free space (%)", [cast("cloudwatch.IMetric", free)]),
        _graph(f"{title}: bytes", [metric("DataReadBytes"), metric("DataWriteBytes")]),
        _graph(f"{title}: operations", [metric("DataReadOperations"), metric("DataWriteOperations")]),
    ]


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=title,
        left=list(metrics),
        width=_WIDTH,
        height=_HEIGHT,
        left_y_axis=cloudwatch.YAxisProps(min=0, show_units=False),
    )
