"""What an Observability makes, and what it does not."""

import json
from typing import Any

import jsonschema
import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from cdk_nag import AwsSolutionsChecks

from hyperpod_constructs import SpecError, assets
from hyperpod_constructs.cluster_observability import ClusterObservability, merged, node_settings, prometheus_target
from hyperpod_constructs.cost_guard import ClusterCostGuard
from hyperpod_constructs.event_patterns import EventKind, EventLevel
from hyperpod_constructs.lifecycle_options import LifecycleScripts, NodeAgent, PinnedFile
from hyperpod_constructs.observability import (
    Alarms,
    CostGuard,
    MetricsSource,
    Notifications,
    Observability,
    PrometheusWorkspace,
)
from tests.constructs.support import Synthesized, a_cluster

WORKSPACE = "arn:aws:aps:us-west-2:111122223333:workspace/ws-11111111-2222-3333-4444-555555555555"
NOTHING: dict[str, Any] = {
    "metrics": MetricsSource.NONE,
    "dashboard": False,
    "alarms": None,
    "notifications": None,
    "log_retention_days": None,
}


def observed(stack: Stack, **options: Any) -> Synthesized:
    cluster = a_cluster(stack)
    ClusterObservability(
        cluster,
        "Observability",
        cluster=cluster,
        options=Observability(**options),
        roles=[cluster.execution_role],
    )
    return Synthesized(stack)


def only_with(stack: Stack, **options: Any) -> Synthesized:
    """With everything off that is not asked for."""
    return observed(stack, **(NOTHING | options))


def resources_of(template: Synthesized) -> dict[str, str]:
    marks = ("Observability", "CostGuard", "Notices", "EventRecords", "LogRetention")
    return {name: item["Type"] for name, item in template.resources.items() if any(mark in name for mark in marks)}


def alarms(template: Synthesized) -> dict[str, dict[str, Any]]:
    found = template.of_type("AWS::CloudWatch::Alarm")
    return {name.removeprefix("ClusterObservabilityAlarms")[:-8]: item["Properties"] for name, item in found.items()}


def test_everything_off_makes_nothing(stack: Stack) -> None:
    assert resources_of(only_with(stack)) == {}


def test_the_extension_writes_to_a_new_workspace_of_the_stack(stack: Stack) -> None:
    template = only_with(stack, metrics=MetricsSource.EXTENSION)
    workspace, resource = template.only("AWS::APS::Workspace")
    assert resource["DeletionPolicy"] == "Retain"
    assert resource["Properties"]["Alias"] == "my-training-cluster"
    _, extension = template.only("AWS::SageMaker::Extension")
    properties = extension["Properties"]
    assert properties["ExtensionName"] == "sagemaker-observability"
    assert properties["ClusterArn"]["Fn::GetAtt"][1] == "ClusterArn"
    assert properties["ConfigurationValues"] == {
        "Fn::Join": [
            "",
            [
                '{"prometheus":{"remoteWriteUrl":"',
                {"Fn::GetAtt": [workspace, "PrometheusEndpoint"]},
                'api/v1/remote_write"}}',
            ],
        ]
    }


def test_the_workspace_and_the_permission_to_write_exist_before_the_cluster(stack: Stack) -> None:
    template = only_with(stack, metrics=MetricsSource.EXTENSION)
    workspace, _ = template.only("AWS::APS::Workspace")
    cluster, _ = template.only("Custom::HyperPodCluster")
    assert workspace in template.before(cluster)
    extension, _ = template.only("AWS::SageMaker::Extension")
    assert cluster in template.before(extension)


def test_nodes_may_write_to_that_workspace_and_to_no_other(stack: Stack) -> None:
    template = only_with(stack, metrics=MetricsSource.EXTENSION)
    workspace, _ = template.only("AWS::APS::Workspace")
    statements = [
        statement
        for policy in template.of_type("AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if "aps:" in json.dumps(statement["Action"])
    ]
    assert [(item["Action"], item["Resource"]) for item in statements] == [
        ("aps:RemoteWrite", {"Fn::GetAtt": [workspace, "Arn"]})
    ]


def test_a_workspace_of_yours_is_used_and_not_made(stack: Stack) -> None:
    workspace = PrometheusWorkspace.existing(workspace_arn=WORKSPACE)
    template = only_with(stack, metrics=MetricsSource.EXTENSION, workspace=workspace)
    assert template.of_type("AWS::APS::Workspace") == {}
    assert template.of_type("AWS::APS::RuleGroupsNamespace") == {}
    _, extension = template.only("AWS::SageMaker::Extension")
    url = "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-11111111-2222-3333-4444-555555555555"
    configuration = json.loads(extension["Properties"]["ConfigurationValues"])
    assert configuration == {"prometheus": {"remoteWriteUrl": f"{url}/api/v1/remote_write"}}
    assert WORKSPACE in json.dumps(template.of_type("AWS::IAM::Policy"))


def test_without_a_prometheus_the_extension_sends_to_cloudwatch(stack: Stack) -> None:
    settings = {"metricsProvider": {"ncclMetrics": {"level": "ENABLED"}}}
    template = only_with(
        stack,
        metrics=MetricsSource.EXTENSION,
        workspace=PrometheusWorkspace.none(),
        extension_settings=settings,
        extension_version="1.2.3",
    )
    _, extension = template.only("AWS::SageMaker::Extension")
    assert json.loads(extension["Properties"]["ConfigurationValues"]) == settings
    assert extension["Properties"]["ExtensionVersion"] == "1.2.3"
    assert template.of_type("AWS::APS::Workspace") == {}


def test_the_alert_rules_go_to_a_workspace_of_ours(stack: Stack) -> None:
    template = only_with(stack, metrics=MetricsSource.EXTENSION)
    _, rules = template.only("AWS::APS::RuleGroupsNamespace")
    names = [rule["alert"] for rule in json.loads(rules["Properties"]["Data"])["groups"][0]["rules"]]
    assert "HyperPodSlurmControllerDown" in names
    assert len(names) == len(set(names)) == 13


def test_a_grafana_of_yours_may_read_and_no_grafana_is_made(stack: Stack) -> None:
    role = iam.Role.from_role_arn(stack, "Grafana", "arn:aws:iam::111122223333:role/grafana")
    template = only_with(stack, metrics=MetricsSource.EXTENSION, grafana_role=role)
    queries = json.dumps(template.of_type("AWS::IAM::Policy"))
    assert "aps:QueryMetrics" in queries
    assert not any("Grafana" in item["Type"] for item in template.resources.values())


def test_what_agents_must_know_travels_as_a_step_of_the_node_scripts(stack: Stack) -> None:
    agent = NodeAgent(file=PinnedFile(name="node-exporter", url="https://example.com/a", sha256="a" * 64))
    cluster = a_cluster(stack, lifecycle=LifecycleScripts(agents=[agent]))
    options = Observability(metrics=MetricsSource.NODE_AGENTS, hourly_prices_usd={"ml.p5.48xlarge": 60.5})
    target = prometheus_target(stack, cluster.cluster_name, options)
    assert target is not None
    (step,) = node_settings(options, cluster.spec, target, "us-west-2")["user_steps"]
    assert (step["path"], step["stage"], step["required"]) == ("files/node_metrics.py", "before_slurm", False)
    assert (assets.lifecycle_assets() / step["path"]).is_file()
    command, *words = step["arguments"]
    given = dict(zip(words[::2], words[1::2], strict=True))
    assert command == "set-up"
    assert given["--remote-write-url"] == target.remote_write_url
    assert (given["--region"], given["--scrape-interval-seconds"]) == ("us-west-2", "30")
    assert json.loads(given["--hourly-prices-usd"]) == {"ml.p5.48xlarge": 60.5}
    assert json.loads(given["--instance-types"])["worker-gpu-a"] == ["ml.p5.48xlarge"]


def test_the_step_is_one_that_the_node_scripts_take(stack: Stack) -> None:
    agent = NodeAgent(file=PinnedFile(name="node-exporter", url="https://example.com/a", sha256="a" * 64))
    cluster = a_cluster(stack, lifecycle=LifecycleScripts(agents=[agent]))
    options = Observability(metrics=MetricsSource.NODE_AGENTS)
    settings = node_settings(options, cluster.spec, prometheus_target(stack, "train", options), "us-west-2")
    schema = json.loads((assets.lifecycle_assets() / "node_config.schema.json").read_text())
    for step in settings["user_steps"]:
        jsonschema.validate(step, {"$ref": "#/$defs/user_step", "$defs": schema["$defs"]})


def test_a_prometheus_that_is_not_amazons_gets_unsigned_requests(stack: Stack) -> None:
    workspace = PrometheusWorkspace.existing(remote_write_url="https://prometheus.example.com/api/v1/remote_write")
    options = Observability(metrics=MetricsSource.NODE_AGENTS, workspace=workspace)
    cluster = a_cluster(stack)
    (step,) = node_settings(options, cluster.spec, prometheus_target(stack, "train", options), "us-west-2")[
        "user_steps"
    ]
    assert step["arguments"][step["arguments"].index("--region") + 1] == ""


def test_the_extension_leaves_the_node_configuration_alone(stack: Stack) -> None:
    cluster = a_cluster(stack)
    options = Observability()
    target = prometheus_target(stack, cluster.cluster_name, options)
    assert node_settings(options, cluster.spec, target, "us-west-2") == {}


def test_settings_join_a_configuration_without_losing_what_is_there() -> None:
    config = {"features": {"containers": False}, "agents": [1], "version": 1}
    settings = {"features": {"observability": {"a": 1}}, "agents": [2]}
    assert merged(config, settings) == {
        "features": {"containers": False, "observability": {"a": 1}},
        "agents": [1, 2],
        "version": 1,
    }


def test_each_type_of_event_has_its_rule_and_all_reach_the_function(stack: Stack) -> None:
    template = only_with(stack, notifications=Notifications())
    rules = template.of_type("AWS::Events::Rule").values()
    function, _ = next(item for item in template.of_type("AWS::Lambda::Function").items() if "Notifier" in item[0])
    kinds = sorted(rule["Properties"]["EventPattern"]["detail-type"][0] for rule in rules)
    assert kinds == sorted(kind.value for kind in EventKind)
    for rule in rules:
        (target,) = rule["Properties"]["Targets"]
        assert target["Arn"] == {"Fn::GetAtt": [function, "Arn"]}
        assert target["RetryPolicy"]["MaximumEventAgeInSeconds"] == 7200


def test_rules_do_not_wait_for_the_cluster_so_that_a_failing_creation_is_told(stack: Stack) -> None:
    template = only_with(stack, notifications=Notifications())
    cluster, _ = template.only("Custom::HyperPodCluster")
    for name in [*template.of_type("AWS::Events::Rule"), *template.of_type("AWS::SNS::Topic")]:
        assert cluster not in template.before(name)


def test_a_chosen_level_and_kind_are_what_the_rules_match(stack: Stack) -> None:
    template = only_with(stack, notifications=Notifications(level=EventLevel.INFO, kinds=[EventKind.NODE_HEALTH]))
    _, rule = template.only("AWS::Events::Rule")
    assert rule["Properties"]["EventPattern"]["detail"] == {"ClusterName": ["my-training-cluster"]}


def test_each_address_is_subscribed_once(stack: Stack) -> None:
    template = only_with(stack, notifications=Notifications(emails=["a@example.com", "b@example.com", "a@example.com"]))
    subscriptions = template.of_type("AWS::SNS::Subscription").values()
    assert sorted((item["Properties"]["Protocol"], item["Properties"]["Endpoint"]) for item in subscriptions) == [
        ("email", "a@example.com"),
        ("email", "b@example.com"),
    ]


def test_the_topic_is_encrypted_with_a_key_that_lets_alarms_publish(stack: Stack) -> None:
    template = only_with(stack, notifications=Notifications())
    key, resource = template.only("AWS::KMS::Key")
    _, topic = template.only("AWS::SNS::Topic")
    assert topic["Properties"]["KmsMasterKeyId"] == {"Fn::GetAtt": [key, "Arn"]}
    assert {"Service": "cloudwatch.amazonaws.com"} in [
        statement.get("Principal") for statement in resource["Properties"]["KeyPolicy"]["Statement"]
    ]


def test_a_topic_of_yours_is_used(stack: Stack) -> None:
    mine = sns.Topic.from_topic_arn(stack, "Mine", "arn:aws:sns:us-west-2:111122223333:mine")
    template = only_with(stack, notifications=Notifications(topic=mine))
    assert template.of_type("AWS::SNS::Topic") == {}
    function = next(f for n, f in template.of_type("AWS::Lambda::Function").items() if "Notifier" in n)
    assert function["Properties"]["Environment"]["Variables"]["TOPIC_ARN"] == mine.topic_arn


def test_the_default_alarms_have_sane_thresholds(stack: Stack) -> None:
    template = only_with(stack, alarms=Alarms(), notifications=Notifications())
    made = alarms(template)
    summary = {
        name: (
            item.get("MetricName", "math"),
            item["ComparisonOperator"],
            item["Threshold"],
            item["EvaluationPeriods"] * item.get("Period", 300) // 60,
            item["TreatMissingData"],
        )
        for name, item in made.items()
    }
    at_least, below = "GreaterThanOrEqualToThreshold", "LessThanThreshold"
    assert summary == {
        "FailedNodes": ("cluster_failed_node_count", at_least, 1, 10, "notBreaching"),
        "ControllerSilent": ("cluster_node_count", below, 1, 15, "breaching"),
        "FileSystemSpace": ("math", below, 10, 15, "notBreaching"),
        "LifecycleFailures": ("LifecycleFailures", at_least, 1, 5, "notBreaching"),
        "SlurmDatabase": ("SlurmUnhealthy", at_least, 1, 5, "notBreaching"),
        "NotificationErrors": ("Errors", at_least, 1, 5, "notBreaching"),
    }
    topic, _ = template.only("AWS::SNS::Topic")
    assert all(item["AlarmActions"] == item["OKActions"] == [{"Ref": topic}] for item in made.values())


def test_service_metrics_are_of_this_cluster(stack: Stack) -> None:
    made = alarms(only_with(stack, alarms=Alarms()))
    for name in ("FailedNodes", "ControllerSilent"):
        assert made[name]["Namespace"] == "/aws/sagemaker/Clusters"
        (dimension,) = made[name]["Dimensions"]
        assert (dimension["Name"], dimension["Value"]["Fn::GetAtt"][1]) == ("ClusterId", "ClusterId")


def test_every_alarm_can_be_left_out(stack: Stack) -> None:
    nothing = Alarms(
        failed_node_count=None,
        file_system_free_percent=None,
        controller_silent_minutes=None,
        lifecycle_failure_count=None,
        slurm_database=False,
    )
    assert list(alarms(only_with(stack, alarms=nothing, notifications=Notifications()))) == ["NotificationErrors"]


def test_idle_gpus_are_watched_on_request(stack: Stack) -> None:
    made = alarms(only_with(stack, alarms=Alarms(idle_gpu_percent=50, idle_gpu_minutes=120)))
    idle = made["IdleGpus"]
    assert (idle["Threshold"], idle["EvaluationPeriods"]) == (50, 24)
    (expression,) = [item["Expression"] for item in idle["Metrics"] if "Expression" in item]
    assert expression == "100 * idle_gpu / gpu"


def test_events_are_watched_only_where_notifications_count_them(stack: Stack) -> None:
    assert set(alarms(only_with(stack, alarms=Alarms()))) == {"FailedNodes", "ControllerSilent", "FileSystemSpace"}


def test_the_free_space_of_lustre_needs_no_known_size(stack: Stack) -> None:
    space = alarms(only_with(stack, alarms=Alarms()))["FileSystemSpace"]
    metrics = {item["Id"]: item for item in space["Metrics"]}
    names = {key: item["MetricStat"]["Metric"]["MetricName"] for key, item in metrics.items() if "MetricStat" in item}
    assert names == {"free": "FreeDataStorageCapacity", "used": "PhysicalDiskUsage"}
    assert [item["Expression"] for item in metrics.values() if "Expression" in item] == ["100 * free / (free + used)"]


def test_the_dashboard_has_the_services_metrics_by_their_names(stack: Stack) -> None:
    template = only_with(stack, dashboard=True, alarms=Alarms())
    _, dashboard = template.only("AWS::CloudWatch::Dashboard")
    body = "".join(
        part if isinstance(part, str) else "token" for part in dashboard["Properties"]["DashboardBody"]["Fn::Join"][1]
    )
    widgets = json.loads(body)["widgets"]
    text = json.dumps(widgets)
    for name in ("cluster_node_count", "cluster_max_task_wait_time", "node_gpu_memory_utilization", "DataReadBytes"):
        assert name in text
    assert widgets[0]["type"] == "alarm"


def test_the_clusters_own_log_group_expires_after_the_cluster_made_it(stack: Stack) -> None:
    template = only_with(stack, log_retention_days=545)
    name, retention = template.only("Custom::LogRetention")
    assert retention["Properties"]["RetentionInDays"] == 545
    assert retention["Properties"]["LogGroupName"]["Fn::GetAtt"][1] == "LogGroupName"
    cluster, _ = template.only("Custom::HyperPodCluster")
    assert cluster in template.before(name)
    assert "RemovalPolicy" not in retention["Properties"], "logs outlive the cluster, as the service means it"


def test_nothing_of_ours_is_found_fault_with(app: App, stack: Stack) -> None:
    cluster = a_cluster(stack)
    options = Observability(notifications=Notifications(emails=["a@example.com"]))
    ClusterObservability(cluster, "Observability", cluster=cluster, options=options, roles=[cluster.execution_role])
    ClusterCostGuard(cluster, "CostGuard", cluster=cluster, options=CostGuard())
    marks = ("Observability", "CostGuard", "Notices", "EventRecords", "LogRetention")
    found = [
        (violation.rule_name, resource.construct_path)
        for violation in AwsSolutionsChecks().validate_scope(app).violations
        for resource in violation.violating_resources
        if any(mark in str(resource.construct_path) for mark in marks)
    ]
    assert found == []


def test_problems_are_told_before_anything_is_made(stack: Stack) -> None:
    cluster = a_cluster(stack)
    elsewhere = PrometheusWorkspace.existing(workspace_arn=WORKSPACE.replace("us-west-2", "eu-west-1"))
    with pytest.raises(SpecError) as caught:
        ClusterObservability(cluster, "Bad", cluster=cluster, options=Observability(workspace=elsewhere))
    (problem,) = caught.value.problems
    assert problem.path == "observability.workspace.workspace_arn"
    assert problem.message.startswith("the workspace is in eu-west-1, allowed: us-west-2")
    assert cluster.node.try_find_child("Bad") is None


def test_the_same_options_make_the_same_template() -> None:
    def template() -> dict[str, Any]:
        from tests.constructs.support import CONTEXT

        app = App(context=CONTEXT, builtin_cloud_formation_validation=False)
        stack = Stack(app, "Training", env=Environment(region="us-west-2", account="111122223333"))
        return observed(stack).json

    assert template() == template()
