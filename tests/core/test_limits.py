"""The numbers and patterns that we check are the service's."""

from collections.abc import Iterable
from enum import Enum
from typing import Any

import pytest

from hyperpod_constructs import limits, options
from hyperpod_constructs.instance_types import (
    INSTANCE_TYPES,
    is_accelerated,
    nearest,
    subnet_addresses,
    threads_per_core,
    uses_efa,
)
from tests.core.model import accepts, shape_named

_NAMES = {key: name for key, name in vars(limits).items() if isinstance(name, limits.Name) and name.shape}

# Patterns that the standard library or a reader is better served by in other words, each with the same meaning.
_REWORDED = {
    "DATABASE_ENDPOINT",  # the model's look-ahead only repeats the greatest length
    "LUSTRE_MOUNT_NAME",
    "FILE_SYSTEM_DNS_NAME",
    "IMAGE_ID",
}


@pytest.mark.parametrize("key", sorted(_NAMES))
def test_a_name_has_the_lengths_of_the_model(key: str) -> None:
    name = _NAMES[key]
    metadata = shape_named(name.shape).metadata
    # An empty text is never sent, so the model's 0 is our 1.
    assert (name.minimum, name.maximum) == (metadata.get("min") or 1, metadata["max"])


@pytest.mark.parametrize("key", sorted(set(_NAMES) - _REWORDED))
def test_a_name_has_the_pattern_of_the_model(key: str) -> None:
    name = _NAMES[key]
    assert name.pattern == shape_named(name.shape).metadata["pattern"]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        (
            "DATABASE_ENDPOINT",
            ["db.example.com", "a", "a.", ".a", "db:3306", "-a", "a-", "a--b", "a..b", "ä.com", "a b"],
        ),
        ("LUSTRE_MOUNT_NAME", ["fsx", "12345678", "123456789", "a_b-c", "a.b", ""]),
        ("FILE_SYSTEM_DNS_NAME", ["fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com", "fsi-01234567.abcd", "10.0.0.5"]),
        ("IMAGE_ID", ["ami-01234567", "default", "ami-0123456", "Default", "ami-0123456789abcdefg"]),
    ],
)
def test_a_reworded_pattern_accepts_what_the_models_accepts(key: str, values: Iterable[str]) -> None:
    name = _NAMES[key]
    metadata = shape_named(name.shape).metadata
    for value in values:
        allowed = metadata["min"] <= len(value) <= metadata["max"] and accepts(metadata["pattern"], value)
        assert name.accepts(value) == allowed, value


@pytest.mark.parametrize(
    ("limit", "shape", "key"),
    [
        (limits.INSTANCE_COUNT_MAXIMUM, "ClusterInstanceCount", "max"),
        (limits.GROUPS_MAXIMUM, "ClusterInstanceGroupSpecifications", "max"),
        (limits.INSTANCE_TYPES_MAXIMUM, "ClusterInstanceTypes", "max"),
        (limits.EBS_VOLUME_GIB, "ClusterEbsVolumeSizeInGB", ""),
        (limits.DEEP_HEALTH_CHECKS_MAXIMUM, "OnStartDeepHealthChecks", "max"),
        (limits.SUBNETS_MAXIMUM, "Subnets", "max"),
        (limits.SECURITY_GROUPS_MAXIMUM, "VpcSecurityGroupIds", "max"),
        (limits.STORAGE_CONFIGS_MAXIMUM, "ClusterInstanceStorageConfigs", "max"),
        (limits.ROLLBACK_ALARMS_MAXIMUM, "AutoRollbackAlarms", "max"),
        (limits.WAIT_INTERVAL_SECONDS, "WaitTimeIntervalInSeconds", ""),
        (limits.IDLE_WAIT_WINDOW_SECONDS, "IdleWaitWindowInSecondsValue", ""),
        (limits.MEMORY_PERCENTAGE, "ClusterInstanceMemoryAllocationPercentage", ""),
        (limits.DATABASE_PORTS, "ClusterAccountingDatabasePort", ""),
        (limits.SCHEDULE_EXPRESSION.maximum, "CronScheduleExpression", "max"),
        (limits.TAG_KEY_MAXIMUM, "TagKey", "max"),
        (limits.TAG_VALUE_MAXIMUM, "TagValue", "max"),
        (limits.TAGS_MAXIMUM, "TagList", "max"),
        ((1, 2), "ClusterThreadsPerCore", ""),
    ],
)
def test_a_number_is_the_models(limit: Any, shape: str, key: str) -> None:
    metadata = shape_named(shape).metadata
    assert limit == (metadata[key] if key else (metadata["min"], metadata["max"]))


@pytest.mark.parametrize(
    ("ours", "shape", "left_out"),
    [
        (options.NodeType, "ClusterSlurmNodeType", set()),
        (options.NodeRecovery, "ClusterNodeRecovery", set()),
        (options.DeepHealthCheck, "DeepHealthCheckType", set()),
        (options.NetworkInterfaceType, "ClusterInterfaceType", set()),
        (options.BatchType, "NodeUnavailabilityType", set()),
        (options.PatchingStrategy, "ClusterPatchingStrategy", {"DrainFirst"}),
    ],
)
def test_a_closed_set_is_the_models(ours: type[Enum], shape: str, left_out: set[str]) -> None:
    assert {member.value for member in ours} | left_out == set(shape_named(shape).enum)


def test_the_list_of_instance_types_is_the_models() -> None:
    listed = set(shape_named("ClusterInstanceType").enum)
    assert listed == INSTANCE_TYPES


def test_every_listed_instance_type_is_well_formed() -> None:
    assert all(limits.INSTANCE_TYPE.accepts(name) for name in INSTANCE_TYPES)


@pytest.mark.parametrize("text", ["team", "a b", "ä/é", "١٢", "a\u00a0b", "", "_.:/=+-@", "²"])
def test_tags_take_letters_numbers_and_separators_of_every_script(text: str) -> None:
    assert limits.is_tag_text(text)
    assert accepts(shape_named("TagValue").metadata["pattern"], text)


@pytest.mark.parametrize("text", ["a#b", "a\nb", "a\tb", "50%", "a,b", "👍", "e\u0301"])
def test_tags_take_no_other_character(text: str) -> None:
    assert not limits.is_tag_text(text)
    assert not accepts(shape_named("TagValue").metadata["pattern"], text)


def test_digits_of_other_scripts_are_no_account_number() -> None:
    assert not limits.ROLE_ARN.accepts("arn:aws:iam::١١١١٢٢٢٢٣٣٣٣:role/nodes")


def test_what_is_known_of_instance_types() -> None:
    assert threads_per_core("ml.p5.48xlarge") == 2
    assert threads_per_core("ml.c7g.16xlarge") == threads_per_core("ml.m8a.16xlarge") == 1
    assert uses_efa("ml.p5.48xlarge")
    assert not uses_efa("ml.m5.xlarge")
    assert is_accelerated("ml.trn2.48xlarge")
    assert is_accelerated("ml.gr6.4xlarge")
    assert not is_accelerated("ml.m5.xlarge")
    assert subnet_addresses("ml.p5.48xlarge") == 32
    assert subnet_addresses("ml.made.up") == 1
    assert nearest("ml.p5.48xl") == "ml.p5.48xlarge"
    assert nearest("quite different") == ""
