"""Every kind of storage and an external database under a cluster, deployed and destroyed in the right order."""

import shlex
import sys
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.runner import divided
from hyperpod_constructs.rehearsal.session import Rehearsal

pytestmark = [pytest.mark.rehearsal, pytest.mark.xdist_group("rehearsal")]

APP = shlex.join([sys.executable, str(Path(__file__).with_name("full_app.py"))])
BENEATH_THE_CLUSTER = (
    "AWS::FSx::DataRepositoryAssociation",
    "AWS::FSx::FileSystem",
    "AWS::RDS::DBCluster",
    "AWS::IAM::Role",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::Subnet",
)


@pytest.fixture(scope="module")
def deleted(rehearsal: Rehearsal) -> list[tuple[str, str]]:
    """Deploy and destroy the app; type and logical id of what was deleted, in the order of the stack's events."""
    rehearsal.deploy(APP)
    (cluster,) = [one for one in rehearsal.clusters() if one["ClusterName"] == "full"]
    assert "AccountingDatabase" in cluster["Orchestrator"]["Slurm"]
    assert cluster["Orchestrator"]["Slurm"]["AccountingDatabase"]["SecretArn"].startswith("arn:")
    rehearsal.destroy()
    return [
        (event.resource_type, event.logical_id)
        for event in rehearsal.stack_events("Full")
        if event.status == "DELETE_COMPLETE"
    ]


def _positions(deleted: list[tuple[str, str]], kind: str) -> list[int]:
    return [index for index, (found, _) in enumerate(deleted) if found == kind]


@pytest.mark.parametrize("kind", BENEATH_THE_CLUSTER)
def test_the_cluster_goes_before_what_it_stands_on(deleted: list[tuple[str, str]], kind: str) -> None:
    (cluster,) = _positions(deleted, "Custom::HyperPodCluster")
    beneath = [
        index
        for index in _positions(deleted, kind)
        # The functions of the custom resource have roles too, which serve until it is gone; so have CDK's own.
        if kind != "AWS::IAM::Role" or "ExecutionRole" in deleted[index][1]
    ]
    assert beneath
    assert cluster < min(beneath)


def test_the_link_to_s3_goes_before_its_file_system(deleted: list[tuple[str, str]]) -> None:
    (link,) = _positions(deleted, "AWS::FSx::DataRepositoryAssociation")
    lustre = [index for index in _positions(deleted, "AWS::FSx::FileSystem") if "Data" in deleted[index][1]]
    assert link < min(lustre)


def test_nothing_is_left_of_what_was_to_go(deleted: list[tuple[str, str]], rehearsal: Rehearsal) -> None:
    left, _ = divided(rehearsal.leftovers())
    assert left == []
