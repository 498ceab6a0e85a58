"""Wildcards of every policy in every app, held against the service authorization reference that cfn-lint ships."""

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from tests.app.support import APPS, resources

AUTHORIZATION = json.loads((files("cfnlint") / "data/AdditionalSpecs/Policies.json").read_text())
# Actions that have a resource level and yet stand with "*", each with its reason.
REASONS = {
    "sagemaker:CreateCluster": "a cluster has no ARN before it is created, and AWS's own samples grant it so",
}


def _statements(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for _, logical_id, resource in resources(name):
        properties = resource.get("Properties", {})
        if resource["Type"] in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
            yield from ((logical_id, item) for item in properties["PolicyDocument"]["Statement"])
        if resource["Type"] == "AWS::IAM::Role":
            for policy in properties.get("Policies", []):
                yield from ((logical_id, item) for item in policy["PolicyDocument"]["Statement"])


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _has_resource_level(action: str) -> bool:
    service, name = action.split(":")
    known = {key.lower(): value for key, value in AUTHORIZATION[service]["Actions"].items()}
    return bool(known[name.lower()].get("Resources"))


@pytest.mark.parametrize("name", APPS)
def test_no_policy_allows_every_action(name: str) -> None:
    for logical_id, statement in _statements(name):
        for action in _listed(statement["Action"]):
            assert action != "*", logical_id
            assert not action.endswith(":*"), logical_id


@pytest.mark.parametrize("name", APPS)
def test_every_resource_is_allowed_only_where_an_action_takes_none(name: str) -> None:
    for logical_id, statement in _statements(name):
        if "*" in _listed(statement["Resource"]):
            for action in _listed(statement["Action"]):
                assert not _has_resource_level(action) or action in REASONS, (logical_id, action)


def test_each_exception_is_still_needed() -> None:
    used = {
        action
        for _, statement in _statements("app")
        if "*" in _listed(statement["Resource"])
        for action in _listed(statement["Action"])
    }
    assert set(REASONS) <= used


@pytest.mark.parametrize("name", APPS)
def test_every_action_that_a_policy_names_exists(name: str) -> None:
    for logical_id, statement in _statements(name):
        for action in _listed(statement["Action"]):
            service, pattern = action.split(":")
            known = [key.lower() for key in AUTHORIZATION[service]["Actions"]]
            prefix = pattern.lower().rstrip("*")
            assert any(item.startswith(prefix) if "*" in pattern else item == prefix for item in known), (
                logical_id,
                action,
            )


@pytest.mark.parametrize("name", APPS)
def test_roles_are_assumed_by_services_and_by_nobody_else(name: str) -> None:
    for _, logical_id, resource in resources(name):
        if resource["Type"] == "AWS::IAM::Role":
            for statement in resource["Properties"]["AssumeRolePolicyDocument"]["Statement"]:
                assert set(statement["Principal"]) == {"Service"}, logical_id
