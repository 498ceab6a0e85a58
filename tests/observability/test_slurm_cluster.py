"""A SlurmCluster with observability and a cost guard."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack

from hyperpod_constructs import ComputeGroup, SpecError
from hyperpod_constructs.lifecycle_options import LifecycleScripts, NodeAgent, PinnedFile
from hyperpod_constructs.observability import (
    Alarms,
    CostGuard,
    MetricsSource,
    Notifications,
    Observability,
)
from tests.constructs.support import Synthesized, a_cluster


def _extra(plain: Synthesized, watched: Synthesized) -> set[str]:
    return set(watched.resources) - set(plain.resources)


def _two(app: App, stack: Stack, **options: Any) -> tuple[Synthesized, Synthesized]:
    other = Stack(app, "Plain")
    a_cluster(other)
    a_cluster(stack, **options)
    return Synthesized(other), Synthesized(stack)


def test_off_by_default_there_is_no_resource_for_it(stack: Stack) -> None:
    a_cluster(stack)
    kinds = {item["Type"] for item in Synthesized(stack).resources.values()}
    for service in ("APS", "CloudWatch", "Events", "SNS", "DynamoDB", "KMS"):
        assert not any(kind.startswith(f"AWS::{service}::") for kind in kinds), service
    assert "AWS::SageMaker::Extension" not in kinds
    assert "Custom::LogRetention" not in kinds


def test_observing_a_cluster_changes_no_resource_that_was_there(app: App, stack: Stack) -> None:
    plain, watched = _two(app, stack, observability=Observability(), cost_guard=CostGuard())
    assert set(plain.resources) <= set(watched.resources)


def test_one_argument_each_makes_the_whole(stack: Stack) -> None:
    cluster = a_cluster(stack, observability=Observability(), cost_guard=CostGuard())
    assert cluster.observability is not None
    assert cluster.cost_guard is not None
    template = Synthesized(stack)
    assert len(template.of_type("AWS::SNS::Topic")) == 1, "both write to one topic"
    assert len(template.of_type("AWS::DynamoDB::Table")) == 1, "both keep records in one table"
    assert len(template.of_type("AWS::APS::Workspace")) == 1
    assert len(template.of_type("AWS::Events::Rule")) == 4


def test_the_cost_guard_alone_is_small(app: App, stack: Stack) -> None:
    plain, watched = _two(app, stack, cost_guard=CostGuard(emails=["a@example.com"]))
    kinds = sorted(watched.resources[name]["Type"] for name in _extra(plain, watched))
    assert kinds == [
        "AWS::CloudWatch::Alarm",
        "AWS::DynamoDB::Table",
        "AWS::Events::Rule",
        "AWS::IAM::Policy",
        "AWS::IAM::Role",
        "AWS::KMS::Key",
        "AWS::Lambda::Function",
        "AWS::Lambda::Permission",
        "AWS::Logs::LogGroup",
        "AWS::SNS::Subscription",
        "AWS::SNS::Topic",
        "AWS::SNS::TopicPolicy",
    ]


def test_the_guards_settings_reach_its_function(stack: Stack) -> None:
    guard = CostGuard(failures=5, window_minutes=30, remind_minutes=120, hourly_prices_usd={"ml.p5.48xlarge": 60.5})
    a_cluster(stack, cost_guard=guard)
    (function,) = [f for n, f in Synthesized(stack).of_type("AWS::Lambda::Function").items() if "CostGuard" in n]
    assert function["Properties"]["Handler"] == "notify.index.guard"
    variables = function["Properties"]["Environment"]["Variables"]
    assert {name: variables[name] for name in ("FAILURES", "WINDOW_MINUTES", "REMIND_MINUTES")} == {
        "FAILURES": "5",
        "WINDOW_MINUTES": "30",
        "REMIND_MINUTES": "120",
    }
    assert json.loads(variables["HOURLY_PRICES_USD"]) == {"ml.p5.48xlarge": 60.5}


def test_the_guard_may_read_and_write_records_and_tell_but_change_no_cluster(stack: Stack) -> None:
    a_cluster(stack, cost_guard=CostGuard())
    (policy,) = [p for n, p in Synthesized(stack).of_type("AWS::IAM::Policy").items() if "CostGuard" in n]
    actions: set[str] = set()
    for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
        action = statement["Action"]
        actions |= {action} if isinstance(action, str) else set(action)
    assert {action for action in actions if action.startswith("sagemaker:")} == {
        "sagemaker:DescribeCluster",
        "sagemaker:DescribeClusterEvent",
    }


def test_the_guards_alarm_lasts_a_window_after_the_last_failure(stack: Stack) -> None:
    a_cluster(stack, cost_guard=CostGuard(window_minutes=60))
    _, alarm = Synthesized(stack).only("AWS::CloudWatch::Alarm")
    properties = alarm["Properties"]
    assert (properties["MetricName"], properties["Threshold"]) == ("FailingGroups", 1)
    assert (properties["EvaluationPeriods"], properties["DatapointsToAlarm"]) == (12, 1)
    assert properties["OKActions"]


def test_node_agents_reach_the_scripts_configuration_and_move_their_prefix(app: App, stack: Stack) -> None:
    agent = NodeAgent(file=PinnedFile(name="node-exporter", url="s3://bucket/agent", sha256="b" * 64))
    scripts = LifecycleScripts(agents=[agent])
    options = Observability(metrics=MetricsSource.NODE_AGENTS)
    other = Stack(app, "Other")
    plain = a_cluster(other, lifecycle=scripts)
    watched = a_cluster(stack, lifecycle=scripts, observability=options)
    assert plain.scripts is not None
    assert watched.scripts is not None
    assert plain.scripts.prefix != watched.scripts.prefix


def test_every_problem_of_cluster_and_watching_is_in_one_error(stack: Stack) -> None:
    with pytest.raises(SpecError) as caught:
        a_cluster(
            stack,
            compute=[ComputeGroup(name="bad name", instance_type="ml.p5.48xlarge", instance_count=1)],
            observability=Observability(alarms=Alarms(failed_node_count=0), notifications=Notifications(emails=["x"])),
            cost_guard=CostGuard(failures=0),
        )
    assert {problem.path for problem in caught.value.problems} >= {
        "compute[0].name",
        "observability.alarms.failed_node_count",
        "observability.notifications.emails[0]",
        "cost_guard.failures",
    }
    assert stack.node.try_find_child("Cluster") is None


def test_a_misshapen_cluster_is_told_in_words_although_it_is_observed(stack: Stack) -> None:
    with pytest.raises(SpecError, match="compute"):
        a_cluster(stack, compute=[None], observability=Observability())


def test_cdks_own_check_of_the_template_passes(tmp_path: Path) -> None:
    """In a process of its own, because the tests switch the check off; it would end a user's synthesis."""
    program = """
from aws_cdk import App, Environment, Stack
from hyperpod_constructs import CostGuard, Observability
from tests.constructs.support import CONTEXT, a_cluster
app = App(context=CONTEXT)
stack = Stack(app, "Training", env=Environment(region="us-west-2", account="111122223333"))
a_cluster(stack, observability=Observability(), cost_guard=CostGuard())
app.synth()
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "CDK_VALIDATION": "true"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
