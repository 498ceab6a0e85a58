"""The check of nodes on real Slurm nodes that the product's own scripts set up: all well, then fault after fault."""

import contextlib
from collections.abc import Iterator

import pytest

from hyperpod_constructs.rehearsal.agent import NodeType
from hyperpod_constructs.rehearsal.nodes import Bed
from tests.nodes.conftest import SlurmCluster, bed, cache, machine  # noqa: F401 - fixtures
from tests.nodes.lifecycle_support import node_config, stage, use

pytestmark = pytest.mark.nodes

PROGRAM = "/opt/hyperpod-constructs/hyperpod-precheck"
ODD = "train-2"


@pytest.fixture(scope="module")
def cluster(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:  # noqa: F811
    """A controller, a login node and two compute nodes with GPUs."""
    made = SlurmCluster(bed=bed, network=81)
    try:
        use(made, stage(tmp_path_factory.mktemp("scripts"), node_config(made)))
        controller = made.instance("controller", 1, NodeType.CONTROLLER)
        assert [result.reason for result in made.bring_up(controller)] == [""], made.lines
        login = made.instance("login", 1, NodeType.LOGIN)
        workers = [made.instance("train", number, NodeType.COMPUTE, "ml.g5.12xlarge") for number in (1, 2)]
        assert [result.reason for result in made.bring_up(login, *workers)] == ["", "", ""], made.lines
        assert made.all_idle(*workers)
        yield made
    finally:
        made.end_all()


def as_alice(cluster: SlurmCluster, command: str) -> tuple[int, str]:
    """Exit code and output of a user's command on the login node."""
    text = f"su - alice -c '{command}' 2>&1; echo exit:$?"
    output = cluster.on("login-1", text, seconds=120).rstrip()
    said, _, code = output.rpartition("exit:")
    return int(code), said.rstrip()


def srun(cluster: SlurmCluster) -> tuple[int, str]:
    return as_alice(cluster, f"srun -p train -N 2 --ntasks-per-node=1 python3 -B {PROGRAM} --wait 40")


def host(cluster: SlurmCluster, instance: str) -> str:
    return cluster.instances[instance].host_name


@contextlib.contextmanager
def broken(cluster: SlurmCluster, fault: str, cure: str) -> Iterator[None]:
    cluster.on(ODD, fault)
    try:
        yield
    finally:
        cluster.on(ODD, cure)


def test_a_healthy_cluster_is_one_table_of_all_nodes_without_a_fault(cluster: SlurmCluster) -> None:
    code, text = srun(cluster)
    assert code == 0, text
    lines = text.splitlines()
    headings = ["NODE", "/FSX", "HOME", "SLURMD", "CONTROLLER", "MUNGE", "GPUS", "DISK", "CLOCK", "VERSIONS"]
    assert lines[0].split() == headings
    nodes = [line.split() for line in lines[1:3]]
    assert [node[0] for node in nodes] == [host(cluster, "train-1"), host(cluster, "train-2")]
    assert {tuple(node[1:]) for node in nodes} == {("ok", "ok", "ok", "ok", "ok", "4", "ok", "ok", "ok")}
    assert lines[3:] == ["2 nodes: everything is as it should be"]


@pytest.mark.parametrize(
    ("fault", "cure", "says"),
    [
        ("umount -l /fsx", "mount /fsx", "/fsx: not mounted"),
        ("mount -t tmpfs other /fsx", "umount -l /fsx", "/fsx: other is mounted instead of fs-"),
        (
            "mkdir -p /home/alice && chown alice /home/alice && sed -i s#/fsx/home/alice#/home/alice# /etc/passwd",
            "sed -i s#:/home/alice#:/fsx/home/alice# /etc/passwd",
            "home: /home/alice is on this node's own disk",
        ),
        ("mv /dev/nvidia3 /dev/hidden", "mv /dev/hidden /dev/nvidia3", "gpus: 3 of 4 are there"),
        ("mount -t tmpfs -o size=4k full /var/log && dd if=/dev/zero of=/var/log/x bs=4k count=1", "umount -l /var/log",
         "disk: /var/log is full"),
    ],
)  # fmt: skip
def test_a_fault_of_one_node_is_named_with_the_node_and_a_remedy(
    cluster: SlurmCluster, fault: str, cure: str, says: str
) -> None:
    with broken(cluster, fault, cure):
        code, text = srun(cluster)
    assert code != 0, text
    assert f"{host(cluster, ODD)}: {says}" in text
    assert "  to do: " in text
    assert "1 of 2 nodes have faults" in text
    assert not any(line.startswith(host(cluster, "train-1") + ": ") for line in text.splitlines())


def test_a_partition_names_the_node_whose_slurmd_stopped(cluster: SlurmCluster) -> None:
    worker = cluster.instances[ODD]
    cluster.on(ODD, "systemctl stop slurmd")
    try:
        cluster.on("controller-1", f"scontrol update nodename={worker.host_name} state=down reason=test")
        code, text = as_alice(cluster, f"python3 -B {PROGRAM} -p train --wait 40")
        assert code == 1
        assert f"{worker.host_name}: slurmd: Slurm has it as down" in text
        assert f"{host(cluster, 'train-1')}: " not in text
    finally:
        cluster.on(ODD, "systemctl start slurmd")
        cluster.on("controller-1", f"scontrol update nodename={worker.host_name} state=resume; true")
    assert cluster.all_idle(worker, seconds=60)


def test_a_whole_partition_that_is_well(cluster: SlurmCluster) -> None:
    code, text = as_alice(cluster, f"python3 -B {PROGRAM} -p train")
    assert code == 0, text
    assert text.splitlines()[-1] == "2 nodes: everything is as it should be"


def test_more_nodes_than_can_be_used_are_refused(cluster: SlurmCluster) -> None:
    code, text = as_alice(cluster, f"python3 -B {PROGRAM} -p train -N 5")
    assert (code, text) == (1, "hyperpod-precheck: 5 nodes are wanted, 2 can be used; sinfo -R says why not more")


def test_a_batch_file_is_held_against_the_cluster(cluster: SlurmCluster) -> None:
    lines = ["#!/bin/bash", "#SBATCH -p trian", "#SBATCH -N 9", "srun hostname"]
    cluster.on("login-1", "printf '%s\\n' " + " ".join(f"'{line}'" for line in lines) + " >/fsx/job.sh")
    code, text = as_alice(cluster, f"python3 -B {PROGRAM} --batch-file /fsx/job.sh")
    assert code == 1
    assert "/fsx/job.sh:2: wrong: there is no partition trian; there are: dev, train" in text


def test_a_node_that_slurm_still_believes_in_is_named_as_silent(cluster: SlurmCluster) -> None:
    """The last test: the node is left as it is, since Slurm takes a minute and more to trust it again."""
    cluster.on(ODD, "systemctl kill -s KILL slurmd; systemctl stop slurmd")
    code, text = as_alice(cluster, f"python3 -B {PROGRAM} -p train --wait 12")
    assert code == 1
    assert f"{host(cluster, ODD)}: no report: sent no report" in text
    assert f"{host(cluster, 'train-1')}  ok" in text
