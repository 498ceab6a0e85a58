"""Bad input is refused before anything is made, in words, all of it at once."""

from dataclasses import replace
from typing import Any, cast

import pytest

from hyperpod_constructs import ClusterSpec, ComputeGroup, ControllerGroup
from hyperpod_constructs.lifecycle_options import LifecycleScripts, NodeAgent, PinnedFile
from hyperpod_constructs.observability import (
    Alarms,
    CostGuard,
    MetricsSource,
    Notifications,
    Observability,
    PrometheusWorkspace,
)
from hyperpod_constructs.observability_rules import cost_guard_problems, observability_problems
from hyperpod_constructs.options import LifecycleStyle

SPEC = ClusterSpec(
    cluster_name="training",
    controller=ControllerGroup(instance_type="ml.m5.xlarge"),
    compute=[ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=16)],
)
ARN = "arn:aws:aps:us-west-2:111122223333:workspace/ws-11111111-2222-3333-4444-555555555555"
ELSEWHERE = ARN.replace("us-west-2", "eu-west-1")
AGENT = NodeAgent(file=PinnedFile(name="node", url="https://example.com/node", sha256="a" * 64))
WITH_AGENTS = replace(SPEC, lifecycle=LifecycleScripts(agents=[AGENT]))
EXISTING = PrometheusWorkspace.existing


def found(spec: ClusterSpec = SPEC, region: str = "us-west-2", **options: Any) -> dict[str, str]:
    problems = observability_problems(Observability(**options), spec, region)
    return {problem.path.removeprefix("observability."): problem.message for problem in problems}


@pytest.mark.parametrize(
    ("options", "path", "words"),
    [
        ({"workspace": EXISTING(workspace_arn=ELSEWHERE)}, "workspace.workspace_arn", "eu-west-1"),
        ({"workspace": EXISTING(workspace_arn="ws-123")}, "workspace.workspace_arn", "arn:aws:aps"),
        (
            {"workspace": EXISTING(remote_write_url="https://prometheus.example.com/")},
            "workspace.remote_write_url",
            "ending in api/v1/remote_write",
        ),
        (
            {"workspace": EXISTING(remote_write_url="http://prometheus.example.com/api/v1/remote_write")},
            "workspace.remote_write_url",
            "https://",
        ),
        (
            {
                "workspace": EXISTING(
                    remote_write_url="https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1/api/v1/remote_write"
                )
            },
            "workspace.remote_write_url",
            "the region of the cluster",
        ),
        ({"workspace": EXISTING()}, "workspace", "neither of workspace_arn and remote_write_url"),
        (
            {"workspace": EXISTING(workspace_arn=ARN, remote_write_url="https://a.b/api/v1/remote_write")},
            "workspace",
            "both of workspace_arn and remote_write_url",
        ),
        ({"workspace": ARN}, "workspace", "PrometheusWorkspace"),
        ({"metrics": "extension"}, "metrics", "MetricsSource.EXTENSION"),
        ({"extension_settings": {"metricsProviders": {}}}, "extension_settings.metricsProviders", "unknown names"),
        (
            {"extension_settings": {"metricsProvider": {"gpuMetrics": {}}}},
            "extension_settings.metricsProvider.gpuMetrics",
            "acceleratedComputeMetrics",
        ),
        (
            {"extension_settings": {"metricsProvider": {"nodeMetrics": {"Level": "BASIC"}}}},
            "extension_settings.metricsProvider.nodeMetrics.Level",
            "collectionIntervalSeconds",
        ),
        (
            {"extension_settings": {"metricsProvider": {"networkMetrics": {"level": "BASIC"}}}},
            "extension_settings.metricsProvider.networkMetrics.level",
            "ENABLED",
        ),
        (
            {"extension_settings": {"metricsProvider": {"nodeMetrics": {"level": "ENABLED"}}}},
            "extension_settings.metricsProvider.nodeMetrics.level",
            "ADVANCED",
        ),
        (
            {"extension_settings": {"metricsProvider": {"jobMetrics": {"collectionIntervalSeconds": "30"}}}},
            "extension_settings.metricsProvider.jobMetrics.collectionIntervalSeconds",
            "whole number",
        ),
        (
            {"extension_settings": {"metricsProvider": {"jobMetrics": "ENABLED"}}},
            "extension_settings.metricsProvider.jobMetrics",
            "a mapping",
        ),
        (
            {"extension_settings": {"profilesProvider": {"hostProfiling": {"enabled": "yes"}}}},
            "extension_settings.profilesProvider.hostProfiling.enabled",
            "True or False",
        ),
        (
            {"extension_settings": {"prometheus": {"remoteWriteUrl": "https://a"}}},
            "extension_settings.prometheus",
            "workspace=",
        ),
        ({"extension_settings": {"metricsProvider": {"x" * 11000: {}}}}, "extension_settings", "characters of JSON"),
        ({"extension_version": "latest"}, "extension_version", "x.y.z"),
        ({"metrics": MetricsSource.NONE, "extension_version": "1.0.0"}, "extension_version", "EXTENSION"),
        ({"metrics": MetricsSource.NODE_AGENTS}, "metrics", "LifecycleScripts(agents="),
        (
            {"metrics": MetricsSource.NODE_AGENTS, "workspace": PrometheusWorkspace.none()},
            "workspace",
            "nowhere else to write",
        ),
        (
            {"metrics": MetricsSource.NODE_AGENTS, "scrape_interval_seconds": 1},
            "scrape_interval_seconds",
            "5 to 300",
        ),
        ({"alarms": Alarms(failed_node_count=18)}, "alarms.failed_node_count", "can never be: the cluster has 17"),
        ({"alarms": Alarms(failed_node_count=0)}, "alarms.failed_node_count", "1 to"),
        ({"alarms": Alarms(file_system_free_percent=0)}, "alarms.file_system_free_percent", "above 0 and below 100"),
        ({"alarms": Alarms(file_system_free_percent=100)}, "alarms.file_system_free_percent", "above 0 and below 100"),
        ({"alarms": Alarms(idle_gpu_percent=101)}, "alarms.idle_gpu_percent", "above 0 and below 100"),
        ({"alarms": Alarms(controller_silent_minutes=7)}, "alarms.controller_silent_minutes", "a multiple of 5"),
        ({"alarms": Alarms(idle_gpu_minutes=1445)}, "alarms.idle_gpu_minutes", "5 to 1440"),
        ({"alarms": Alarms(lifecycle_failure_count=0)}, "alarms.lifecycle_failure_count", "1 to"),
        ({"alarms": 3}, "alarms", "None for none"),
        ({"notifications": Notifications(emails=["ops"])}, "notifications.emails[0]", "an e-mail address"),
        ({"notifications": Notifications(quiet_minutes=0)}, "notifications.quiet_minutes", "1 to 1440"),
        ({"notifications": Notifications(level=cast("Any", "Error"))}, "notifications.level", "EventLevel.ERROR"),
        ({"notifications": Notifications(kinds=[])}, "notifications.kinds", "at least one"),
        ({"hourly_prices_usd": {"ml.p5.48xlarge": 0}}, 'hourly_prices_usd["ml.p5.48xlarge"]', "above 0"),
        ({"hourly_prices_usd": {"p5": 1.0}}, "hourly_prices_usd", "ml.<family>.<size>"),
        ({"log_retention_days": 45}, "log_retention_days", "use 30"),
    ],
)  # fmt: skip
def test_bad_input_is_named_with_what_is_allowed(options: dict[str, Any], path: str, words: str) -> None:
    problems = found(**options)
    assert path in problems
    assert words in problems[path]


def test_the_defaults_have_no_problem() -> None:
    assert found() == {}
    assert cost_guard_problems(CostGuard()) == []


@pytest.mark.parametrize(
    "workspace",
    [
        EXISTING(workspace_arn=ARN),
        EXISTING(workspace_arn="${Token[TOKEN.12]}"),
        EXISTING(remote_write_url="https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-1/api/v1/remote_write"),
        EXISTING(remote_write_url="https://prometheus.example.com:9090/api/v1/remote_write"),
        PrometheusWorkspace.none(),
    ],
)
def test_sound_workspaces_are_taken(workspace: PrometheusWorkspace) -> None:
    assert found(workspace=workspace) == {}


def test_an_unknown_region_is_not_compared() -> None:
    workspace = EXISTING(workspace_arn=ELSEWHERE)
    assert found(region="${Token[AWS.Region.4]}", workspace=workspace) == {}


def test_the_documented_configuration_of_the_extension_is_taken() -> None:
    metrics = {
        name: {"level": level, "collectionIntervalSeconds": 30}
        for name, level in {
            "nodeMetrics": "BASIC",
            "acceleratedComputeMetrics": "BASIC",
            "networkMetrics": "ENABLED",
            "jobMetrics": "ENABLED",
            "clusterMetrics": "ENABLED",
            "ncclMetrics": "DISABLED",
        }.items()
    }
    settings = {"metricsProvider": metrics, "profilesProvider": {"hostProfiling": {"enabled": False}}}
    assert found(extension_settings=settings) == {}


def test_node_agents_need_a_group_that_runs_scripts() -> None:
    spec = ClusterSpec(
        cluster_name="training",
        controller=SPEC.controller,
        compute=SPEC.compute,
        lifecycle=LifecycleScripts(style=LifecycleStyle.IMAGE_ONLY, agents=[AGENT]),
    )
    problems = found(spec, metrics=MetricsSource.NODE_AGENTS)
    assert "IMAGE_ONLY" in problems["metrics"]


def test_agents_that_are_named_are_taken() -> None:
    assert found(WITH_AGENTS, metrics=MetricsSource.NODE_AGENTS) == {}


def test_all_problems_are_found_at_once() -> None:
    problems = found(
        metrics=MetricsSource.NODE_AGENTS,
        alarms=Alarms(failed_node_count=0, file_system_free_percent=0),
        log_retention_days=2,
    )
    assert set(problems) == {
        "metrics",
        "alarms.failed_node_count",
        "alarms.file_system_free_percent",
        "log_retention_days",
    }


@pytest.mark.parametrize(
    ("options", "path", "words"),
    [
        ({"failures": 0}, "failures", "1 to 200"),
        ({"failures": True}, "failures", "whole number"),
        ({"window_minutes": 4}, "window_minutes", "5 to 1440"),
        ({"remind_minutes": 30}, "remind_minutes", "at least window_minutes (60)"),
        ({"hourly_prices_usd": {"ml.p5.48xlarge": -1}}, 'hourly_prices_usd["ml.p5.48xlarge"]', "above 0"),
        ({"emails": ["nobody"]}, "emails[0]", "e-mail"),
    ],
)
def test_a_guard_that_could_not_work_is_refused(options: dict[str, Any], path: str, words: str) -> None:
    (problem,) = cost_guard_problems(CostGuard(**options))
    assert problem.path == f"cost_guard.{path}"
    assert words in problem.message


def test_things_of_the_wrong_kind_are_refused_in_words() -> None:
    assert observability_problems(True, SPEC)[0].message == "got True, allowed: an Observability"
    assert cost_guard_problems({"failures": 3})[0].path == "cost_guard"
