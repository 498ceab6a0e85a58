"""The service's CloudWatch metrics of a Slurm cluster, by their exact names.

Source: developer guide, "Amazon SageMaker HyperPod Slurm metrics" (FACTS 8). All have the one dimension ``ClusterId``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    # Most apps ask for no metric, and this import costs every synthesis.
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

NAMESPACE = "/aws/sagemaker/Clusters"
FILE_SYSTEM_NAMESPACE = "AWS/FSx"
DEFAULT_PERIOD_MINUTES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceMetric:
    """One metric.

    Attributes:
        name: the service's.
        statistic: the one that makes sense by default.
        about: what it counts.
    """

    name: str
    statistic: str
    about: str


SERVICE_METRICS: Mapping[str, ServiceMetric] = {
    metric.name: metric
    for metric in (
        ServiceMetric(name="cluster_node_count", statistic="Average", about="nodes"),
        ServiceMetric(name="cluster_idle_node_count", statistic="Average", about="idle nodes"),
        ServiceMetric(name="cluster_failed_node_count", statistic="Maximum", about="failed nodes"),
        ServiceMetric(name="cluster_cpu_count", statistic="Average", about="CPU cores"),
        ServiceMetric(name="cluster_idle_cpu_count", statistic="Average", about="idle CPU cores"),
        ServiceMetric(name="cluster_gpu_count", statistic="Average", about="GPUs"),
        ServiceMetric(name="cluster_idle_gpu_count", statistic="Average", about="idle GPUs"),
        ServiceMetric(name="cluster_running_task_count", statistic="Average", about="running Slurm jobs"),
        ServiceMetric(name="cluster_pending_task_count", statistic="Average", about="pending Slurm jobs"),
        ServiceMetric(name="cluster_preempted_task_count", statistic="Maximum", about="preempted Slurm jobs"),
        ServiceMetric(name="cluster_avg_task_wait_time", statistic="Average", about="average wait of Slurm jobs"),
        ServiceMetric(name="cluster_max_task_wait_time", statistic="Maximum", about="longest wait of Slurm jobs"),
        ServiceMetric(name="node_cpu_utilization", statistic="Average", about="CPU utilisation of all instances"),
        ServiceMetric(name="node_memory_utilization", statistic="Average", about="memory utilisation of all instances"),
        ServiceMetric(name="node_gpu_utilization", statistic="Average", about="GPU utilisation of all instances"),
        ServiceMetric(
            name="node_gpu_memory_utilization", statistic="Average", about="GPU memory utilisation of all instances"
        ),
    )
}


class HasMetrics(Protocol):
    """What can answer for one of the service's metrics."""

    def metric(
        self, metric_name: str, *, statistic: str = "Average", period: "Duration | None" = None
    ) -> "cloudwatch.Metric":
        """One of the service's metrics."""
        ...


class ClusterMetrics:
    """A method for each of the service's metrics. Mixed into ``SlurmCluster``, which has ``metric``.

    Each takes the ``statistic``, by default the one that makes sense, and the ``period``, five minutes by default.
    """

    def metric_node_count(self, *, statistic: str = "", period: "Duration | None" = None) -> "cloudwatch.Metric":
        """Nodes of the cluster (``cluster_node_count``)."""
        return service_metric(self, "cluster_node_count", statistic, period)

    def metric_idle_node_count(self, *, statistic: str = "", period: "Duration | None" = None) -> "cloudwatch.Metric":
        """Idle nodes (``cluster_idle_node_count``)."""
        return service_metric(self, "cluster_idle_node_count", statistic, period)

    def metric_failed_node_count(self, *, statistic: str = "", period: "Duration | None" = None) -> "cloudwatch.Metric":
        """Failed nodes (``cluster_failed_node_count``)."""
        return service_metric(self, "cluster_failed_node_count", statistic, period)

    def metric_cpu_count(self, *, statistic: str = "", period: "Duration | None" = None) -> "cloudwatch.Metric":
        """CPU cores (``cluster_cpu_count``)."""
        return service_metric(self, "cluster_cpu_count", statistic, period)

    def metric_idle_cpu_count(self, *, statistic: str = "", period: "Duration | None" = None) -> "cloudwatch.Metric":
        """Idle CPU cores (``cluster_idle_cpu_count``)."""
        return service_metric(self, "cluster_idle_cpu_count", statistic, period)

    def metric_gpu_count(self, *, statistic: str = "", period: "Duration | None" = None) -> "cloudwatch.Metric":
        """GPUs (``cluster_gpu_count``)."""
        return service_metric(self, "cluster_gpu_count", statistic, period)

    def metric_idle_gpu_count(self, *, statistic: str = "", period: "Duration | None" = None) -> "cloudwatch.Metric":
        """Idle GPUs (``cluster_idle_gpu_count``)."""
        return service_metric(self, "cluster_idle_gpu_count", statistic, period)

    def metric_running_task_count(
        self, *, statistic: str = "", period: "Duration | None" = None
    ) -> "cloudwatch.Metric":
        """Running Slurm jobs (``cluster_running_task_count``)."""
        return service_metric(self, "cluster_running_task_count", statistic, period)

    def metric_pending_task_count(
        self, *, statistic: str = "", period: "Duration | None" = None
    ) -> "cloudwatch.Metric":
        """Pending Slurm jobs (``cluster_pending_task_count``)."""
        return service_metric(self, "cluster_pending_task_count", statistic, period)

    def metric_preempted_task_count(
        self, *, statistic: str = "", period: "Duration | None" = None
    ) -> "cloudwatch.Metric":
        """Preempted Slurm jobs (``cluster_preempted_task_count``)."""
        return service_metric(self, "cluster_preempted_task_count", statistic, period)

    def metric_avg_task_wait_time(
        self, *, statistic: str = "", period: "Duration | None" = None
    ) -> "cloudwatch.Metric":
        """Average wait of Slurm jobs (``cluster_avg_task_wait_time``)."""
        return service_metric(self, "cluster_avg_task_wait_time", statistic, period)

    def metric_max_task_wait_time(
        self, *, statistic: str = "", period: "Duration | None" = None
    ) -> "cloudwatch.Metric":
        """Longest wait of Slurm jobs (``cluster_max_task_wait_time``)."""
        return service_metric(self, "cluster_max_task_wait_time", statistic, period)

    def metric_cpu_utilization(self, *, statistic: str = "", period: "Duration | None" = None) -> "cloudwatch.Metric":
        """CPU utilisation of all instances (``node_cpu_utilization``)."""
        return service_metric(self, "node_cpu_utilization", statistic, period)

    def metric_memory_utilization(
        self, *, statistic: str = "", period: "Duration | None" = None
    ) -> "cloudwatch.Metric":
        """Memory utilisation of all instances (``node_memory_utilization``)."""
        return service_metric(self, "node_memory_utilization", statistic, period)

    def metric_gpu_utilization(self, *, statistic: str = "", period: "Duration | None" = None) -> "cloudwatch.Metric":
        """GPU utilisation of all instances (``node_gpu_utilization``)."""
        return service_metric(self, "node_gpu_utilization", statistic, period)

    def metric_gpu_memory_utilization(
        self, *, statistic: str = "", period: "Duration | None" = None
    ) -> "cloudwatch.Metric":
        """GPU memory utilisation of all instances (``node_gpu_memory_utilization``)."""
        return service_metric(self, "node_gpu_memory_utilization", statistic, period)


def service_metric(
    source: object, name: str, statistic: str = "", period: "Duration | None" = None
) -> "cloudwatch.Metric":
    """One of the service's metrics of a cluster, with the statistic that makes sense.

    Args:
        source: the cluster.
        name: the service's name of the metric.
        statistic: that of the table by default.
        period: five minutes by default.
    """
    cluster = cast("HasMetrics", source)  # the class that mixes this in has the method
    return cluster.metric(name, statistic=statistic or SERVICE_METRICS[name].statistic, period=period)


def cluster_metric(
    cluster_id: str, name: str, statistic: str = "Average", period: "Duration | None" = None
) -> "cloudwatch.Metric":
    """A metric of the service by cluster id.

    Args:
        cluster_id: may be a token.
        name: the service's name.
        statistic: of the metric.
        period: five minutes by default.
    """
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=name,
        dimensions_map={"ClusterId": cluster_id},
        statistic=statistic,
        period=period or Duration.minutes(DEFAULT_PERIOD_MINUTES),
    )


def event_count(metric: str, cluster_name: str) -> "cloudwatch.Metric":
    """Events of one kind that the notifications counted in five minutes.

    Args:
        metric: a value of ``handlers.notify.notice.Kind``.
        cluster_name: of the cluster.
    """
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

    return cloudwatch.Metric(
        namespace="HyperPodConstructs",
        metric_name=metric,
        dimensions_map={"ClusterName": cluster_name},
        statistic="Sum",
        period=Duration.minutes(DEFAULT_PERIOD_MINUTES),
    )


def free_percent(file_system_id: str, *, is_lustre: bool) -> "cloudwatch.MathExpression":
    """Free space of an FSx file system in percent, whatever its size is now.

    Args:
        file_system_id: may be a token.
        is_lustre: else OpenZFS; the two publish other metrics (FSx for Lustre and OpenZFS user guides, metrics).
    """
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

    def metric(name: str, statistic: str) -> "cloudwatch.Metric":
        return cloudwatch.Metric(
            namespace=FILE_SYSTEM_NAMESPACE,
            metric_name=name,
            dimensions_map={"FileSystemId": file_system_id},
            statistic=statistic,
            period=Duration.minutes(DEFAULT_PERIOD_MINUTES),
        )

    if is_lustre:
        # One sample a minute for each storage target: Minimum and Maximum are of one target, Sum grows with the period.
        using = {"free": metric("FreeDataStorageCapacity", "Sum"), "used": metric("PhysicalDiskUsage", "Sum")}
        expression = "100 * free / (free + used)"
    else:
        using = {"used": metric("UsedStorageCapacity", "Average"), "total": metric("StorageCapacity", "Average")}
        expression = "100 * (total - used) / total"
    return cloudwatch.MathExpression(
        expression=expression,
        using_metrics=dict(using),
        label="free space (%)",
        period=Duration.minutes(DEFAULT_PERIOD_MINUTES),
    )
