"""Only so many instances become real nodes: of each group, and of all together."""

from typing import Any

import pytest

from hyperpod_constructs.rehearsal.cluster_nodes import ClusterNode
from hyperpod_constructs.rehearsal.service import CompositeLauncher, SimulatedLauncher
from hyperpod_constructs.rehearsal.service.launcher import NodeRequest
from hyperpod_constructs.rehearsal.slurm_story import (
    largest_partition,
    nodes_lines,
    quoted,
    shared_folder,
    wanted_workers,
)

pytestmark = pytest.mark.fast


def request(group: str, number: int) -> NodeRequest:
    return NodeRequest(
        cluster_name="c",
        cluster_arn="arn",
        cluster_id="id",
        group_name=group,
        instance_id=f"i-{group}{number}",
        logical_id=f"{group}{number}",
        instance_name=f"{group}-{number}",
        node_type="Compute",
        instance_type="ml.m5.xlarge",
        private_ip="10.0.0.1",
        specification={},
    )


def kinds(launcher: CompositeLauncher, *requests: NodeRequest) -> list[str | None]:
    for one in requests:
        launcher.launch(one)
    return [launcher.kind(one.instance_id) for one in requests]


def test_instances_beyond_the_limit_of_all_groups_together_are_simulated() -> None:
    launcher = CompositeLauncher(SimulatedLauncher(), SimulatedLauncher(), 2, at_most=3)
    assert kinds(launcher, request("a", 1), request("a", 2), request("a", 3), request("b", 1), request("b", 2)) == [
        "real",
        "real",
        "simulated",
        "real",
        "simulated",
    ]


def test_an_instance_that_ends_makes_room_for_another_real_one() -> None:
    launcher = CompositeLauncher(SimulatedLauncher(), SimulatedLauncher(), 1, at_most=1)
    assert kinds(launcher, request("a", 1), request("b", 1)) == ["real", "simulated"]
    launcher.terminate("i-a1")
    launcher.terminate("i-b1")
    assert kinds(launcher, request("c", 1)) == ["real"]


def test_an_instance_that_is_launched_again_does_not_stand_in_its_own_way() -> None:
    launcher = CompositeLauncher(SimulatedLauncher(), SimulatedLauncher(), 1, at_most=1)
    assert kinds(launcher, request("a", 1)) == kinds(launcher, request("a", 1)) == ["real"]


def node(group: str, number: int, *, partitions: tuple[str, ...] = ("train",), real: bool = True) -> ClusterNode:
    return ClusterNode(
        name=f"{group}-{number}",
        group=group,
        instance_id=f"i-{number}",
        node_type="Compute",
        host=f"ip-10-0-0-{number}",
        state="Running",
        partitions=partitions,
        real=real,
    )


def test_what_is_real_and_what_is_simulated_is_said() -> None:
    shown = [node("a", 1), node("a", 2, real=False), node("a", 3, real=False), node("b", 4, real=False)]
    assert nodes_lines(shown) == [
        "Real Slurm nodes: a-1 (ip-10-0-0-1)",
        "Simulated, so down in Slurm: 2 of a, 1 of b",
    ]
    assert nodes_lines(shown[:1]) == ["Real Slurm nodes: a-1 (ip-10-0-0-1)"]
    assert nodes_lines([]) == ["Real Slurm nodes: none"]


def group(name: str, node_type: str, target: int, *storage: dict[str, Any]) -> dict[str, Any]:
    return {
        "InstanceGroupName": name,
        "TargetCount": target,
        "SlurmConfig": {"NodeType": node_type},
        "InstanceStorageConfigs": list(storage),
    }


def test_jobs_wait_for_as_many_workers_as_can_be_real() -> None:
    groups = [group("head", "Controller", 1), group("a", "Compute", 16), group("b", "Compute", 1)]
    assert wanted_workers({"InstanceGroups": groups}, lambda _: 2) == 3
    assert wanted_workers({"InstanceGroups": groups}, lambda name: 4 if name == "b" else 0) == 1


def test_the_job_runs_where_most_nodes_are() -> None:
    assert largest_partition([node("a", 1), node("b", 2, partitions=("big",)), node("b", 3, partitions=("big",))]) == (
        "big"
    )


@pytest.mark.parametrize(
    ("storage", "folder"),
    [
        ((), ""),
        (({"EbsVolumeConfig": {"VolumeSizeInGB": 500}},), ""),
        (({"FsxLustreConfig": {"DnsName": "d", "MountName": "m"}},), "/fsx"),
        (({"FsxLustreConfig": {"DnsName": "d", "MountName": "m", "MountPath": "/scratch"}},), "/scratch"),
        (({"FsxOpenZfsConfig": {"DnsName": "d"}},), "/home"),
    ],
)
def test_the_shared_file_goes_where_the_group_mounts_a_file_system(
    storage: tuple[dict[str, Any], ...], folder: str
) -> None:
    cluster = {"InstanceGroups": [group("other", "Compute", 1), group("a", "Compute", 1, *storage)]}
    assert shared_folder(cluster, "a") == folder


def test_words_are_shown_as_a_shell_would_take_them() -> None:
    assert [quoted(word) for word in ("sinfo", "-N2", "a b", 'x > "$0"')] == ["sinfo", "-N2", "'a b'", "'x > \"$0\"'"]
