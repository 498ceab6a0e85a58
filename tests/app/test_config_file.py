"""A whole cluster from one JSON file, through app.py."""

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Stack

import app as repository_app
from hyperpod_constructs import SpecError
from tests.app.support import new_app
from tests.constructs.support import Synthesized

ROLE = "arn:aws:iam::123456789012:role/nodes"
KEY = "arn:aws:kms:us-east-1:123456789012:key/0123abcd"
CONTROLLER = {"instance_type": "ml.m5.xlarge"}


def _compute(**changes: Any) -> dict[str, Any]:
    return {"name": "p5", "instance_type": "ml.p5.48xlarge", "instance_count": 2, **changes}


def _stacks(folder: Path, mapping: dict[str, Any], **context: str) -> tuple[Synthesized, Synthesized]:
    """The stack of the cluster, and the one below it."""
    path = folder / "cluster.json"
    path.write_text(json.dumps({"cluster_name": "filed", "controller": CONTROLLER, **mapping}))
    app = new_app(config=str(path), **context)
    stack = repository_app.build_app(app)
    foundation = app.node.find_child(repository_app.FOUNDATION_STACK)
    assert isinstance(foundation, Stack)
    return Synthesized(stack), Synthesized(foundation)


def _groups(template: Synthesized) -> dict[str, str]:
    _, resource = template.only("Custom::HyperPodCluster")
    return {name: json.dumps(group) for name, group in resource["Properties"]["InstanceGroups"].items()}


def test_what_a_file_refers_to_is_imported_once_and_made_never(tmp_path: Path) -> None:
    existing = {
        "file_system_id": "fs-0123456789abcdef0",
        "dns_name": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        "mount_name": "abcdefgh",
    }
    group = _compute(
        execution_role=ROLE,
        volume_kms_key=KEY,
        subnets=["subnet-0123456789abcdef1"],
        security_groups=["sg-0123456789abcdef1"],
    )
    cluster, foundation = _stacks(
        tmp_path,
        {
            "network": {"vpc_id": "vpc-0123456789abcdef0", "subnet_ids": ["subnet-0123456789abcdef0"]},
            "file_systems": [{"type": "lustre", **existing}],
            "scripts_bucket": "sagemaker-ours",
            "execution_role": ROLE,
            "compute": [group, _compute(name="other", volume_kms_key=KEY)],
        },
    )
    for template in (cluster, foundation):
        for kind in ("AWS::EC2::VPC", "AWS::FSx::FileSystem", "AWS::S3::Bucket", "AWS::KMS::Key"):
            assert not template.of_type(kind)
    text = _groups(cluster)["p5"]
    for words in (ROLE, KEY, "subnet-0123456789abcdef1", "sg-0123456789abcdef1", "abcdefgh"):
        assert words in text


def test_file_systems_go_to_the_groups_that_name_them(tmp_path: Path) -> None:
    systems = [{"type": "lustre", "capacity_gib": 4800}, {"type": "open_zfs", "deployment_type": "SINGLE_AZ_2"}]
    group = _compute(file_systems=["fsx", {"name": "home", "path": "/shared"}])
    cluster, foundation = _stacks(tmp_path, {"file_systems": systems, "compute": [group, _compute(name="all")]})
    made = [item["Properties"] for item in foundation.of_type("AWS::FSx::FileSystem").values()]
    assert {item["FileSystemType"] for item in made} == {"LUSTRE", "OPENZFS"}
    assert "/shared" in _groups(cluster)["p5"]
    assert "/home" in _groups(cluster)["all"]


def test_zones_that_groups_name_are_the_networks(tmp_path: Path) -> None:
    group = _compute(availability_zone="use1-az4")
    _, foundation = _stacks(tmp_path, {"compute": [group]})
    zones = {item["Properties"]["AvailabilityZoneId"] for item in foundation.of_type("AWS::EC2::Subnet").values()}
    assert zones == {"use1-az4"}


@pytest.mark.parametrize(("removal", "kept"), [("", True), ("destroy", False)])
def test_file_systems_are_kept_unless_the_file_or_the_context_says_otherwise(
    tmp_path: Path, removal: str, kept: bool
) -> None:
    context = {"removal": removal} if removal else {}
    _, foundation = _stacks(tmp_path, {"compute": [_compute()]}, **context)
    _, resource = foundation.only("AWS::FSx::FileSystem")
    assert (resource["DeletionPolicy"] == "Retain") is kept


def test_a_files_own_word_counts_more_than_the_contexts(tmp_path: Path) -> None:
    systems = [{"type": "lustre", "removal_policy": "retain"}]
    _, foundation = _stacks(tmp_path, {"compute": [_compute()], "file_systems": systems}, removal="destroy")
    _, resource = foundation.only("AWS::FSx::FileSystem")
    assert resource["DeletionPolicy"] == "Retain"


def test_every_problem_of_a_file_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        _stacks(
            tmp_path,
            {
                "compute": [_compute(instance_count=-1)],
                "network": {"availabilty_zone": "x"},
                "file_systems": [{"type": "lustre", "capacity_gib": 5}],
            },
        )
    paths = {problem.path for problem in caught.value.problems}
    assert {"compute[0].instance_count", "file_systems[0].capacity_gib"} <= paths
    assert any(path.startswith("network") for path in paths)


@pytest.mark.parametrize("content", [None, "{", "[]"])
def test_a_file_that_is_no_cluster_is_told_by_its_name(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "missing.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SpecError):
        repository_app.build_app(new_app(config=str(path)))
