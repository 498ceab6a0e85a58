"""The requests and node configurations that specifications become, letter by letter."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hyperpod_constructs.api_request import create_cluster_request
from hyperpod_constructs.bindings import Bindings
from hyperpod_constructs.lifecycle_options import LifecycleScripts
from hyperpod_constructs.node_config import node_config
from hyperpod_constructs.options import Accounting, LifecycleStyle, PosixUser
from hyperpod_constructs.specs import ClusterSpec, ComputeGroup, ControllerGroup
from tests.core.full_specs import FULL, full_bindings
from tests.core.model import problems_of
from tests.core.support import (
    LIST_TOKEN,
    LUSTRE,
    OPEN_ZFS,
    ROLE,
    SCRIPTS,
    TEXT_TOKEN,
    a_cluster,
    a_compute_group,
    bindings_for,
    check_golden,
    with_compute,
)

_MINIMAL = ClusterSpec(
    cluster_name="minimal",
    controller=ControllerGroup(instance_type="ml.m5.xlarge"),
    compute=[ComputeGroup(name="cpu", instance_type="ml.c5.4xlarge", instance_count=2)],
)
_IMAGE_ONLY = a_cluster(lifecycle=LifecycleScripts(style=LifecycleStyle.IMAGE_ONLY))
_SHARED_PARTITION = a_cluster(
    compute=[a_compute_group(), a_compute_group(name="worker-gpu-b", instance_type="ml.p5e.48xlarge")],
    users=[PosixUser(name="alice", uid=2001)],
    accounting=Accounting.none(),
)

_NODE_SCHEMA = Path(__file__).parents[2] / "lifecycle_assets" / "node_config.schema.json"

CASES: dict[str, tuple[ClusterSpec, Bindings]] = {
    "documented": (a_cluster(), bindings_for(a_cluster())),
    "minimal": (_MINIMAL, bindings_for(_MINIMAL, mounts=())),
    "image-only": (_IMAGE_ONLY, bindings_for(_IMAGE_ONLY)),
    "shared-partition": (_SHARED_PARTITION, bindings_for(_SHARED_PARTITION, mounts=(LUSTRE, OPEN_ZFS))),
    "everything": (FULL, full_bindings()),
}


@pytest.mark.parametrize("name", CASES)
def test_golden_request(name: str) -> None:
    request = create_cluster_request(*CASES[name])
    check_golden(f"requests/{name}.json", request)
    assert problems_of(request) == []


@pytest.mark.parametrize("name", CASES)
def test_golden_node_config(name: str) -> None:
    config = node_config(*CASES[name])
    check_golden(f"node_config/{name}.json", config)
    Draft202012Validator(json.loads(_NODE_SCHEMA.read_text())).validate(config)


def _documented() -> dict[str, Any]:
    """The cluster as the service's page on continuous provisioning gives it."""

    def group(name: str, instance_type: str, count: int, slurm: dict[str, Any]) -> dict[str, Any]:
        return {
            "InstanceGroupName": name,
            "InstanceType": instance_type,
            "InstanceCount": count,
            "LifeCycleConfig": {"SourceS3Uri": SCRIPTS, "OnCreate": "on_create.sh"},
            "SlurmConfig": slurm,
            "ExecutionRole": ROLE,
        }

    return {
        "ClusterName": "my-training-cluster",
        "NodeProvisioningMode": "Continuous",
        "Orchestrator": {"Slurm": {}},
        "InstanceGroups": [
            group("controller-group", "ml.m5.xlarge", 1, {"NodeType": "Controller"}),
            group("login-group", "ml.m5.xlarge", 1, {"NodeType": "Login"}),
            group("worker-gpu-a", "ml.p5.48xlarge", 16, {"NodeType": "Compute", "PartitionNames": ["gpu-training"]}),
        ],
        "VpcConfig": {"SecurityGroupIds": ["sg-0123456789abcdef0"], "Subnets": ["subnet-0123456789abcdef0"]},
    }


# What we send beside the documented fields, and why.
_EXTRA = {
    "ThreadsPerCore": "a request without it switches hyper-threading off, and an update without it resets it",
    "InstanceStorageConfigs": "the file system at /fsx, which homes and data need",
    "NodeRecovery": "the service's default, said so that an update back to it is seen",
}


def test_the_documented_cluster_is_sent_as_documented_plus_what_has_a_reason() -> None:
    request = create_cluster_request(a_cluster(), bindings_for(a_cluster()))
    documented = _documented()
    extra = set(request) - set(documented)
    for ours, theirs in zip(request["InstanceGroups"], documented["InstanceGroups"], strict=True):
        extra |= set(ours) - set(theirs)
        assert {key: ours[key] for key in theirs} == theirs
    assert {key: request[key] for key in documented if key != "InstanceGroups"} == {
        key: value for key, value in documented.items() if key != "InstanceGroups"
    }
    assert extra == set(_EXTRA)


def test_no_strategy_for_the_slurm_configuration_is_ever_sent() -> None:
    """Continuous provisioning refuses it, even as null."""
    for spec, bindings in CASES.values():
        assert "SlurmConfigStrategy" not in json.dumps(create_cluster_request(spec, bindings))


def test_threads_per_core_is_sent_for_every_group() -> None:
    threads = [group["ThreadsPerCore"] for group in create_cluster_request(FULL, full_bindings())["InstanceGroups"]]
    assert threads == [2, 1, 1, 2, 2]


def test_a_count_of_zero_is_a_value() -> None:
    request = create_cluster_request(with_compute(instance_count=0), bindings_for(a_cluster()))
    assert request["InstanceGroups"][2]["InstanceCount"] == 0


def test_tokens_come_through_unharmed() -> None:
    spec = with_compute(image_id=TEXT_TOKEN)
    bound = bindings_for(spec, execution_role_arn=TEXT_TOKEN, source_s3_uri=LIST_TOKEN[0])
    group = create_cluster_request(spec, bound)["InstanceGroups"][2]
    assert (group["ImageId"], group["ExecutionRole"]) == (TEXT_TOKEN, TEXT_TOKEN)
    assert group["LifeCycleConfig"]["SourceS3Uri"] == LIST_TOKEN[0]


def test_equal_specifications_give_equal_text() -> None:
    one = json.dumps(create_cluster_request(FULL, full_bindings()))
    other = json.dumps(create_cluster_request(copy.deepcopy(FULL), full_bindings()))
    assert one == other
