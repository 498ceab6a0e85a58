"""Section C of the field reports, by id: the halves that the template decides.

The others are tested with the handler.
"""

import json
from typing import Any

import pytest
from aws_cdk import App, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam

from hyperpod_constructs import ClusterNetwork, ComputeGroup, ExecutionRole, LustreFileSystem, provider
from hyperpod_constructs.handlers.cluster.waiting import DEADLINE_SECONDS
from tests.constructs.support import CONTEXT, Synthesized, a_cluster, references

CLUSTER = "Custom::HyperPodCluster"
CLOUDFORMATION_SECONDS = 3600


def roles_named_by(template: Synthesized, name: str) -> set[str]:
    """The roles among everything that a resource refers to, to the end."""
    return {other for other in template.before(name) if template.resources[other]["Type"] == "AWS::IAM::Role"}


def policies_of(template: Synthesized, roles: set[str]) -> set[str]:
    """Every policy resource that is attached to one of these roles."""
    return {
        name
        for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
        for name, policy in template.of_type(kind).items()
        if references(policy["Properties"].get("Roles", [])) & roles
    }


def test_c09_the_nodes_role_and_every_policy_of_it_outlive_the_cluster(stack: Stack) -> None:
    role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
    own = iam.Role(stack, "OwnRole", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
    worker = ComputeGroup(name="p5", instance_type="ml.p5.48xlarge", instance_count=2, execution_role=own)
    a_cluster(stack, execution_role=role, compute=[worker])
    # The user's own grants come after the construct, as they do in an app.
    statement = iam.PolicyStatement(actions=["s3:GetObject"], resources=["arn:aws:s3:::data/*"])
    own.add_to_policy(statement)
    template = Synthesized(stack)
    name, _ = template.only(CLUSTER)
    roles = {stack.get_logical_id(one.node.default_child) for one in (role, own)}  # type: ignore[arg-type]
    assert roles <= template.before(name)
    policies = policies_of(template, roles)
    assert len(policies) >= 2
    assert policies <= template.before(name)


def test_c09_a_network_that_was_brought_outlives_the_cluster_with_its_routes(stack: Stack) -> None:
    vpc = ec2.Vpc(stack, "Own", max_azs=1)
    network = ClusterNetwork.from_vpc(stack, "Network", vpc=vpc)
    a_cluster(stack, network=network, file_systems=[LustreFileSystem(stack, "Data", network=network)])
    template = Synthesized(stack)
    name, _ = template.only(CLUSTER)
    for kind in ("AWS::EC2::Route", "AWS::EC2::NatGateway", "AWS::EC2::SubnetRouteTableAssociation", "AWS::EC2::EIP"):
        made = set(template.of_type(kind))
        assert made, kind
        assert made <= template.before(name), kind


def test_c09_what_lies_in_another_stack_is_deleted_after_the_clusters_stack(app: App, stack: Stack) -> None:
    base = Stack(app, "Base")
    network = ClusterNetwork(base, "Network")
    role = ExecutionRole(base, "Role").role
    system = LustreFileSystem(base, "Data", network=network, removal_policy=RemovalPolicy.DESTROY)
    a_cluster(stack, network=network, execution_role=role, file_systems=[system])
    assembly = app.synth()
    artifact = assembly.get_stack_artifact(stack.artifact_id)
    assert base.artifact_id in {dependency.id for dependency in artifact.dependencies}


def test_c16_the_waiter_ends_with_cloudformations_hour_and_ours_is_earlier(stack: Stack) -> None:
    a_cluster(stack)
    template = Synthesized(stack)
    _, machine = template.only("AWS::StepFunctions::StateMachine")
    text = json.dumps(machine["Properties"]["DefinitionString"]).replace("\\", "")
    interval = int(text.split('"IntervalSeconds":')[1].split(",")[0])
    attempts = int(text.split('"MaxAttempts":')[1].split(",")[0])
    assert interval * attempts == CLOUDFORMATION_SECONDS
    # Two polls at least come between our own deadline, which says what is missing, and the bare time-out.
    assert DEADLINE_SECONDS + 2 * interval < CLOUDFORMATION_SECONDS
    _, cluster = template.only(CLUSTER)
    assert int(cluster["Properties"].get("ServiceTimeout", CLOUDFORMATION_SECONDS)) == CLOUDFORMATION_SECONDS


def test_c24_the_functions_have_their_permissions_before_the_cluster_and_until_it_is_gone(stack: Stack) -> None:
    a_cluster(stack)
    template = Synthesized(stack)
    name, _ = template.only(CLUSTER)
    handlers = [
        item
        for item in template.of_type("AWS::Lambda::Function").values()
        if str(item["Properties"]["Handler"]).startswith("cluster.index.")
    ]
    assert len(handlers) == 2
    for function in handlers:
        roles = references(function["Properties"]["Role"])
        policies = policies_of(template, roles)
        assert len(policies) == 1
        assert roles | policies <= template.before(name)


def test_c24_no_role_behind_the_cluster_has_a_policy_that_may_come_later(stack: Stack) -> None:
    """Nodes, handlers, the framework around them and the upload of the scripts."""
    a_cluster(stack)
    template = Synthesized(stack)
    name, _ = template.only(CLUSTER)
    roles = roles_named_by(template, name)
    assert len(roles) >= 5
    assert policies_of(template, roles) <= template.before(name)


def synthesized() -> dict[str, Any]:
    app = App(context=CONTEXT, builtin_cloud_formation_validation=False)
    stack = Stack(app, "Training")
    a_cluster(stack)
    return Synthesized(stack).json


def test_c27_other_settings_of_the_helper_functions_leave_service_token_and_logical_ids_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = synthesized()
    monkeypatch.setattr(provider, "_MEMORY_MIB", 512)
    monkeypatch.setattr(provider, "_TIMEOUT_MINUTES", 10)
    after = synthesized()
    assert before != after
    assert {name: item["Type"] for name, item in before["Resources"].items()} == {
        name: item["Type"] for name, item in after["Resources"].items()
    }
    (token,), (other,) = (
        [item["Properties"]["ServiceToken"] for item in made["Resources"].values() if item["Type"] == CLUSTER]
        for made in (before, after)
    )
    assert token == other
