"""What holds for every specification, the likely and the odd."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hyperpod_constructs import limits
from hyperpod_constructs.api_request import create_cluster_request
from hyperpod_constructs.bindings import GroupBindings
from hyperpod_constructs.config import check_config
from hyperpod_constructs.config_rules import config_bindings
from hyperpod_constructs.errors import SpecError
from hyperpod_constructs.limits import Name
from hyperpod_constructs.node_config import node_config
from hyperpod_constructs.options import PosixUser
from hyperpod_constructs.rules import check
from hyperpod_constructs.specs import ClusterSpec
from tests.core.model import accepts, problems_of, shape_named
from tests.core.strategies import (
    bindings_of,
    fields_of_a_cluster,
    fields_of_a_group,
    fields_of_a_user,
    group_bindings,
    likely_specs,
    odd_mounts,
    odd_values,
)
from tests.core.support import TEXT_TOKEN, a_cluster, a_compute_group, bindings_for

# A deadline would fail on a busy machine; the number of examples keeps the file near a second.
_FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
_MANY = settings(_FEW, max_examples=60)


def _without_tokens(value: Any) -> Any:
    """A request as it is once the service gets it, with something sound in the place of every token."""
    if isinstance(value, dict):
        return {key: _SOUND[key] if item == TEXT_TOKEN else _without_tokens(item) for key, item in value.items()}
    return [_without_tokens(item) for item in value] if isinstance(value, list) else value


_SOUND = {
    "ImageId": "ami-0123456789abcdef0",
    "TrainingPlanArn": "arn:aws:sagemaker:us-east-1:111122223333:training-plan/a",
    "ExecutionRole": "arn:aws:iam::111122223333:role/a",
    "SourceS3Uri": "s3://sagemaker-a/b",
    "DnsName": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
    "MountName": "abcdefgh",
    "VolumeKmsKeyId": "abc",
}


@_FEW
@given(likely_specs)
def test_what_is_accepted_becomes_a_request_that_the_model_allows(spec: ClusterSpec) -> None:
    bindings = bindings_for(spec)
    errors, _ = check(spec, bindings)
    assume(not errors)
    assert problems_of(_without_tokens(create_cluster_request(spec, bindings))) == []


@_MANY
@given(group_bindings)
def test_deploy_time_values_are_refused_exactly_when_the_request_would_be(values: GroupBindings) -> None:
    spec = a_cluster()
    bindings = bindings_of(spec, values)
    errors, _ = check(spec, bindings)
    request = _without_tokens(create_cluster_request(spec, bindings))
    doubled = len(values.mounts) != len({type(mount) for mount in values.mounts})
    assert bool(errors) == (bool(problems_of(request)) or doubled)


def _outcome(spec: ClusterSpec) -> None:
    """A SpecError that can be shown, or a valid request; anything else fails the test."""
    errors, warnings = check(spec)
    str(SpecError([*errors, *warnings])).encode()
    assert "\n" not in "".join(map(str, [*errors, *warnings]))
    if not errors:
        bindings = bindings_for(spec)
        assert problems_of(_without_tokens(create_cluster_request(spec, bindings))) == []
        assert node_config(spec, bindings)["version"] == 1


@_MANY
@given(fields_of_a_cluster, odd_values)
def test_an_odd_argument_of_the_cluster_ends_in_words_or_a_valid_request(name: str, value: Any) -> None:
    _outcome(replace(a_cluster(), **{name: value}))


@_MANY
@given(fields_of_a_group, odd_values, fields_of_a_group, odd_values)
def test_odd_arguments_of_a_group_end_in_words_or_a_valid_request(
    one: str, value: object, other: str, another: object
) -> None:
    _outcome(a_cluster(compute=[a_compute_group(**{one: value, other: another})]))


@_FEW
@given(fields_of_a_user, odd_values)
def test_an_odd_user_ends_in_words_or_a_valid_request(name: str, value: Any) -> None:
    user = replace(PosixUser(name="alice", uid=2001), **{name: value})
    _outcome(a_cluster(users=[user]))


@_FEW
@given(odd_mounts)
def test_an_odd_mount_ends_in_words_or_a_valid_request(mount: object) -> None:
    _outcome(a_cluster(compute=[a_compute_group(file_systems=[mount])]))


_NAMES = {key: name for key, name in vars(limits).items() if isinstance(name, Name) and name.shape}


@pytest.mark.parametrize("key", sorted(_NAMES))
def test_a_name_is_accepted_by_us_exactly_when_it_is_by_the_service(key: str) -> None:
    name = _NAMES[key]
    metadata = shape_named(name.shape).metadata
    pattern: str = metadata["pattern"]
    low, high = metadata.get("min") or 1, metadata["max"]

    # Texts near the pattern tell more than arbitrary ones: those that match it, and those one character off.
    matching = st.from_regex(name.pattern, fullmatch=True)
    nearly = st.builds(
        lambda text, char: text + char, matching, st.sampled_from(["", "-", "_", ".", "\n", "é", " ", "٣"])
    )

    @settings(_FEW, max_examples=15)
    @given(st.text(max_size=70) | matching | nearly)
    def agrees(text: str) -> None:
        assert name.accepts(text) == (low <= len(text) <= high and accepts(pattern, text))

    agrees()


def _config(**changes: Any) -> dict[str, Any]:
    machine = {"instance_type": "ml.m5.xlarge"}
    return {"cluster_name": "training", "controller": machine, "login": machine, "compute": [_group()]} | changes


def _group(**changes: Any) -> dict[str, Any]:
    return {"name": "p5", "instance_type": "ml.p5.48xlarge", "instance_count": 16} | changes


_KEYS = st.sampled_from(["cluster_name", "controller", "login", "compute", "users", "tags", "accounting", "lifecycle"])
_PARTS = st.sampled_from(
    ["network", "file_systems", "execution_role", "scripts_bucket", "removal_policy", "ready_when"]
)
_LEAVES = odd_values | st.sampled_from(["ml.m5.xlarge", "fsx", {"name": "a"}, {"type": "lustre"}, {"endpoint": "a"}])
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@_FEW
@given(st.dictionaries(_KEYS | _PARTS | st.text(max_size=3), _TREES, max_size=4))
def test_no_mapping_however_odd_ends_in_anything_but_words(changes: dict[str, Any]) -> None:
    config, errors, warnings = check_config(_config(**changes))
    str(SpecError([*errors, *warnings])).encode()
    if not errors:
        assert create_cluster_request(config.spec, config_bindings(config))


@_FEW
@given(
    st.sampled_from(
        ["subnets", "security_groups", "file_systems", "execution_role", "ebs_volume", "auto_patch", "name"]
    ),
    _TREES,
)
def test_no_group_however_odd_ends_in_anything_but_words(key: str, value: object) -> None:
    config, errors, _ = check_config(_config(compute=[_group(**{key: value})]))
    str(SpecError(errors)).encode()
    assert errors or create_cluster_request(config.spec, config_bindings(config))
