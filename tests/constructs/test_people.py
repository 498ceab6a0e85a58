"""Who may do what with a cluster, and that every wildcard has a reason in the authorization data."""

import json
from importlib.resources import files
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_iam as iam

from hyperpod_constructs import ClusterAdminPolicy, ClusterUserPolicy, ExecutionRole, RolePath, SlurmCluster, SpecError
from hyperpod_constructs.people import admin_statements, connect_statements
from hyperpod_constructs.role_statements import (
    container_image_statements,
    file_system_statements,
    remote_write_statements,
    volume_key_statements,
    vpc_statements,
)
from tests.constructs.support import CONTEXT, Synthesized, a_cluster

ARN = "arn:aws:sagemaker:us-east-1:123456789012:cluster/abcdefghijkl"
# The service authorization reference, as cfn-lint ships it.
AUTHORIZATION = json.loads((files("cfnlint") / "data/AdditionalSpecs/Policies.json").read_text())


def _imported(stack: Stack) -> Any:
    return SlurmCluster.from_cluster_attributes(stack, "Imported", cluster_name="llm", cluster_arn=ARN)


def _statements(template: Synthesized) -> list[dict[str, Any]]:
    found = [*template.of_type("AWS::IAM::Policy").values(), *template.of_type("AWS::IAM::ManagedPolicy").values()]
    return [statement for policy in found for statement in policy["Properties"]["PolicyDocument"]["Statement"]]


def _takes_no_resource(action: str) -> bool:
    service, name = action.split(":")
    known = {key.lower(): value for key, value in AUTHORIZATION[service]["Actions"].items()}
    return not known[name.lower()].get("Resources")


def test_an_administrator_may_do_everything_with_this_cluster_but_delete_it(stack: Stack) -> None:
    ClusterAdminPolicy(stack, "Admins", cluster=_imported(stack))
    actions = {action for item in _statements(Synthesized(stack)) for action in _listed(item["Action"])}
    assert {"sagemaker:UpdateCluster", "sagemaker:BatchReplaceClusterNodes", "ssm:StartSession"} <= actions
    assert "sagemaker:DeleteCluster" not in actions


def test_a_scientist_may_log_in_to_this_cluster_and_end_own_sessions_only(stack: Stack) -> None:
    ClusterUserPolicy(stack, "Scientists", cluster=_imported(stack))
    statements = {str(item["Action"]): item["Resource"] for item in _statements(Synthesized(stack))}
    assert ARN in statements["ssm:StartSession"]
    sessions = json.dumps(statements["['ssm:ResumeSession', 'ssm:TerminateSession']"])
    assert "session/${aws:userid}-*" in sessions
    assert "session/${aws:username}-*" in sessions


def test_sessions_of_a_role_belong_to_the_linux_user_that_its_tag_names(stack: Stack) -> None:
    role = iam.Role(stack, "Alice", assumed_by=iam.AccountRootPrincipal())
    _imported(stack).grant_connect(role, run_as="alice")
    _, resource = Synthesized(stack).only("AWS::IAM::Role")
    assert {"Key": "SSMSessionRunAs", "Value": "alice"} in resource["Properties"]["Tags"]


def test_an_imported_role_must_be_tagged_by_hand_and_a_warning_says_so(app: App, stack: Stack) -> None:
    role = iam.Role.from_role_arn(stack, "Alice", "arn:aws:iam::123456789012:role/alice")
    _imported(stack).grant_connect(role, run_as="alice")
    messages = [str(message.entry.data) for message in app.synth().get_stack_by_name("Training").messages]
    assert any("tag it by hand with SSMSessionRunAs" in text for text in messages)


def test_a_name_that_is_no_linux_user_is_refused(stack: Stack) -> None:
    role = iam.Role(stack, "Alice", assumed_by=iam.AccountRootPrincipal())
    with pytest.raises(SpecError, match="run_as"):
        _imported(stack).grant_connect(role, run_as="Alice B")


def test_a_grant_on_a_cluster_made_here_names_its_arn(stack: Stack) -> None:
    cluster = a_cluster(stack)
    role = iam.Role(stack, "Ops", assumed_by=iam.AccountRootPrincipal())
    cluster.grant_admin(role)
    statements = [
        item for item in _statements(Synthesized(stack)) if "sagemaker:BatchAddClusterNodes" in item["Action"]
    ]
    assert [item["Resource"]["Fn::GetAtt"][1] for item in statements] == ["ClusterArn"]


def test_no_statement_of_ours_has_a_star_for_action_and_one_for_resource_only_where_none_can_be_named(
    stack: Stack,
) -> None:
    cluster = a_cluster(stack)
    statements = [
        *vpc_statements(stack),
        *file_system_statements(),
        *volume_key_statements(stack, "arn:aws:kms:us-east-1:123456789012:key/1"),
        *container_image_statements(["arn:aws:ecr:us-east-1:123456789012:repository/train"]),
        *remote_write_statements("arn:aws:aps:us-east-1:123456789012:workspace/ws-1"),
        *admin_statements(cluster),
        *connect_statements(cluster),
    ]
    for item in statements:
        assert not [action for action in item.actions if action.endswith("*")]
        if "*" in item.resources:
            assert all(_takes_no_resource(action) for action in item.actions), item.actions


def test_every_action_that_a_policy_names_exists(stack: Stack) -> None:
    cluster = a_cluster(stack)
    for item in [*admin_statements(cluster), *connect_statements(cluster), *vpc_statements(stack)]:
        for action in item.actions:
            service, name = action.split(":")
            assert name.lower() in {key.lower() for key in AUTHORIZATION[service]["Actions"]}, action


def test_the_node_role_has_one_statement_for_every_resource_and_it_only_describes(stack: Stack) -> None:
    a_cluster(stack)
    (policy,) = [
        item
        for name, item in Synthesized(stack).of_type("AWS::IAM::Policy").items()
        if name.startswith("ClusterExecutionRole")
    ]
    anywhere = [s for s in policy["Properties"]["PolicyDocument"]["Statement"] if s["Resource"] == "*"]
    assert len(anywhere) == 1
    assert all(":Describe" in action for action in anywhere[0]["Action"])


def test_a_boundary_and_a_path_reach_every_role_of_an_app_cdks_own_included() -> None:
    app = App(context=CONTEXT, builtin_cloud_formation_validation=False)
    stack = Stack(app, "Training")
    a_cluster(stack)
    boundary = iam.ManagedPolicy.from_managed_policy_name(stack, "Boundary", "hyperpod-boundary")
    iam.PermissionsBoundary.of(app).apply(boundary)
    RolePath.of(app).apply("/hyperpod/")
    roles = Synthesized(stack).of_type("AWS::IAM::Role")
    assert len(roles) >= 8
    for name, role in roles.items():
        assert role["Properties"]["Path"] == "/hyperpod/", name
        assert role["Properties"]["PermissionsBoundary"], name


def test_a_role_of_its_own_may_have_boundary_path_and_a_condition_against_confused_deputies(stack: Stack) -> None:
    boundary = iam.ManagedPolicy.from_managed_policy_name(stack, "Boundary", "hyperpod-boundary")
    ExecutionRole(stack, "Nodes", permissions_boundary=boundary, path="/nodes/", only_for_this_account=True)
    _, role = Synthesized(stack).only("AWS::IAM::Role")
    assert role["Properties"]["Path"] == "/nodes/"
    assert role["Properties"]["PermissionsBoundary"]
    (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]
