"""ExecutionRole, ScriptsBucket, ScriptsDeployment and ClusterProvider by themselves."""

import json

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from hyperpod_constructs import ClusterNetwork, ClusterProvider, ExecutionRole, ScriptsBucket, SpecError
from hyperpod_constructs.lifecycle import ScriptsDeployment
from tests.constructs.support import CONTEXT, Synthesized, a_cluster


def _statements(template: Synthesized) -> list[dict[str, object]]:
    policies = template.of_type("AWS::IAM::Policy").values()
    return [statement for policy in policies for statement in policy["Properties"]["PolicyDocument"]["Statement"]]


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def test_the_node_role_is_assumed_by_the_service_alone(stack: Stack) -> None:
    ExecutionRole(stack, "Nodes")
    _, role = Synthesized(stack).only("AWS::IAM::Role")
    (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "sagemaker.amazonaws.com"}
    assert "AmazonSageMakerClusterInstanceRolePolicy" in json.dumps(role["Properties"]["ManagedPolicyArns"])


def test_the_node_role_has_every_documented_network_action(stack: Stack) -> None:
    # Field report N-04: without one of these the service cannot "retrieve subnets". FACTS 1.3 is the list.
    ExecutionRole(stack, "Nodes")
    actions = {str(action) for item in _statements(Synthesized(stack)) for action in _listed(item["Action"])}
    assert actions == {
        f"ec2:{name}"
        for name in (
            "CreateNetworkInterface",
            "CreateNetworkInterfacePermission",
            "CreateTags",
            "DeleteNetworkInterface",
            "DeleteNetworkInterfacePermission",
            "DescribeDhcpOptions",
            "DescribeNetworkInterfaces",
            "DescribeSecurityGroups",
            "DescribeSubnets",
            "DescribeVpcs",
            "DetachNetworkInterface",
        )
    }


def test_every_resource_is_a_star_only_where_the_node_role_describes(stack: Stack) -> None:
    ExecutionRole(stack, "Nodes")
    for statement in _statements(Synthesized(stack)):
        if statement["Resource"] == "*":
            assert all(":Describe" in str(action) for action in _listed(statement["Action"]))


def test_the_bucket_has_the_prefix_that_the_managed_policy_reads_and_a_legal_length(stack: Stack) -> None:
    ScriptsBucket(stack, "Scripts")
    _, bucket = Synthesized(stack).only("AWS::S3::Bucket")
    parts = bucket["Properties"]["BucketName"]["Fn::Join"][1]
    name = "".join(
        {"AWS::AccountId": "1" * 12, "AWS::Region": "ap-northeast-1"}[p["Ref"]] if isinstance(p, dict) else p
        for p in parts
    )
    assert name.startswith("sagemaker-hyperpod-")
    assert len(name) <= 63
    assert name == name.lower()


def test_the_bucket_is_encrypted_private_versioned_and_refuses_plain_http(stack: Stack) -> None:
    ScriptsBucket(stack, "Scripts")
    template = Synthesized(stack)
    _, bucket = template.only("AWS::S3::Bucket")
    assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["Properties"]["VersioningConfiguration"] == {"Status": "Enabled"}
    assert bucket["Properties"]["BucketEncryption"]
    _, policy = template.only("AWS::S3::BucketPolicy")
    assert {"Bool": {"aws:SecureTransport": "false"}} in [
        item.get("Condition") for item in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


def test_a_brought_bucket_is_granted_because_the_managed_policy_may_not_cover_it(stack: Stack) -> None:
    bucket = s3.Bucket.from_bucket_name(stack, "Mine", "my-scripts")
    cluster = a_cluster(stack, scripts_bucket=ScriptsBucket.from_bucket(stack, "Scripts", bucket))
    assert cluster.scripts is not None
    template = Synthesized(stack)
    (policy,) = [item for name, item in template.of_type("AWS::IAM::Policy").items() if "ExecutionRole" in name]
    text = json.dumps(policy)
    assert "s3:GetObject*" in text
    assert f"my-scripts/{cluster.scripts.prefix}/*" in text


def _prefix(config: dict[str, object], *, earlier_tokens: int = 0) -> str:
    stack = Stack(App(context=CONTEXT, builtin_cloud_formation_validation=False), "Training")
    for index in range(earlier_tokens):
        s3.Bucket(stack, f"Earlier{index}")
    bucket = ScriptsBucket(stack, "Scripts")
    config = config | {"bucket": bucket.bucket.bucket_arn}
    return ScriptsDeployment(stack, "Deployment", bucket=bucket, cluster_name="training", config=config).prefix


def test_a_changed_configuration_moves_the_prefix_so_that_new_nodes_read_it() -> None:
    assert _prefix({"a": 1}) != _prefix({"a": 2})


def test_the_prefix_does_not_depend_on_how_many_tokens_were_made_before() -> None:
    assert _prefix({"a": 1}) == _prefix({"a": 1}, earlier_tokens=5)


def test_old_prefixes_stay_because_replaced_nodes_still_read_them(stack: Stack) -> None:
    a_cluster(stack)
    _, upload = Synthesized(stack).only("Custom::CDKBucketDeployment")
    assert upload["Properties"]["Prune"] is False
    assert upload["Properties"]["RetainOnDelete"] is True


def test_the_provider_polls_for_an_hour_and_keeps_its_logs_for_a_month(stack: Stack) -> None:
    ClusterProvider.of(stack)
    template = Synthesized(stack)
    groups = template.of_type("AWS::Logs::LogGroup").values()
    assert {item["Properties"]["RetentionInDays"] for item in groups} == {30}
    _, machine = template.only("AWS::StepFunctions::StateMachine")
    definition = json.dumps(machine["Properties"]["DefinitionString"])
    assert '\\"IntervalSeconds\\":30' in definition.replace("\\\\", "\\")


def test_a_rehearsal_may_poll_faster() -> None:
    app = App(
        context={**CONTEXT, "hyperpod-constructs:query-interval-seconds": "2"}, builtin_cloud_formation_validation=False
    )
    stack = Stack(app, "Training")
    ClusterProvider.of(stack)
    _, machine = Synthesized(stack).only("AWS::StepFunctions::StateMachine")
    assert "IntervalSeconds" in json.dumps(machine)
    assert ":2," in json.dumps(machine).replace("\\", "").split("IntervalSeconds", 1)[1][:6]


def test_every_function_writes_to_a_log_group_of_the_stack_so_that_none_outlives_it(stack: Stack) -> None:
    a_cluster(stack)
    template = Synthesized(stack)
    functions = template.of_type("AWS::Lambda::Function")
    assert len(functions) == 8
    for name, function in functions.items():
        assert function["Properties"]["LoggingConfig"]["LogGroup"]["Ref"] in template.of_type("AWS::Logs::LogGroup"), (
            name
        )


def test_a_bucket_with_a_key_of_yours_grants_the_nodes_because_the_managed_policy_has_no_kms(stack: Stack) -> None:
    key = kms.Key(stack, "Key")
    logs = s3.Bucket(stack, "AccessLogs")
    bucket = ScriptsBucket(stack, "Scripts", kms_key=key, access_logs_bucket=logs)
    a_cluster(stack, scripts_bucket=bucket)
    template = Synthesized(stack)
    made = template.resources[stack.get_logical_id(bucket.bucket.node.default_child)]  # type: ignore[arg-type]
    assert made["Properties"]["LoggingConfiguration"]["DestinationBucketName"]["Ref"].startswith("AccessLogs")
    (policy,) = [item for name, item in template.of_type("AWS::IAM::Policy").items() if "ExecutionRole" in name]
    assert "kms:Decrypt" in json.dumps(policy)


def test_options_of_a_new_bucket_are_refused_for_an_existing_one(stack: Stack) -> None:
    bucket = s3.Bucket.from_bucket_name(stack, "Mine", "my-scripts")
    with pytest.raises(SpecError, match="kms_key: given together with bucket"):
        ScriptsBucket(stack, "Scripts", bucket=bucket, kms_key=kms.Key(stack, "Key"))


def test_two_clusters_in_one_bucket_have_prefixes_of_their_own_and_nothing_is_pruned(stack: Stack) -> None:
    bucket, network = ScriptsBucket(stack, "Scripts"), ClusterNetwork(stack, "Network")
    a_cluster(stack, "One", cluster_name="one", network=network, scripts_bucket=bucket)
    a_cluster(stack, "Two", cluster_name="two", network=network, scripts_bucket=bucket)
    uploads = [item["Properties"] for item in Synthesized(stack).of_type("Custom::CDKBucketDeployment").values()]
    assert {item["DestinationBucketKeyPrefix"].split("/")[0] for item in uploads} == {"one", "two"}
    assert {item["Prune"] for item in uploads} == {False}
