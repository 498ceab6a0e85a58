"""Every field of CreateCluster that means something to Slurm can be reached from an argument."""

from dataclasses import fields
from typing import Any

from hyperpod_constructs import api_fields, options
from hyperpod_constructs.api_request import create_cluster_request
from hyperpod_constructs.rules import validate
from hyperpod_constructs.specs import ClusterSpec, ComputeGroup
from tests.core.full_specs import FULL, full_bindings
from tests.core.model import input_shape, leaves, leaves_of, problems_of

_ROUTING = {"InstanceGroupsToDelete[]"}  # of UpdateCluster: the custom resource says which groups go


def _not_offered(leaf: str) -> bool:
    return any(leaf == path or leaf.startswith((f"{path}.", f"{path}[")) for path in api_fields.NOT_OFFERED)


def _full_request() -> dict[str, Any]:
    return create_cluster_request(FULL, full_bindings())


def test_a_specification_with_everything_is_accepted() -> None:
    assert validate(FULL, full_bindings())


def test_every_field_of_create_cluster_is_set_by_an_argument_or_left_out_for_a_reason() -> None:
    offered = {leaf for leaf in leaves(input_shape("CreateCluster")) if not _not_offered(leaf)}
    assert set(leaves_of(_full_request())) == offered


def test_update_cluster_has_no_field_that_create_cluster_has_not() -> None:
    known = set(leaves(input_shape("CreateCluster"))) | _ROUTING
    assert set(leaves(input_shape("UpdateCluster"))) <= known


def test_what_is_left_out_is_in_the_model() -> None:
    every = set(leaves(input_shape("CreateCluster")))
    for entry in api_fields.NOT_OFFERED:
        path = entry.partition("=")[0]
        assert any(leaf == path or leaf.startswith((f"{path}.", f"{path}[")) for leaf in every), path


def test_the_request_with_everything_is_what_the_model_allows() -> None:
    assert problems_of(_full_request()) == []


def test_every_field_named_in_the_table_is_in_the_request() -> None:
    request = set(leaves_of(_full_request()))
    for owner, names in api_fields.API_FIELDS.items():
        for argument, path in names.items():
            assert any(leaf == path or leaf.startswith((f"{path}.", f"{path}[")) for leaf in request), (owner, argument)


def test_the_table_names_arguments_that_exist() -> None:
    for owner, names in api_fields.API_FIELDS.items():
        if owner == "SlurmCluster":
            # Objects of the CDK are arguments of the construct only.
            have = {item.name for item in fields(ClusterSpec)}
            have |= {"network", "vpc", "file_systems", "scripts_bucket", "execution_role"}
        else:
            have = {item.name for item in fields(ComputeGroup if owner == "Group" else getattr(options, owner))}
        assert set(names) <= have, owner


def test_every_value_of_the_patching_strategy_is_offered_but_that_for_eks() -> None:
    groups = input_shape("CreateCluster").members["InstanceGroups"].member
    strategy = groups.members["AutoPatchConfig"].members["PatchingStrategy"]
    assert set(strategy.enum) - {item.value for item in options.PatchingStrategy} == {"DrainFirst"}
