"""Metric methods and rules of a cluster, made here or imported."""

import re
from typing import Any

import pytest
from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_sqs as sqs

from hyperpod_constructs import SlurmCluster
from hyperpod_constructs.cost_guard import ClusterCostGuard
from hyperpod_constructs.event_patterns import EventKind, EventLevel
from hyperpod_constructs.metrics import SERVICE_METRICS, ClusterMetrics
from hyperpod_constructs.observability import CostGuard
from tests.constructs.support import Synthesized, a_cluster

ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/abcdef123456"

# Developer guide, "Amazon SageMaker HyperPod Slurm metrics", both tables.
DOCUMENTED = {
    "cluster_node_count",
    "cluster_idle_node_count",
    "cluster_failed_node_count",
    "cluster_cpu_count",
    "cluster_idle_cpu_count",
    "cluster_gpu_count",
    "cluster_idle_gpu_count",
    "cluster_running_task_count",
    "cluster_pending_task_count",
    "cluster_preempted_task_count",
    "cluster_avg_task_wait_time",
    "cluster_max_task_wait_time",
    "node_gpu_utilization",
    "node_gpu_memory_utilization",
    "node_cpu_utilization",
    "node_memory_utilization",
}
METHODS = [name for name in dir(ClusterMetrics) if name.startswith("metric_")]


def _imported(stack: Stack) -> Any:
    return SlurmCluster.from_cluster_attributes(stack, "Imported", cluster_name="elsewhere", cluster_arn=ARN)


def test_the_table_has_every_documented_metric_and_no_other() -> None:
    assert set(SERVICE_METRICS) == DOCUMENTED


def test_each_metric_has_a_method_that_asks_for_it_by_its_exact_name(stack: Stack) -> None:
    cluster = _imported(stack)
    asked = {getattr(cluster, method)().metric_name for method in METHODS}
    assert asked == DOCUMENTED


@pytest.mark.parametrize("method", METHODS)
def test_a_methods_name_is_that_of_its_metric(stack: Stack, method: str) -> None:
    name = getattr(_imported(stack), method)().metric_name
    assert re.sub(r"^(cluster|node)_", "", name) == method.removeprefix("metric_")


def test_metrics_carry_the_cluster_id_and_the_services_namespace(stack: Stack) -> None:
    metric = a_cluster(stack).metric_failed_node_count()
    assert metric.namespace == "/aws/sagemaker/Clusters"
    assert list(metric.dimensions or {}) == ["ClusterId"]
    assert (metric.statistic, metric.period.to_minutes()) == ("Maximum", 5)


def test_statistic_and_period_can_be_chosen(stack: Stack) -> None:
    metric = _imported(stack).metric_pending_task_count(statistic="p90", period=Duration.minutes(1))
    assert (metric.statistic, metric.period.to_minutes()) == ("p90", 1)


def test_on_event_makes_a_rule_for_each_type_with_one_target(stack: Stack) -> None:
    cluster = _imported(stack)
    queue = sqs.Queue(stack, "Queue")
    rules = cluster.on_event("Tell", target=targets.SqsQueue(queue), level=EventLevel.WARN)
    assert set(rules) == set(EventKind)
    template = Synthesized(stack)
    made = template.of_type("AWS::Events::Rule").values()
    assert len(made) == 3
    assert all(len(rule["Properties"]["Targets"]) == 1 for rule in made)
    assert all("elsewhere" in str(rule["Properties"]["EventPattern"]["detail"]) for rule in made)


def test_on_event_without_a_target_leaves_it_to_you(stack: Stack) -> None:
    rules = _imported(stack).on_event("Mine", kinds=[EventKind.STATE_CHANGE], level=EventLevel.INFO)
    assert list(rules) == [EventKind.STATE_CHANGE]
    assert isinstance(rules[EventKind.STATE_CHANGE], events.Rule)
    _, rule = Synthesized(stack).only("AWS::Events::Rule")
    assert "Targets" not in rule["Properties"]


def test_an_imported_cluster_can_be_guarded(stack: Stack) -> None:
    ClusterCostGuard(stack, "Guard", cluster=_imported(stack), options=CostGuard())
    _, rule = Synthesized(stack).only("AWS::Events::Rule")
    assert rule["Properties"]["EventPattern"]["detail"]["EventDetails"]["ClusterName"] == ["elsewhere"]
