"""The library in other people's apps: tags, aspects, partitions, regions, synthesizers."""

import json
from pathlib import Path
from typing import Any

import jsii
import pytest
from aws_cdk import App, Aspects, CfnResource, DefaultStackSynthesizer, Environment, IAspect, Stack, Tags
from aws_cdk.assertions import Template
from constructs import IConstruct

from hyperpod_constructs import AccountingDatabase, ClusterNetwork, LustreFileSystem, OpenZfsFileSystem, ScriptsBucket
from tests.app.support import new_app
from tests.constructs.support import Synthesized, a_cluster

# Resources whose tags the CDK cannot set: rules, attachments, policies, custom resources, versions.
_TAGGED = {
    "AWS::EC2::VPC",
    "AWS::EC2::Subnet",
    "AWS::EC2::SecurityGroup",
    "AWS::FSx::FileSystem",
    "AWS::IAM::Role",
    "AWS::Lambda::Function",
    "AWS::Logs::LogGroup",
    "AWS::RDS::DBCluster",
    "AWS::S3::Bucket",
    "AWS::SecretsManager::Secret",
    "Custom::HyperPodCluster",
}
# CDK makes the functions of its own small custom resources without tags, and their log groups hang below them.
_UNTAGGED = ("Custom", "AWSCDK")


def _everything(stack: Stack) -> None:
    network = ClusterNetwork(stack, "Network")
    a_cluster(
        stack,
        network=network,
        file_systems=[
            LustreFileSystem(stack, "Data", network=network),
            OpenZfsFileSystem(stack, "Homes", network=network),
        ],
        accounting=AccountingDatabase(stack, "Accounting", network=network).accounting(),
    )


def test_tags_of_an_app_reach_all_that_can_have_them_the_cluster_included() -> None:
    app = new_app()
    stack = Stack(app, "Training")
    _everything(stack)
    Tags.of(app).add("team", "ml")
    template = Synthesized(stack)
    seen = set()
    for name, resource in template.resources.items():
        if resource["Type"] in _TAGGED and not name.startswith(_UNTAGGED):
            assert {"Key": "team", "Value": "ml"} in resource["Properties"]["Tags"], name
            seen.add(resource["Type"])
    assert seen == _TAGGED


@jsii.implements(IAspect)
class _Count:
    def __init__(self) -> None:
        self.kinds: list[str] = []

    def visit(self, node: IConstruct) -> None:
        if isinstance(node, CfnResource):
            self.kinds.append(node.cfn_resource_type)


def test_aspects_visit_what_is_made_and_nothing_is_made_behind_their_back() -> None:
    app = new_app()
    stack = Stack(app, "Training")
    a_cluster(stack)
    count = _Count()
    Aspects.of(app).add(count)
    made = [item["Type"] for item in Synthesized(stack).resources.values()]
    assert sorted(set(count.kinds) - {"AWS::CDK::Metadata"}) == sorted(set(made))


@pytest.mark.parametrize(
    ("region", "partition", "suffix"),
    [
        ("us-gov-west-1", "aws-us-gov", "amazonaws.com"),
        ("cn-north-1", "aws-cn", "amazonaws.com.cn"),
        ("eu-central-1", "aws", "amazonaws.com"),
    ],
)
def test_arns_are_of_the_partition_that_the_stack_is_in(region: str, partition: str, suffix: str) -> None:
    stack = Stack(new_app(), "Training", env=Environment(account="123456789012", region=region))
    _everything(stack)
    text = json.dumps(Synthesized(stack).json)
    others = {"aws", "aws-us-gov", "aws-cn"} - {partition}
    assert f"arn:{partition}:" in text
    for other in others:
        assert f'"arn:{other}:' not in text
    principals = {
        principal
        for role in Synthesized(stack).of_type("AWS::IAM::Role").values()
        for statement in role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        for principal in statement["Principal"].values()
    }
    # Of all partitions the service's name ends in amazonaws.com (field report N-14).
    assert "sagemaker.amazonaws.com" in principals
    assert suffix.startswith("amazonaws.com")


def test_no_arn_of_a_stack_without_environment_names_a_partition() -> None:
    stack = Stack(new_app(), "Training")
    _everything(stack)
    assert "arn:aws:" not in json.dumps(Synthesized(stack).json)


_ZONES = "availability-zones:account=123456789012:region=us-east-1"


@pytest.mark.parametrize("context", [{}, {_ZONES: ["us-east-1c", "us-east-1d"]}])
def test_a_stack_with_an_environment_does_not_depend_on_what_is_looked_up(context: dict[str, Any]) -> None:
    # CDK's Vpc asks for the zones of an account even where it is told which to use; the answer must not matter.
    app = new_app(**context)
    stack = Stack(app, "Training", env=Environment(account="123456789012", region="us-east-1"))
    a_cluster(stack)
    assembly = app.synth()
    manifest = json.loads((Path(assembly.directory) / "manifest.json").read_text())
    assert {item["key"] for item in manifest.get("missing", [])} == (set() if context else {_ZONES})
    text = json.dumps(assembly.get_stack_by_name("Training").template)
    assert "us-east-1c" not in text
    assert "dummy" not in text
    assert '{"Fn::Select": [0, {"Fn::GetAZs": ""}]}' in text


def test_assets_go_to_the_bucket_of_the_synthesizers_qualifier() -> None:
    stack = Stack(new_app(), "Training", synthesizer=DefaultStackSynthesizer(qualifier="mlplat"))
    a_cluster(stack)
    text = json.dumps(Synthesized(stack).json)
    assert "cdk-mlplat-assets-" in text
    assert "hnb659fds" not in text


def test_an_app_without_our_feature_flags_gets_a_working_cluster_too() -> None:
    stack = Stack(App(builtin_cloud_formation_validation=False), "Training")
    a_cluster(stack)
    template = Synthesized(stack)
    name, _ = template.only("Custom::HyperPodCluster")
    assert set(template.of_type("AWS::EC2::SecurityGroupEgress")) <= template.before(name)
    statements = [
        statement
        for key, policy in template.of_type("AWS::IAM::Policy").items()
        if key.startswith("ClusterExecutionRole")
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]
    sids = [statement["Sid"] for statement in statements if "Sid" in statement]
    assert len(sids) == len(set(sids))


@pytest.mark.parametrize("part", ["network", "lustre", "open_zfs", "bucket", "database"])
def test_every_part_can_be_used_alone(part: str) -> None:
    stack = Stack(new_app(), "Alone")
    network = ClusterNetwork(stack, "Network") if part != "bucket" else None
    if network is None:
        ScriptsBucket(stack, "Scripts")
    elif part != "network":
        kinds: dict[str, Any] = {
            "lustre": LustreFileSystem,
            "open_zfs": OpenZfsFileSystem,
            "database": AccountingDatabase,
        }
        kinds[part](stack, "Part", network=network)
    template = Synthesized(stack)
    assert template.resources
    assert not template.of_type("Custom::HyperPodCluster")


def test_everything_may_live_in_stacks_of_its_own_without_a_cycle() -> None:
    app = new_app()
    network = ClusterNetwork(Stack(app, "Network"), "Network")
    data = LustreFileSystem(Stack(app, "Storage"), "Data", network=network)
    database = AccountingDatabase(Stack(app, "Database"), "Accounting", network=network)
    bucket = ScriptsBucket(Stack(app, "Scripts"), "Scripts")
    training = Stack(app, "Training")
    a_cluster(training, network=network, file_systems=[data], accounting=database.accounting(), scripts_bucket=bucket)
    assert Template.from_stack(training).find_resources("Custom::HyperPodCluster")
    assert {stack.stack_name for stack in training.dependencies} == {"Network", "Storage", "Database", "Scripts"}
