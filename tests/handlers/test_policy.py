"""The change policy covers the whole API: what a request can hold has a rule, and the rules name real fields."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.session import Session

from hyperpod_constructs.handlers.cluster.policy import (
    CLUSTER_POLICY,
    CLUSTER_RULES,
    GROUP_POLICY,
    GROUP_RULES,
    Change,
    Rule,
)

MODEL: Any = Session().get_service_model("sagemaker")
SEPARATE = {"InstanceGroups", "Tags"}


def leaves(shape: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every field that holds a value; members of lists belong to the list's path."""
    if shape.type_name == "list":
        yield from leaves(shape.member, path)
    elif shape.type_name == "structure" and shape.members:
        for name, member in shape.members.items():
            yield from leaves(member, (*path, name))
    else:
        yield path


def shape_at(shape: Any, dotted: str) -> Any:
    for name in dotted.split("."):
        shape = shape.member if shape.type_name == "list" else shape
        shape = shape.members[name]
    return shape


GROUP_SHAPE = MODEL.shape_for("ClusterInstanceGroupSpecification")
CREATE_SHAPE = MODEL.operation_model("CreateCluster").input_shape
UPDATE_SHAPE = MODEL.operation_model("UpdateCluster").input_shape
DESCRIBED_CLUSTER = MODEL.operation_model("DescribeCluster").output_shape
DESCRIBED_GROUP = MODEL.shape_for("ClusterInstanceGroupDetails")


@pytest.mark.parametrize("path", sorted(leaves(GROUP_SHAPE)), ids=".".join)
def test_every_field_of_a_group_has_a_rule(path: tuple[str, ...]) -> None:
    assert GROUP_POLICY.rule_for(path) in GROUP_RULES


@pytest.mark.parametrize("path", sorted(path for path in leaves(CREATE_SHAPE) if path[0] not in SEPARATE), ids=".".join)
def test_every_field_of_a_cluster_has_a_rule(path: tuple[str, ...]) -> None:
    assert CLUSTER_POLICY.rule_for(path) in CLUSTER_RULES


def test_what_only_creation_takes_is_the_network_and_the_tags() -> None:
    assert set(CREATE_SHAPE.members) - set(UPDATE_SHAPE.members) == {"VpcConfig", "Tags"}
    assert set(UPDATE_SHAPE.members) - set(CREATE_SHAPE.members) == {"InstanceGroupsToDelete"}


def test_a_field_without_a_rule_is_refused() -> None:
    rule = GROUP_POLICY.rule_for(("FieldOfTheFuture", "Inner"))
    assert rule.change is Change.REFUSED
    assert "newer" in rule.advice


@pytest.mark.parametrize("rule", GROUP_RULES, ids=lambda rule: rule.path)
def test_a_rule_of_a_group_names_fields_that_exist_in_requests_and_answers(rule: Rule) -> None:
    assert shape_at(GROUP_SHAPE, rule.path)
    if rule.change is not Change.EKS_ONLY:
        assert shape_at(DESCRIBED_GROUP, rule.observed_path)


@pytest.mark.parametrize("rule", CLUSTER_RULES, ids=lambda rule: rule.path)
def test_a_rule_of_the_cluster_names_fields_that_exist_in_requests_and_answers(rule: Rule) -> None:
    assert shape_at(CREATE_SHAPE, rule.path)
    if rule.change is not Change.EKS_ONLY:
        assert shape_at(DESCRIBED_CLUSTER, rule.observed_path)


@pytest.mark.parametrize("rule", [*GROUP_RULES, *CLUSTER_RULES], ids=lambda rule: rule.path)
def test_a_rule_has_a_source_and_a_refusal_says_what_to_do(rule: Rule) -> None:
    assert rule.source
    if rule.change in (Change.REFUSED, Change.ADD_ONLY):
        assert rule.advice


def test_only_the_fields_of_the_other_orchestrator_are_left_out() -> None:
    left_out = {rule.path for rule in (*GROUP_RULES, *CLUSTER_RULES) if rule.change is Change.EKS_ONLY}
    assert left_out == {
        "KubernetesConfig",
        "Orchestrator.Eks",
        "RestrictedInstanceGroups",
        "RestrictedInstanceGroupsConfig",
        "ClusterRole",
        "AutoScaling",
    }
